"""The share of the time that a move gets: never more than there is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.clock import (
    LATE_RESERVE_MS,
    LEAST_OF_FIXED,
    MOST_LAG_MS,
    MOST_LATE_MS,
    RESERVE_MS,
    Clock,
    MoveOverhead,
    move_limits,
    speedup,
)

LATENESS_MS = 20
"""What a search may take to notice that its time is over."""


def settings(**values: int) -> SessionSettings:
    made = SessionSettings()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def test_each_further_thread_counts_for_less() -> None:
    speeds = [speedup(threads) for threads in range(1, 257)]
    assert speeds[0] == 1
    assert speeds == sorted(speeds)
    assert all(speed <= threads for threads, speed in enumerate(speeds, 1))
    assert speedup(256) == speedup(64)


@given(st.integers(10, 10**7), st.integers(0, 60))
def test_a_time_for_a_move_is_kept(move_time: int, empties: int) -> None:
    limits = move_limits(settings(move_time=move_time), empties, 0, MoveOverhead())
    assert 0 < limits.time_ms < move_time
    if move_time >= 100:
        assert limits.time_ms + LATENESS_MS <= move_time
    assert (limits.depth, limits.selectivity) == (empties, 100)


@given(st.integers(200, 10**7), st.integers(10**5, 10**9), st.integers(1, 60))
def test_a_game_is_never_lost_on_time(game_time: int, speed: int, first_empties: int) -> None:
    """Every move takes all the time it may, and is late on top of it."""
    made = settings(game_time=game_time, speed=speed)
    remaining = float(game_time)
    for empties in range(first_empties, 0, -2):
        limits = move_limits(made, empties, remaining, MoveOverhead())
        assert limits.time_ms >= 1
        remaining -= limits.time_ms + (LATENESS_MS if limits.time_ms > RESERVE_MS else 0)
    assert remaining >= 0 or game_time < 1000


@pytest.mark.parametrize("game_time", [1_000, 10_000, 60_000, 900_000])
def test_most_of_the_time_is_used(game_time: int) -> None:
    remaining = float(game_time)
    first = move_limits(settings(game_time=game_time), 60, remaining, MoveOverhead()).time_ms
    for empties in range(60, 0, -2):
        remaining -= move_limits(settings(game_time=game_time), empties, remaining, MoveOverhead()).time_ms
    assert 0 <= remaining < game_time / 2
    assert first < game_time / 8


def test_both_clocks_limit_a_move() -> None:
    made = settings(game_time=100_000, move_time=500)
    assert move_limits(made, 50, 100_000, MoveOverhead()).time_ms < 500
    assert move_limits(made, 50, 400, MoveOverhead()).time_ms < 200


def test_the_default_level_does_not_hold_back_a_clock_but_a_chosen_one_does() -> None:
    made = settings(move_time=1000)
    assert move_limits(made, 50, 0, MoveOverhead()).depth == 50
    made.level_chosen = True
    assert move_limits(made, 50, 0, MoveOverhead())[:2] == (21, 73)
    made.depth = 9
    assert move_limits(made, 50, 0, MoveOverhead())[:2] == (9, 100)
    made.selectivity = 73
    assert move_limits(made, 50, 0, MoveOverhead())[:2] == (9, 73)
    made.nodes = 77
    assert move_limits(made, 5, 0, MoveOverhead())[:3] == (5, 73, 77)


def test_boards_with_more_than_sixty_empties_have_a_plan() -> None:
    assert move_limits(settings(), 63, 0, MoveOverhead()).depth == 21


@given(st.floats(500, 600_000), st.integers(0, 1), st.floats(20, 5_000), st.floats(0, 1))
def test_a_game_clock_with_increment_never_runs_out(
    main: float, with_increment: int, increment: float, lag: float
) -> None:
    clock = Clock(main, increment=increment * with_increment)
    for empties in range(60, 0, -2):
        ms = clock.move_ms(settings(), empties, MoveOverhead())
        assert ms >= 1
        clock.spend(ms + lag * min(RESERVE_MS, ms))
        assert clock.left > 0


@given(st.floats(0, 60_000), st.floats(100, 60_000), st.integers(1, 25))
def test_periods_of_byoyomi_are_kept(main: float, period: float, stones: int) -> None:
    """Whatever is begun in main time or in a period is over within that and one period's share."""
    clock = Clock(main, period, stones)
    for empties in range(60, 0, -2):
        allowed = clock.left / clock.left_stones if clock.left_stones else clock.left + period / stones
        ms = clock.move_ms(settings(), empties, MoveOverhead())
        assert ms <= allowed + 1
        clock.spend(ms)
        assert clock.left > 0
    clock.restart()
    assert clock.left == (main or period)


def test_a_period_begins_anew_after_its_stones() -> None:
    clock = Clock(0, 10_000, 2)
    clock.spend(3000)
    assert (clock.left, clock.left_stones) == (7000, 1)
    clock.spend(3000)
    assert (clock.left, clock.left_stones) == (10_000, 2)
    clock.set(500, 1)
    assert clock.move_ms(settings(), 30, MoveOverhead()) <= 500
    clock = Clock(1000, 10_000, 2)
    clock.spend(1500)
    assert (clock.left, clock.left_stones) == (9500, 1)


def played(clock: Clock, overhead: MoveOverhead, empties: int, late: float, unseen: float = 0.0) -> float:
    """A move that takes all the time it may and comes late; what the other end's clock shows then."""
    ms = clock.move_ms(settings(), empties, overhead)
    clock.spend(ms + late)
    overhead.note(late)
    overhead.raise_to(clock.set(clock.left - unseen, 0))
    return clock.left - clock.increment


@given(st.lists(st.floats(0, 75), min_size=30, max_size=30))
def test_a_machine_that_is_late_at_every_move_does_not_lose_a_fast_game(late: list[float]) -> None:
    clock, overhead = Clock(1000.0, increment=50.0), MoveOverhead()
    assert all(played(clock, overhead, 60 - 2 * move, ms) > 0.0 for move, ms in enumerate(late))


@pytest.mark.parametrize(
    ("main", "increment", "longest", "often"),
    [
        (1000, 50, 300, 0.02),
        (1000, 50, 60, 0.2),
        (5000, 50, 300, 0.05),
        (60_000, 500, 400, 0.1),
        (3000, 0, 150, 0.03),
        (1000, 0, 100, 0.03),
    ],
)
def test_a_machine_that_stalls_loses_no_game(main: float, increment: float, longest: float, often: float) -> None:
    """Two hundred games, stalls before a line is read and after a search was to end, drawn by lot."""
    chance, overhead = random.Random(1), MoveOverhead()

    def stall() -> float:
        return chance.uniform(longest / 2, longest) if chance.random() < often else chance.uniform(0, 5)

    least = []
    for _ in range(200):
        clock = Clock(main, increment=increment)
        least.append(min(played(clock, overhead, empties, stall(), stall()) for empties in range(52, 0, -2)))
    assert min(least) > 0


@pytest.mark.parametrize("main", [3_000.0, 10_000.0, 20_000.0])
def test_moves_that_need_no_search_do_not_lose_a_game_on_a_busy_machine(main: float) -> None:
    """Searches are 30 ms late; the ten moves after the end has been read out wait 80 ms each for a processor."""
    clock, overhead = Clock(main), MoveOverhead()
    for empties in range(52, 20, -2):
        played(clock, overhead, empties, 30.0)
    for _ in range(10):
        clock.spend(80)
    assert clock.left > 0


def test_an_old_delay_is_forgotten() -> None:
    overhead = MoveOverhead()
    clock = Clock(600_000.0)
    usual = clock.move_ms(settings(), 50, overhead)
    overhead.note(500)
    assert usual - 2000 < clock.move_ms(settings(), 50, overhead) < usual - 900
    assert overhead.reserve_ms(0, 0) > LATE_RESERVE_MS + 1900
    for _ in range(10):
        overhead.note(-1)
    assert clock.move_ms(settings(), 50, overhead) > usual - 200
    assert overhead.reserve_ms(0, 0) > LATE_RESERVE_MS + 1600
    for _ in range(300):
        overhead.note(0)
    assert overhead.reserve_ms(0, 0) < LATE_RESERVE_MS + 10
    overhead.note(10**6)
    assert overhead.recent == overhead.worst == MOST_LATE_MS


def test_delays_that_only_the_other_clock_saw_are_counted() -> None:
    clock = Clock(10_000.0, increment=100.0)
    assert clock.set(9_000.5, 0) == 0
    clock.spend(500)
    assert clock.set(8_300.5, 0) == 300
    assert clock.set(7_000.5, 0) == 0
    clock.spend(500)
    assert clock.set(7_000.5, 0) == 0
    clock.spend(500)
    assert clock.set(5_000, 0) == 0
    clock.spend(500)
    clock.restart()
    assert clock.set(4_000.5, 0) == 0


def test_a_time_for_a_move_shrinks_where_stops_come_late() -> None:
    overhead = MoveOverhead()
    made = settings(move_time=1000)
    overhead.note(150)
    assert move_limits(made, 50, 0, overhead).time_ms == 1000 - 300 - RESERVE_MS
    overhead.note(MOST_LATE_MS)
    assert move_limits(made, 50, 0, overhead).time_ms == 200 - RESERVE_MS


def test_the_documents_state_what_is_kept_back() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = " ".join((docs / "text-protocol.md").read_text().split())
    below = round(RESERVE_MS / (1 - LEAST_OF_FIXED))
    assert (
        f"{RESERVE_MS} ms before T has passed, or after {LEAST_OF_FIXED} of T where T is less than {below} ms" in text
    )
    assert f"can be read out (estimated from `speed`), less {RESERVE_MS} ms. " in text
    assert f"Once less than {LATE_RESERVE_MS} ms are left" in text
    protocols = " ".join((docs / "protocols.md").read_text().split())
    assert f"up to {MOST_LAG_MS} ms (a tenth of a move's time) is kept back of each move" in protocols
    assert f"Of a game's time {LATE_RESERVE_MS} ms is kept back" in protocols
