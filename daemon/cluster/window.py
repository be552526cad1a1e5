"""The window of searches in flight at the workers: their batches, and the order of results.

A state machine for one thread, that of `pool.ClusterPool`: searches and results go in, batches come out. `answers` come
in the order of the searches, whichever machine is quicker: a book grows in that order, and so equals one made by a
single thread. `replies` come as they arrive, for callers that choose the next searches by them.

A batch has searches for about `BATCH_MS`, judging by earlier ones, because a message costs the scheduler and
this process a millisecond or two. Towards the end of a round batches get smaller, so that no worker waits for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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


class WorkerAnswer(NamedTuple):
    """The answer to a search: best move and its score in discs for the side to move, with cost and line of play.

    ``depth`` (plies) and ``selectivity`` (percent) were reached.
    """

    move: int
    score: int
    nodes: int
    ms: float
    depth: int = 0
    selectivity: int = 100
    pv: tuple[int, ...] = ()

    @property
    def compared(self) -> tuple[int, int]:
        """The part that two workers must agree on: move and score."""
        return self.move, self.score


class ChunkAnswer(NamedTuple):
    """The answer to a chunk of positions: for each a signed byte, discs for the side to move; and the ms used."""

    scores: bytes
    ms: float

    @property
    def compared(self) -> bytes:
        """The part that two workers must agree on."""
        return self.scores


class AnySearch(Protocol):
    """A search as the window sees it: plain values, and a cost that depends on level and number of empty squares."""

    @property
    def level(self) -> int: ...
    @property
    def empties(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


class AnyAnswer(Protocol):
    """An answer as the window sees it: the ms it took, and the part that two workers must agree on."""

    @property
    def ms(self) -> float: ...
    @property
    def compared(self) -> object: ...


S = TypeVar("S", bound=AnySearch)
A = TypeVar("A", bound=AnyAnswer)


class SearchBatch(NamedTuple, Generic[S]):
    """Searches that go to a worker together.

    ``numbers`` are the searches' indices in order of arrival, ``cost_ms`` is their expected time; ``check`` marks a
    repeated search whose answer is only compared. ``avoided`` is a worker to avoid if there is another; ``attempt``
    counts how often no worker could take the batch.
    """

    number: int
    numbers: tuple[int, ...]
    searches: tuple[S, ...]
    cost_ms: float
    check: bool = False
    avoided: str = ""
    attempt: int = 0

    @property
    def long(self) -> bool:
        """Whether the batch is a single search of more than `BATCH_MS`."""
        return len(self.searches) == 1 and self.cost_ms > BATCH_MS


class Disagreement(NamedTuple, Generic[S, A]):
    """Different answers of two workers to the same search."""

    search: S
    workers: tuple[str, str]
    answers: tuple[A, A]


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


class SearchWindow(Generic[S, A]):
    """The searches of one run on their way to the workers, and their answers on the way back; see the module. The
    caller sets ``slots``, and reports each batch that it took from the window by `answered`, `failed` or `refused`.
    """

    def __init__(self, costs: Costs, *, first: int = 0, check_every: int = CHECK_EVERY) -> None:
        """``first`` is the number of searches in earlier windows. Counted from the first of those, every
        ``check_every``-th search is repeated by another worker to compare the answers.
        """
        self.slots = 0
        """Searches that the workers make at a time; set by the caller as workers come and go."""
        self._costs = costs
        self._first = first
        self._check_every = check_every
        self._waiting: deque[tuple[int, S]] = deque()
        self._waiting_ms = 0.0
        self._again: deque[SearchBatch[S]] = deque()
        self._running: dict[int, SearchBatch[S]] = {}
        self._answers: dict[int, A | None] = {}
        self._checked: dict[int, tuple[str, A]] = {}
        self._offered = 0
        self._given = 0
        self._batches = 0
        self._complete = False
        self._drained = False

    # Input

    def wants(self) -> bool:
        """Return whether to offer more searches: not if the window is closed, if enough searches wait to be sent, or if
        too many are offered whose answers were not taken yet.
        """
        if self._complete or self._offered - self._given > max(1, self.slots) * HELD_BATCHES * MOST_IN_BATCH:
            return False
        slots = max(1, self.slots)
        most = max(BATCHES_A_SLOT * MOST_IN_BATCH, WAITING_A_SLOT * slots)
        return len(self._waiting) < most and self._waiting_ms < 2 * slots * self._batch_ms

    def offer(self, search: S) -> None:
        """Add the next search. Call this only while `wants` returns true, to bound the memory."""
        self._waiting.append((self._offered, search))
        self._waiting_ms += self._costs.ms(search)
        self._offered += 1
        self._drained = False

    def offer_from(self, searches: Iterator[S]) -> None:
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
        """Note that there are no more searches."""
        self._complete = True

    def answered(self, number: int, worker: str, answers: Iterable[A | None]) -> Disagreement[S, A] | None:
        """Note a worker's answers to a batch, None for each search that was stopped, and plan checks. Returns a
        disagreement if the batch was a check and its answer differs, else None.

        Answers to a batch that is no longer in flight are dropped.
        """
        batch = self._running.pop(number, None)
        if batch is None:
            return None
        for index, search, answer in zip(batch.numbers, batch.searches, answers, strict=True):
            if answer is not None:
                self._costs.timed(search, answer.ms)
            if batch.check:
                return self._compared(index, search, worker, answer)
            self._answers[index] = answer
            if answer is not None and (self._first + index + 1) % self._check_every == 0:
                self._checked[index] = worker, answer
                self._again.append(self._batch(((index, search),), check=True, avoided=worker))
        return None

    def _compared(self, index: int, search: S, worker: str, answer: A | None) -> Disagreement[S, A] | None:
        first_worker, first = self._checked.pop(index)
        if answer is None or answer.compared == first.compared:
            return None
        return Disagreement(search, (first_worker, worker), (first, answer))

    def failed(self, number: int) -> SearchBatch[S] | None:
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
        for pair in zip(batch.numbers, batch.searches, strict=True):
            self._again.append(self._batch((pair,)))
        return None

    def refused(self, number: int) -> None:
        """Note that no worker was able to run a batch. It is sent again under a new number."""
        batch = self._running.pop(number, None)
        if batch is not None:
            self._batches += 1
            self._again.append(batch._replace(number=self._batches, attempt=batch.attempt + 1))

    # Output

    def batches(self) -> Iterator[SearchBatch[S]]:
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

    def local(self) -> SearchBatch[S] | None:
        """Return a batch for a thread of this process; None if no search waits."""
        if self._again and not self._again[0].check:
            return self._started(self._again.popleft())
        return self._started(self._next()) if self._waiting else None

    def answers(self) -> Iterator[A | None]:
        """Yield the available answers, in the order of the searches."""
        while self._given in self._answers:
            self._given += 1
            yield self._answers.pop(self._given - 1)

    def replies(self) -> Iterator[tuple[int, A | None]]:
        """Yield the available answers as they came, each with the number of its search."""
        for number in list(self._answers):
            self._given += 1
            yield number, self._answers.pop(number)

    @property
    def over(self) -> bool:
        """Whether every search was answered, checked if necessary, and its answer taken."""
        return self._complete and self._given == self._offered and not self._checked

    @property
    def offered(self) -> int:
        """The number of searches offered so far."""
        return self._offered

    @property
    def _batch_ms(self) -> float:
        return max(BATCH_MS, BATCH_MS_A_SLOT * self.slots)

    def _next(self) -> SearchBatch[S]:
        share = self._waiting_ms / (2 * max(1, self.slots))
        limit = min(self._batch_ms, max(LEAST_BATCH_MS, share))
        chosen: list[tuple[int, S]] = []
        cost = 0.0
        while self._waiting and len(chosen) < MOST_IN_BATCH:
            search = self._waiting[0][1]
            ms = self._costs.ms(search)
            if chosen and (cost + ms > limit or (not self._costs.known(search) and len(chosen) >= UNMEASURED_BATCH)):
                break
            chosen.append(self._waiting.popleft())
            cost += ms
        self._waiting_ms = max(0.0, self._waiting_ms - cost) if self._waiting else 0.0
        return self._batch(tuple(chosen), cost=cost)

    def _batch(
        self, pairs: tuple[tuple[int, S], ...], *, cost: float = 0.0, check: bool = False, avoided: str = ""
    ) -> SearchBatch[S]:
        self._batches += 1
        numbers, searches = tuple(number for number, _ in pairs), tuple(search for _, search in pairs)
        return SearchBatch(self._batches, numbers, searches, cost or sum(map(self._costs.ms, searches)), check, avoided)

    def _started(self, batch: SearchBatch[S]) -> SearchBatch[S]:
        self._running[batch.number] = batch
        return batch
