"""Lines of searches of which each follows from the one before, by threads and by made-up workers: the same results."""

from __future__ import annotations

import random
import threading
from collections.abc import Generator, Iterator

import pytest

from desdaemon.book.changes import Question
from desdaemon.book.editing.rounds import SearchLine, Worker
from desdaemon.book.progress import WorkCancelled
from desdaemon.cluster.pool import ClusterPool, ClusterSearches
from desdaemon.cluster.window import Search, SearchWindow, WorkerAnswer


def evaluate(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int]:
    return (player * 31 + opponent * 17 + level) % 60, player % 64 - 32


def line(seed: int) -> SearchLine[list[int]]:
    """A line that takes other questions for other answers, and ends after none to nine of them."""
    found: list[int] = []
    dice = random.Random(seed)
    player = seed
    for _ in range(dice.randrange(10)):
        answer = yield player, 1 << 40, 1 + seed % 9, 0
        if answer is None:
            raise WorkCancelled
        found.append(answer[0])
        player = answer[0] * 1000 + len(found) + seed
    return found


class MadeUpCluster(ClusterSearches):
    """Answers in any order, and remembers how many lines were open at a time."""

    def __init__(self, seed: int, stopped_after: int = -1) -> None:
        self.dice = random.Random(seed)
        self.left = stopped_after
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True

    def replies(self, offer: object) -> Generator[tuple[int, WorkerAnswer] | None, None, None]:
        window = SearchWindow()
        window.slots = 3
        running = []
        try:
            while True:
                offer(window)  # type: ignore[operator]
                running += window.batches()
                if window.over:
                    return
                if self.left == 0:
                    yield None
                    return
                self.left -= 1
                batch = running.pop(self.dice.randrange(len(running)))
                window.answered(
                    batch.number,
                    "a",
                    [WorkerAnswer(evaluate(*each[:4]), 1.0) for each in batch.searches if isinstance(each, Search)],
                )
                yield from window.replies()
        finally:
            if not window.over:
                self.stop()


def pool(cluster: MadeUpCluster) -> ClusterPool:
    return ClusterPool(cluster, evaluate, 1, lambda report: True, lambda why: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 7, 300])
@pytest.mark.parametrize("threads", [1, 3])
def test_lines_have_the_same_results_wherever_they_are_searched(count: int, threads: int) -> None:
    lines = [line(seed) for seed in range(count)]
    here = list(Worker(evaluate, threads=threads).follow(lines))
    for seed in range(3):
        assert list(pool(MadeUpCluster(seed)).follow(line(seed) for seed in range(count))) == here
    assert len(here) == count


def test_results_come_in_the_order_of_the_lines_as_soon_as_they_are_there() -> None:
    begun: list[int] = []

    def lines() -> Iterator[SearchLine[int]]:
        def one(number: int) -> SearchLine[int]:
            begun.append(number)
            yield number, 1 << 40, 30, 0
            return number

        return (one(number) for number in range(10_000))

    results = pool(MadeUpCluster(5)).follow(lines())
    assert next(results) == 0
    # No more are begun than the workers need.
    assert len(begun) < 500
    assert list(results) == list(range(1, 10_000))


def test_a_stop_ends_all_lines() -> None:
    cluster = MadeUpCluster(1, stopped_after=3)
    with pytest.raises(WorkCancelled):
        list(pool(cluster).follow(line(seed) for seed in range(300)))
    assert cluster.stopped

    def no_answer(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int] | None:
        return None

    halted = threading.Event()
    with pytest.raises(WorkCancelled):
        list(Worker(no_answer, threads=2, halt=halted.set).follow(line(seed) for seed in range(9)))
    assert halted.is_set()


def test_a_caller_that_leaves_ends_its_searches() -> None:
    cluster = MadeUpCluster(1)
    following = pool(cluster).follow(line(seed) for seed in range(300))
    next(following)
    following.close()
    assert cluster.stopped
    halted = threading.Event()
    here = Worker(evaluate, threads=2, halt=halted.set).follow(line(seed) for seed in range(300))
    next(here)
    here.close()
    assert halted.is_set()


def test_an_error_of_a_line_is_that_of_its_follower() -> None:
    def wrong() -> Generator[Question, tuple[int, int] | None, int]:
        yield 1, 2, 3, 0
        raise ZeroDivisionError

    for worker in (Worker(evaluate), pool(MadeUpCluster(1))):
        with pytest.raises(ZeroDivisionError):
            list(worker.follow([wrong()]))
