"""The window of searches under way: order, batches, losses and checks, with made-up workers."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.cluster import window as window_module
from desdaemon.cluster.window import AnySearch, Search, SearchBatch, SearchWindow, WorkerAnswer

BATCH_MS = 1000
BATCH_MS_A_SLOT = 4
BATCHES_A_SLOT = 3
HELD_BATCHES = 16
MOST_IN_BATCH = 512


def searches(count: int, seed: int) -> list[Search]:
    """Searches of several levels; the boards only have to differ."""
    dice = random.Random(seed)
    return [Search(number, 1 << 40 + number % 16, dice.choice((1, 8, 12, 21)), 0) for number in range(count)]


def answer(search: AnySearch) -> WorkerAnswer:
    """What every worker that is right says."""
    assert isinstance(search, Search)
    return WorkerAnswer((search.player % 60, search.player % 64 - 32), 0.1 * 1.4**search.level)


class Workers:
    """Workers that answer in any order, lose batches, and may be wrong."""

    def __init__(self, window: SearchWindow, dice: random.Random, liar: str = "") -> None:
        self.window = window
        self.dice = dice
        self.liar = liar
        self.batches: list[SearchBatch] = []
        self.disagreements: list[set[str]] = []
        self.most = 0

    def turn(self, loss: float) -> None:
        self.batches += self.window.batches()
        self.most = max(self.most, len(self.batches))
        if not self.batches:
            return
        batch = self.batches.pop(self.dice.randrange(len(self.batches)))
        if self.dice.random() < loss:
            here = self.window.failed(batch.number)
            if here is not None:
                self.window.answered(here.number, "", map(answer, here.searches))
            return
        worker = self.dice.choice([name for name in ("a", "b", "c") if name != batch.avoided])
        answers = [answer(search) for search in batch.searches]
        if worker == self.liar:
            answers = [each._replace(found=(99, 0)) for each in answers]
        found = self.window.answered(batch.number, worker, answers)
        if found is not None:
            self.disagreements.append({worker for worker, _ in found.answers})


def through(window: SearchWindow, wanted: list[Search], workers: Workers, loss: float = 0.0) -> list[WorkerAnswer]:
    """The answers, in the order of the searches."""
    waiting = iter(wanted)
    found: list[tuple[int, WorkerAnswer]] = []
    window.open()
    while not window.over:
        window.offer_from(waiting)
        workers.turn(loss)
        found += window.replies()
    return [answer for _, answer in sorted(found)]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3000), st.integers(1, 64), st.integers(0, 2**32), st.sampled_from([0.0, 0.3]))
def test_every_search_is_answered_once(count: int, slots: int, seed: int, loss: float) -> None:
    window = SearchWindow()
    window.slots = slots
    workers = Workers(window, random.Random(seed))
    # A second run goes on with the window of the first.
    for wanted in (searches(count, seed), searches(count // 9, seed + 1)):
        assert through(window, wanted, workers, loss) == list(map(answer, wanted))
    assert not workers.disagreements
    assert workers.most <= 3 * slots


def test_a_batch_is_about_a_second_of_searches_and_a_long_search_is_alone() -> None:
    window = SearchWindow()
    window.slots = 2
    for search in searches(400, 1):
        window.costs.timed(search, 20.0 if search.level < 20 else 5000.0)
    waiting = iter(searches(4000, 1))
    while window.wants():
        window.offer(next(waiting))
    for batch in window.batches():
        assert len(batch.searches) <= MOST_IN_BATCH
        assert batch.cost_ms <= BATCH_MS or len(batch.searches) == 1
        assert batch.long == any(search.level == 21 for search in batch.searches)


def test_with_hundreds_of_slots_batches_are_longer_and_all_slots_have_one() -> None:
    """The scheduler would need longer for as many batches as slots do in a second than a second."""
    window = SearchWindow()
    window.slots = 1000
    for search in searches(4000, 1):
        window.costs.timed(search, 500.0)
    waiting = itertools.cycle(searches(4000, 1))
    found: list[SearchBatch] = []
    while len(found) < BATCHES_A_SLOT * window.slots:
        while window.wants():
            window.offer(next(waiting))
        given = list(window.batches())
        assert given
        found += given
    assert {len(batch.searches) for batch in found} == {8}
    assert not any(batch.long for batch in found)
    assert sum(batch.cost_ms for batch in found) / len(found) == BATCH_MS_A_SLOT * window.slots


def test_what_waits_for_an_early_answer_is_bounded() -> None:
    window = SearchWindow()
    window.slots = 1
    wanted = [Search(number, 1 << 50, 1, 0) for number in range(100_000)]
    for search in wanted:
        window.costs.timed(search, 0.1)
    waiting = iter(wanted)
    held: SearchBatch | None = None
    for _ in range(10_000):
        while window.wants() and (search := next(waiting, None)) is not None:
            window.offer(search)
        for batch in window.batches():
            if held is None:
                held = batch
            else:
                window.answered(batch.number, "a", map(answer, batch.searches))
    assert window.offered <= (HELD_BATCHES + 5) * MOST_IN_BATCH
    assert held is not None
    window.answered(held.number, "a", map(answer, held.searches))
    assert dict(window.replies())[0] == answer(wanted[0])


def one_batch() -> tuple[SearchWindow, list[Search], SearchBatch]:
    """A window, three searches, and the batch that has all of them."""
    window = SearchWindow()
    window.slots = 1
    wanted = searches(3, 5)
    for search in wanted:
        window.offer(search)
    window.close()
    (batch,) = window.batches()
    return window, wanted, batch


def test_a_search_that_nobody_could_do_twice_is_done_here() -> None:
    window, wanted, first = one_batch()
    assert window.failed(first.number) is None
    again = list(window.batches())
    assert [batch.searches for batch in again] == [(search,) for search in wanted]
    here = window.failed(again[1].number)
    assert here is not None
    assert here.searches == (wanted[1],)


def test_a_batch_that_reached_nobody_is_sent_again() -> None:
    window, wanted, first = one_batch()
    window.refused(first.number)
    (again,) = window.batches()
    assert again == first._replace(number=again.number)
    assert again.number != first.number
    # What comes late for the first one is dropped.
    assert window.answered(first.number, "a", []) is None
    window.answered(again.number, "b", map(answer, again.searches))
    assert [found for _, found in window.replies()] == list(map(answer, wanted))


def test_a_search_that_a_leaving_worker_did_not_finish_goes_to_another() -> None:
    window, wanted, first = one_batch()
    window.answered(first.number, "a", [answer(wanted[0]), None, None])
    assert list(window.replies()) == [(0, answer(wanted[0]))]
    (again,) = window.batches()
    assert again.searches == tuple(wanted[1:])
    window.answered(again.number, "b", map(answer, again.searches))
    assert [found for _, found in window.replies()] == list(map(answer, wanted[1:]))
    assert window.over


def test_a_wrong_worker_is_found_by_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_module, "CHECK_EVERY", 10)
    window = SearchWindow()
    window.slots = 3
    workers = Workers(window, random.Random(7), liar="b")
    through(window, searches(3000, 7), workers)
    assert workers.disagreements
    assert all("b" in pair for pair in workers.disagreements)


def test_waiting_searches_go_out_when_no_more_can_come() -> None:
    window = SearchWindow()
    window.slots = 2
    first, second, third = searches(3, 5)
    window.offer(first)
    assert list(window.batches()) == []
    window.drain()
    (batch,) = window.batches()
    assert batch.searches == (first,)
    window.offer(second)
    assert list(window.batches()) == []
    window.offer(third)
    window.drain()
    (later,) = window.batches()
    assert later.searches == (second, third)
    # What comes first is handed out first.
    window.answered(later.number, "a", map(answer, later.searches))
    assert list(window.replies()) == [(1, answer(second)), (2, answer(third))]
    assert not window.over
    window.answered(batch.number, "b", map(answer, batch.searches))
    assert list(window.replies()) == [(0, answer(first))]
    assert not window.over
    window.close()
    assert window.over


@pytest.mark.parametrize("number", [0, 99])
def test_an_answer_that_comes_twice_is_dropped(number: int) -> None:
    window = SearchWindow()
    assert window.answered(number, "a", []) is None
    assert window.failed(number) is None
