"""What the decisions make of simulated loads: waits, shares, and that nobody starves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import scheduler
from lab.scheduler import SimulatedFigure, SimulatedLoad

from desdaemon.core.search.schedule import Purpose


def values(figures: list[SimulatedFigure]) -> list[float]:
    """Milliseconds, seconds and percent, in the order in which the scenario tells them."""
    return [figure.value for figure in figures]


def test_a_short_question_is_answered_at_once_on_a_busy_machine() -> None:
    _, longest_ms, lost = values(scheduler.short_questions(seconds=60))
    assert longest_ms <= 15
    assert lost <= 5


def test_clients_that_ask_at_the_same_moment_all_get_a_first_turn() -> None:
    last_ms, lost = values(scheduler.moves_together(seconds=30))
    assert last_ms <= 200
    assert lost <= 5


def test_text_sessions_do_not_starve_analyses() -> None:
    _, longest_ms = values(scheduler.text_swarm(seconds=60))
    assert longest_ms <= 15


def test_short_questions_beyond_a_share_wait() -> None:
    """They are one of ten clients."""
    (share,) = values(scheduler.throttled())
    assert 9 <= share <= 12


def test_a_book_job_and_questions_go_on_beside_each_other() -> None:
    _, longest_ms, analysis_s, lost = values(scheduler.book_job())
    assert longest_ms <= 15
    assert analysis_s <= 5
    assert lost <= 25


def test_idle_threads_are_used_and_given_back_at_once() -> None:
    question_ms, search_of_500_ms, used = values(scheduler.idle_threads(seconds=60))
    assert question_ms <= 15
    assert search_of_500_ms <= 510
    assert used >= 99


@pytest.mark.slow
def test_a_crowd_on_a_large_machine() -> None:
    differ, _, p95_ms, longest_ms, used, lost = values(scheduler.crowd(seconds=60))
    assert differ <= 10
    assert p95_ms <= 100
    assert longest_ms <= 100
    assert used >= 99
    assert lost <= 5


def test_work_of_low_weight_is_not_shut_out() -> None:
    load = SimulatedLoad(2)
    for purpose in (Purpose.INTERACTIVE, Purpose.ANALYSIS, Purpose.BOOK, Purpose.BATCH):
        load.stream(purpose.name, "k", purpose.name, lambda: load.dice.uniform(0.1, 1), in_flight=4, purpose=purpose)
    load.machine.run(300)
    shares = [load.machine.by_purpose[purpose] / load.machine.busy_s for purpose in Purpose if purpose != Purpose.IDLE]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0.01


@pytest.mark.parametrize("search_s", [0.02, 0.2, 0.5, 2.0])
@pytest.mark.parametrize(("slots", "analyses"), [(1, 2), (2, 8)])
def test_a_book_job_has_a_ninth_beside_endless_analyses_however_long_its_searches(
    slots: int, analyses: int, search_s: float
) -> None:
    """It has one search after the other, and turns of old analyses last a minute."""
    load = SimulatedLoad(slots)
    load.endless("k", "people", analyses)
    load.stream("book", "k", "job", lambda: search_s, purpose=Purpose.BOOK)
    load.machine.run(300)
    machine = load.machine
    assert machine.by_purpose[Purpose.BOOK] / machine.busy_s == pytest.approx(1 / 9, rel=0.05)
    # What starts over takes more than once its time, at first.
    assert machine.lost_s / machine.busy_s < 0.07


CLIENTS = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0.01, 3), st.integers(1, 4), st.sampled_from([0.0, 0.0, 0.1])),
    min_size=1,
    max_size=8,
)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), CLIENTS)
def test_threads_are_never_idle_and_nobody_waits_for_ever(
    slots: int, clients: list[tuple[int, float, int, float]]
) -> None:
    load = SimulatedLoad(slots)
    for number, (key, work_s, in_flight, pause_s) in enumerate(clients):
        load.stream(
            f"{number}",
            f"key {key}",
            f"client {number}",
            lambda work_s=work_s: work_s,
            in_flight=in_flight,
            pause_s=pause_s,
        )
    idle = 0.0
    machine = load.machine
    while machine.now < 60:
        machine.run(machine.now + 0.05)
        idle += 0.05 * min(machine.schedule.free, len(machine.schedule.waiting))
    assert idle == 0
    # Each client's share of the worst case, in which all of the others want everything, with its work in flight.
    for number, (_, work_s, in_flight, _) in enumerate(clients):
        fair_s = 60 * slots / (3 * 8)
        if work_s * in_flight < fair_s / 4:
            assert load.waits[f"{number}"], number


def test_a_task_that_grows_long_waits_for_its_turn() -> None:
    # Each question of the one is short when it comes; the other's wait as long ones, and would never be searched.
    load = SimulatedLoad(1)
    for key in ("one", "other"):
        load.stream(key, key, key, lambda: load.dice.uniform(0.001, 0.5), in_flight=4)
    load.machine.run(60)
    assert load.machine.by_key["one"] == pytest.approx(30, rel=0.05)


def test_many_short_connections_of_a_key_starve_no_other_key() -> None:
    """Each search is short at first; handed on from one client of the key to the next, a thread was never another's."""
    (differ,) = values(scheduler.endless_connections(seconds=60))
    assert differ <= 5


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from([1, 3, 10]), st.integers(1, 12), st.booleans()), min_size=2, max_size=3),
    st.integers(0, 100),
)
def test_keys_that_want_everything_have_equal_shares(slots: int, keys: list[tuple[int, int, bool]], seed: int) -> None:
    """Whatever their connections and what is in flight: searches without end, and some that are short besides.

    Within a tenth, and a turn that goes on: an eighth of what its search has had.
    """
    load = SimulatedLoad(slots, seed)
    for key, (connections, searches, short) in enumerate(keys):
        for client in range(connections):
            load.endless(f"{key}", f"{key} {client}", searches + slots)
        if short:
            load.stream("short", f"{key}", f"{key} short", lambda: load.dice.uniform(0.001, 0.1), in_flight=20)
            for client in range(connections):
                load.stream("lone", f"{key}", f"{key} lone {client}", lambda: load.dice.uniform(0.001, 0.1))
    load.machine.run(90)
    shares = [load.machine.by_key[f"{key}"] for key in range(len(keys))]
    mean = sum(shares) / len(shares)
    assert max(shares) - min(shares) < 0.1 * mean + mean / 8
