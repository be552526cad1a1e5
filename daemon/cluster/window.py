"""The window of searches in flight at the workers, and their batches.

A state machine for one thread, that of `pool.ClusterSearches`: searches and results go in; batches come out, and
answers as they arrive.

A batch has searches for about `BATCH_MS`, judging by earlier ones, because a message costs the scheduler and
this process a millisecond or two. Towards the end of a round batches get smaller, so that no worker waits for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from desdaemon.engine.result import Line
from desdaemon.engine.training.labelling.chunks import BoardChunk

BATCH_MS = 1000.0
"""Intended ms of a batch of short searches, for up to `BATCH_MS` / `BATCH_MS_A_SLOT` slots.

A search that takes longer is a batch of its own.
"""

BATCH_MS_A_SLOT = 4.0
"""Intended ms of a batch for each slot of a larger cluster.

The scheduler needs about 3 ms for a batch, and serves all slots in the time of one (docs/cluster.md).
"""

LEAST_BATCH_MS = 50.0

MOST_IN_BATCH = 512

WAITING_A_SLOT = 64
"""Most searches that wait to be sent, for each slot; in small clusters `BATCHES_A_SLOT` full batches may wait."""

UNMEASURED_BATCH = 32
"""Most searches in a batch before one of their kind was timed (`Costs.known`)."""

BATCHES_A_SLOT = 3
"""Batches in flight for each slot: while one is searched, the others wait at the worker."""

HELD_BATCHES = 16
"""Most answers that are held back because an earlier one is missing, counted in full batches for each slot; beyond that
the window wants no more searches.
"""

CHECK_EVERY = 200
"""Of this many searches one is made on two machines, to compare their answers."""


class Search(NamedTuple):
    """A board (discs of the side to move, of the other side), a level, and a mask of excluded moves.

    If ``depth`` (plies) is not -1 a problem is solved, to that depth and ``selectivity`` (percent), with a table of the
    size that the task names. Otherwise it is a book's search, whose table may be smaller.
    """

    player: int
    opponent: int
    level: int
    excluded: int = 0
    depth: int = -1
    selectivity: int = 100

    @property
    def empties(self) -> int:
        """The number of empty squares."""
        return 64 - (self.player | self.opponent).bit_count()


AnySearch = Search | BoardChunk
"""A search as the window sees it: its level and number of empty squares tell its cost."""


class WorkerAnswer(NamedTuple):
    """The answer to a search. Two workers must agree on ``found``: best move and its score in discs for the side to
    move; of a chunk the score of each position, a signed byte. ``nodes`` is 0 for chunks; ``line`` is that of a solved
    problem.
    """

    found: tuple[int, int] | bytes
    ms: float = 0.0
    nodes: int = 0
    line: Line | None = None


class SearchBatch(NamedTuple):
    """Searches that go to a worker together.

    ``numbers`` are the searches' indices in order of arrival, ``cost_ms`` is their expected time; ``check`` marks a
    repeated search whose answer is only compared. ``avoided`` is a worker to avoid if there is another.
    """

    number: int
    numbers: tuple[int, ...]
    searches: tuple[AnySearch, ...]
    cost_ms: float
    check: bool = False
    avoided: str = ""

    @property
    def long(self) -> bool:
        """Whether the batch is a single search of more than `BATCH_MS`."""
        return len(self.searches) == 1 and self.cost_ms > BATCH_MS


class Disagreement(NamedTuple):
    """Different answers of two workers to the same search."""

    search: AnySearch
    answers: tuple[tuple[str, WorkerAnswer], tuple[str, WorkerAnswer]]


class Costs:
    """Estimates the times of searches. Searches of one level and about the same number of empty squares (in steps of
    three) share a moving mean; until one of them was timed, the estimate is a guess from the level.
    """

    def __init__(self) -> None:
        self._means: dict[tuple[int, int], float] = {}

    def known(self, search: AnySearch) -> bool:
        """Return whether searches like this one were timed."""
        return self._key(search) in self._means

    def ms(self, search: AnySearch) -> float:
        """Return the expected time of a search, ms: the mean of searches like it, or a guess from its level."""
        return self._means.get(self._key(search)) or 0.3 * 1.32**search.level

    def timed(self, search: AnySearch, ms: float) -> None:
        """Record the time of a search, ms."""
        key = self._key(search)
        mean = self._means.get(key)
        self._means[key] = ms if mean is None else mean + (ms - mean) / 16

    @staticmethod
    def _key(search: AnySearch) -> tuple[int, int]:
        return search.level, search.empties // 3


class SearchWindow:
    """The searches of a job on their way to the workers, and their answers on the way back; see the module.

    A job has several runs, one after another: `open` begins one, `close` says that it gets no more searches. Searches
    and batches are numbered through. Report each batch taken from the window by `answered`, `failed` or `refused`;
    what is said of a batch that is not in flight is ignored.
    """

    def __init__(self) -> None:
        self.slots = 0
        """Searches that the workers make at a time; set by the caller as workers come and go."""
        self.costs = Costs()
        self.offered = 0
        """Number of searches offered so far."""
        self._waiting: deque[tuple[int, AnySearch]] = deque()
        self._waiting_ms = 0.0
        self._again: deque[SearchBatch] = deque()
        self._running: dict[int, SearchBatch] = {}
        self._answers: dict[int, WorkerAnswer] = {}
        self._checked: dict[int, tuple[str, WorkerAnswer]] = {}
        """The first answer to each search that is being repeated, with its worker."""
        self._given = 0
        self._batches = 0
        self._complete = False
        self._drained = False

    # Input

    def open(self) -> None:
        """Begin a run."""
        self._complete = False

    def wants(self) -> bool:
        """Return whether to offer more searches: not if the window is closed, if enough searches wait to be sent, or if
        too many are offered whose answers were not taken yet.
        """
        slots = max(1, self.slots)
        if self._complete or self.offered - self._given > slots * HELD_BATCHES * MOST_IN_BATCH:
            return False
        most = max(BATCHES_A_SLOT * MOST_IN_BATCH, WAITING_A_SLOT * slots)
        return len(self._waiting) < most and self._waiting_ms < 2 * slots * self._batch_ms

    def offer(self, search: AnySearch) -> None:
        """Add the next search. Call this only while `wants` returns true, to bound the memory."""
        self._waiting.append((self.offered, search))
        self._waiting_ms += self.costs.ms(search)
        self.offered += 1
        self._drained = False

    def offer_from(self, searches: Iterator[AnySearch]) -> None:
        """Offer searches while the window wants them; close it after the last."""
        while self.wants():
            search = next(searches, None)
            if search is None:
                self.close()
            else:
                self.offer(search)

    def drain(self) -> None:
        """Note that no searches come before another answer, so that the waiting searches are sent."""
        self._drained = True

    def close(self) -> None:
        """Note that this run gets no more searches."""
        self._complete = True

    def answered(self, number: int, worker: str, answers: Iterable[WorkerAnswer | None]) -> Disagreement | None:
        """Note a worker's answers to a batch, and plan checks. Searches without an answer (None) are sent again.
        Returns a disagreement if the batch was a check and its answer differs, else None.
        """
        batch = self._running.pop(number, None)
        if batch is None:
            return None
        unanswered = []
        for index, search, answer in zip(batch.numbers, batch.searches, answers, strict=True):
            if batch.check:
                first = self._checked.pop(index)
                if answer is None or answer.found == first[1].found:
                    return None
                return Disagreement(search, (first, (worker, answer)))
            if answer is None:
                unanswered.append((index, search))
                continue
            self.costs.timed(search, answer.ms)
            self._answers[index] = answer
            if (index + 1) % CHECK_EVERY == 0:
                self._checked[index] = worker, answer
                self._again.append(self._batch([(index, search)], check=True, avoided=worker))
        if unanswered:
            self._again.append(self._batch(unanswered))
        return None

    def failed(self, number: int) -> SearchBatch | None:
        """Note that the cluster has given up a batch: too many workers died of it, or none could run it.

        Returns a batch of one search, for the caller to search in this process and report by `answered`; else None.
        Several searches are sent again in a batch each, since one may be to blame. A check is dropped.
        """
        batch = self._running.pop(number, None)
        if batch is None:
            return None
        if batch.check:
            del self._checked[batch.numbers[0]]
            return None
        if len(batch.numbers) == 1:
            return self._started(batch)
        self._again += [self._batch([pair]) for pair in zip(batch.numbers, batch.searches, strict=True)]
        return None

    def refused(self, number: int) -> None:
        """Note that no worker was able to run a batch. It is sent again under a new number."""
        batch = self._running.pop(number, None)
        if batch is not None:
            self._batches += 1
            self._again.append(batch._replace(number=self._batches))

    # Output

    def batches(self) -> Iterator[SearchBatch]:
        """Yield the batches to send to workers now, so that `BATCHES_A_SLOT` for each slot are in flight. New searches
        wait until the window wants no more, is drained or is closed.
        """
        while len(self._running) < BATCHES_A_SLOT * self.slots:
            if self._again:
                yield self._started(self._again.popleft())
            elif self._waiting and (self._complete or self._drained or not self.wants()):
                yield self._started(self._next())
            else:
                return

    def local(self) -> SearchBatch | None:
        """Return a batch for a thread of this process; None if no search waits."""
        if self._again and not self._again[0].check:
            return self._started(self._again.popleft())
        return self._started(self._next()) if self._waiting else None

    def replies(self) -> Iterator[tuple[int, WorkerAnswer]]:
        """Yield the available answers as they came, each with the number of its search."""
        for number in list(self._answers):
            self._given += 1
            yield number, self._answers.pop(number)

    @property
    def over(self) -> bool:
        """Whether every search was answered, checked if necessary, and its answer taken."""
        return self._complete and self._given == self.offered and not self._checked

    @property
    def _batch_ms(self) -> float:
        return max(BATCH_MS, BATCH_MS_A_SLOT * self.slots)

    def _next(self) -> SearchBatch:
        share = self._waiting_ms / (2 * max(1, self.slots))
        limit = min(self._batch_ms, max(LEAST_BATCH_MS, share))
        chosen: list[tuple[int, AnySearch]] = []
        cost = 0.0
        while self._waiting and len(chosen) < MOST_IN_BATCH:
            search = self._waiting[0][1]
            ms = self.costs.ms(search)
            if chosen and (cost + ms > limit or (not self.costs.known(search) and len(chosen) >= UNMEASURED_BATCH)):
                break
            chosen.append(self._waiting.popleft())
            cost += ms
        self._waiting_ms = max(0.0, self._waiting_ms - cost) if self._waiting else 0.0
        return self._batch(chosen)

    def _batch(self, pairs: list[tuple[int, AnySearch]], *, check: bool = False, avoided: str = "") -> SearchBatch:
        self._batches += 1
        numbers, searches = zip(*pairs, strict=True)
        return SearchBatch(self._batches, numbers, searches, sum(map(self.costs.ms, searches)), check, avoided)

    def _started(self, batch: SearchBatch) -> SearchBatch:
        self._running[batch.number] = batch
        return batch
