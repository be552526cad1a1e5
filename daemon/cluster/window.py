"""The window of searches in flight at the workers: their batches, and the order in which results are returned.

A state machine without I/O or clock for one thread, that of `pool.ClusterPool`: searches and results in, batches out.
Results are returned in the order of the searches, whichever machine was quicker: a book grows by that order, and so
equals one made by one thread. Where a result decides what is searched next they are returned as they come.

A batch is as many searches as should take `BATCH_MS`, by the times of such searches so far: one message costs the
scheduler and the owner a millisecond or two. Towards the end of a round batches get smaller, so that no worker waits
for another's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

BATCH_MS = 1000.0
"""How long a batch of short searches should take, on a cluster of at most `BATCH_MS` / `BATCH_MS_A_SLOT` slots; a
search that takes longer is a batch by itself."""

BATCH_MS_A_SLOT = 4.0
"""With hundreds of slots batches are so much longer for each: the scheduler needs about 3 ms for a batch, and has to
serve all slots while each does one (docs/cluster.md)."""

LEAST_BATCH_MS = 50.0

MOST_IN_BATCH = 512

WAITING_A_SLOT = 64
"""At most so many searches for each slot wait to go out."""

UNMEASURED_BATCH = 32
"""The most searches in a batch as long as none of their level and phase has been timed."""

BATCHES_A_SLOT = 3
"""Batches in flight for each slot: one is searched, the others are at hand when it is done."""

HELD_BATCHES = 16
"""Answers that wait for an earlier one, in batches a slot; beyond this nothing new is given out."""

CHECK_EVERY = 200
"""One search of so many is done on two machines, and the answers are compared."""


class Search(NamedTuple):
    """A board (discs of the side to move and of the other side), a level, and the moves excluded.

    Where ``depth`` (plies) is not -1, the search goes so deep, with ``selectivity`` in percent, and has a table of the
    full size: that is how problems are solved. Otherwise it is a book's.
    """

    player: int
    opponent: int
    level: int
    excluded: int = 0
    depth: int = -1
    selectivity: int = 100

    @property
    def empties(self) -> int:
        """The empty squares."""
        return 64 - (self.player | self.opponent).bit_count()


class WorkerAnswer(NamedTuple):
    """An answer: the best move, its score in discs for the side to move, nodes and ms that it took; depth (plies) and
    selectivity (percent) that were reached, and the principal variation."""

    move: int
    score: int
    nodes: int
    ms: float
    depth: int = 0
    selectivity: int = 100
    pv: tuple[int, ...] = ()

    @property
    def compared(self) -> tuple[int, int]:
        """The part on which two workers must agree: move and score."""
        return self.move, self.score


class ChunkAnswer(NamedTuple):
    """The answer to a chunk: a signed byte for each of its positions (discs, side to move), and the ms that it took."""

    scores: bytes
    ms: float

    @property
    def compared(self) -> bytes:
        """The part on which two workers must agree."""
        return self.scores


class AnySearch(Protocol):
    """A tuple of plain values; its cost is estimated by level and phase."""

    @property
    def level(self) -> int: ...
    @property
    def empties(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


class AnyAnswer(Protocol):
    """The part of an answer that the window reads."""

    @property
    def ms(self) -> float: ...
    @property
    def compared(self) -> object: ...


S = TypeVar("S", bound=AnySearch)
A = TypeVar("A", bound=AnyAnswer)


class SearchBatch(NamedTuple, Generic[S]):
    """Searches that go to a worker together.

    ``numbers`` are theirs in order of arrival. It is not to go to the worker ``avoided``, if there is another.
    ``check`` says that it only checks an answer. ``attempt`` counts how often it was given out before.
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
        """Whether it is one long search."""
        return len(self.searches) == 1 and self.cost_ms > BATCH_MS


class Disagreement(NamedTuple, Generic[S, A]):
    """Two workers with different results of the same search."""

    search: S
    workers: tuple[str, str]
    answers: tuple[A, A]


class Costs:
    """The times of searches, by level and phase: estimates until some were timed."""

    def __init__(self) -> None:
        self._means: dict[tuple[int, int], float] = {}

    def known(self, search: AnySearch) -> bool:
        """Whether searches like this one were timed."""
        return self._key(search) in self._means

    def ms(self, search: AnySearch) -> float:
        """The expected time of a search, ms."""
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
    """The window of one run of searches; see the module."""

    def __init__(self, costs: Costs, *, first: int = 0, check_every: int = CHECK_EVERY) -> None:
        """``first`` is the number of searches in earlier windows; the checks continue from there, with 0 for
        ``check_every`` there are none."""
        self.slots = 0
        """Searches that the workers do at a time; set by the owner as workers come and go."""
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

    # In

    def wants(self) -> bool:
        """Whether more searches should be offered."""
        if self._complete or self._offered - self._given > max(1, self.slots) * HELD_BATCHES * MOST_IN_BATCH:
            return False
        slots = max(1, self.slots)
        most = max(BATCHES_A_SLOT * MOST_IN_BATCH, WAITING_A_SLOT * slots)
        return len(self._waiting) < most and self._waiting_ms < 2 * slots * self._batch_ms

    def offer(self, search: S) -> None:
        """Add the next search."""
        self._waiting.append((self._offered, search))
        self._waiting_ms += self._costs.ms(search)
        self._offered += 1
        self._drained = False

    def offer_from(self, searches: Iterator[S]) -> None:
        """Offer as many of the searches as are wanted; there are no more where they end."""
        while self.wants():
            search = next(searches, None)
            if search is None:
                self.close()
            else:
                self.offer(search)

    def drain(self) -> None:
        """Called when there are no more searches until an answer comes: those that wait go out."""
        self._drained = True

    def close(self) -> None:
        """Called when there are no more searches."""
        self._complete = True

    def answered(self, number: int, worker: str, answers: Iterable[A | None]) -> Disagreement[S, A] | None:
        """The answers to a batch, from a worker; None is a search that was stopped.

        Answers to a batch that is no longer in flight are dropped. Returns what two workers do not agree about.
        """
        batch = self._running.pop(number, None)
        if batch is None:
            return None
        for index, search, found in zip(batch.numbers, batch.searches, answers, strict=True):
            if found is not None:
                self._costs.timed(search, found.ms)
            if batch.check:
                return self._compared(index, search, worker, found)
            self._answers[index] = found
            if found is not None and self._check_every and (self._first + index + 1) % self._check_every == 0:
                self._checked[index] = worker, found
                self._again.append(self._batch(((index, search),), check=True, avoided=worker))
        return None

    def _compared(self, index: int, search: S, worker: str, found: A | None) -> Disagreement[S, A] | None:
        before, first = self._checked.pop(index)
        if found is None or found.compared == first.compared:
            return None
        return Disagreement(search, (before, worker), (first, found))

    def failed(self, number: int) -> SearchBatch[S] | None:
        """The cluster has given a batch up: too many workers died of it, or it could not be carried out there.

        One of its searches may be to blame, so that each goes out again by itself. Returns one that did so already: it
        has to be searched here.
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
        """A batch came to nobody who could do it: it goes out again."""
        batch = self._running.pop(number, None)
        if batch is not None:
            self._batches += 1
            self._again.append(batch._replace(number=self._batches, attempt=batch.attempt + 1))

    # Out

    def batches(self) -> Iterator[SearchBatch[S]]:
        """The batches to send to workers now."""
        while len(self._running) < BATCHES_A_SLOT * self.slots:
            if self._again:
                yield self._started(self._again.popleft())
            elif self._waiting and (self._complete or self._drained or not self.wants()):
                yield self._started(self._next())
            else:
                return

    def local(self) -> SearchBatch[S] | None:
        """A batch for a thread of the owner's process; None without one."""
        if self._again and not self._again[0].check:
            return self._started(self._again.popleft())
        return self._started(self._next()) if self._waiting else None

    def answers(self) -> Iterator[A | None]:
        """The results that can be returned by now, in the order of the searches."""
        while self._given in self._answers:
            self._given += 1
            yield self._answers.pop(self._given - 1)

    def replies(self) -> Iterator[tuple[int, A | None]]:
        """The results by now, in any order, each with the number of its search."""
        for number in list(self._answers):
            self._given += 1
            yield number, self._answers.pop(number)

    @property
    def over(self) -> bool:
        """Whether every search was answered, checked where it had to be, and handed out."""
        return self._complete and self._given == self._offered and not self._checked

    @property
    def offered(self) -> int:
        """The number of searches so far."""
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
