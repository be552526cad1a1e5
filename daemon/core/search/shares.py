"""The shares of thread time: a tree of keys, their clients, a client's purposes, and the tasks that wait there.

Each node is a `TimeShare` and is charged for the time that its tasks run; the least charged is served first (stride
scheduling). `run_queue` decides by these figures. No threads, no clocks: times are seconds of any clock.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable
from enum import IntEnum

SHORT_S = 0.1
"""Thread time up to which a task counts as short."""

AHEAD_S = 0.25
"""So much short work may a key or client have had beyond its share and still go first with more of it."""

CREDIT_S = 0.25
"""How far behind the average a key or client begins that comes back; more is not saved up."""

SLICE_S = 0.5
"""The shortest turn of a task that is not short, where others wait."""

LONGEST_SLICE_S = 60.0
SLICE_PART = 8
"""Otherwise a turn is this part of what the task has had so far, all of it for one that has to start over: what an
interruption loses is made up for."""

AGEING_S = 30.0
"""Among a client's tasks those that have waited so long get every fourth turn, whatever their priority."""

ALL, SHORT, LONE = KINDS = range(3)
"""Which waiting tasks are meant: all, the short ones, or the lone ones among these; see `QueuedTask.kind`."""

_AGED_EVERY = 4
_SWEPT = 256
"""Children that may be kept although nothing of theirs waits or runs; half as many are left of them."""

_LEFT = 16
"""Tasks that have left may be kept by a lane, beside as many as wait."""

_RESERVED_S = 0.01


class Purpose(IntEnum):
    """The purpose of a task. `IDLE` tasks run on threads that are otherwise unused, and are not charged."""

    INTERACTIVE = 0
    ANALYSIS = 1
    BOOK = 2
    BATCH = 3
    IDLE = 4


WEIGHTS = {Purpose.INTERACTIVE: 16.0, Purpose.ANALYSIS: 8.0, Purpose.BOOK: 1.0, Purpose.BATCH: 0.5}
"""How thread time is divided between purposes. Between keys, `INTERACTIVE` weighs no more than `ANALYSIS`."""

CHARGES = tuple(WEIGHTS[Purpose.ANALYSIS] / WEIGHTS[purpose] for purpose in WEIGHTS)
"""What a second costs a client, by purpose."""

KEY_CHARGES = tuple(max(1.0, charge) for charge in CHARGES)
"""What a second costs a key, by purpose."""


class QueuedTask:
    """A piece of work for ``least`` to ``threads`` threads, waiting or running, of a ``client`` with a ``key``.

    While it runs, ``granted`` is its number of threads. One that is not ``interruptible`` keeps them until it is over;
    an interrupted one may be added again, and ``restarts`` means that it then starts over. Among a client's tasks those
    of higher ``priority`` run first.
    """

    def __init__(
        self,
        purpose: Purpose,
        key: Hashable,
        client: Hashable,
        *,
        threads: int = 1,
        least: int = 1,
        priority: int = 0,
        interruptible: bool = True,
        restarts: bool = False,
    ) -> None:
        self.purpose = purpose
        self.key = key
        self.client = client
        self.threads = threads
        self.least = min(least, threads)
        self.priority = priority
        self.interruptible = interruptible
        self.restarts = restarts
        self.granted = 0
        self.used_s = 0.0
        """Thread time of its turns so far, the present one not included."""
        self.turn_s = 0.0
        """What it has had of its present turn before it was interrupted by short tasks."""
        self.turn_of: QueuedTask | None = None
        """A task whose turn it was given a part of: one of the same key or client, which it interrupted."""
        self.began = 0.0
        """When it was started the last time."""
        self.since = 0.0
        """When it began to wait."""
        self.order = 0
        """Its place among all that ever waited; with another one it has left and come back."""
        self.waiting = False
        self.running = False
        self.reported = False
        """Whether its client has a first result. Set by its owner, from any thread."""
        self.interrupted = False
        self.coming = 0
        """Threads that others count on since it was interrupted."""
        self.reserved = False
        """Whether a running task was interrupted for it."""
        self.guest: QueuedTask | None = None
        """A short task that runs beside it, on its thread."""
        self.host: QueuedTask | None = None
        self.kind = ALL
        """What it counted as when it began to wait: `SHORT` below `SHORT_S`; `LONE` if it had not run at all, and no
        other task of its lane waited."""
        self.lane: Lane | None = None

    def waits_as(self, order: int) -> bool:
        """Whether it still waits in the place ``order``: it was not removed, and no thread is reserved for it since."""
        return self.waiting and self.order == order and not self.reserved

    def is_short(self, now: float) -> bool:
        """Whether it counts as short at ``now``, running or not."""
        ran = (now - self.began) * self.granted if self.running else 0.0
        return self.purpose <= Purpose.ANALYSIS and self.used_s + ran < SHORT_S

    @property
    def short(self) -> bool:
        """Whether it counted as short when it began to wait, lone or not."""
        return self.kind >= SHORT

    def slice_s(self) -> float:
        """The length of its turn, seconds, while other tasks wait."""
        part = 1 if self.restarts else SLICE_PART
        return min(max(SLICE_S, self.used_s / part), LONGEST_SLICE_S)


class TimeShare:
    """A node of the tree of shares: all (the root), a key, a client of a key, or a client's purpose.

    ``charged`` is the time charged up to ``at``, seconds; since then it has grown by ``rate`` a second.
    """

    def __init__(self, name: Hashable, parent: TimeShare | None) -> None:
        self.name = name
        self.parent = parent
        self.charged = 0.0
        self.at = 0.0
        self.rate = 0.0
        self.threads = 0
        self.short_charged = 0.0
        """What they were charged for short tasks, never less than is behind the average by `CREDIT_S`."""
        self.short_running = 0
        self.waiting = [0] * len(KINDS)
        """Tasks by kind; those that have a thread reserved do not count."""
        self.reserved = 0
        self.wanted = 0
        """Of a key: threads that its waiting tasks would like to have, those that have one reserved too."""
        self.entered = False
        """Whether it counts among its parent's active children."""
        self.capped = False
        """Whether they have as many threads as they may, so that `least` leaves them out."""
        self.children: dict[Hashable, TimeShare] = {}
        self._heaps: tuple[list[tuple[float, int, TimeShare]], ...] = tuple([] for _ in KINDS)
        self._listed = [False] * len(KINDS)
        """Whether it has an entry in its parent's heaps."""
        self._entries = 0
        self._active = 0
        self._total = 0.0
        self._total_at = 0.0
        self._total_rate = 0.0
        self._clock = 0.0

    @property
    def active(self) -> bool:
        """Whether a task below it waits or runs."""
        return self.threads > 0 or self.waiting[ALL] > 0 or self.reserved > 0

    def charged_at(self, now: float) -> float:
        """The time charged up to ``now``, seconds."""
        return self.charged + self.rate * (now - self.at)

    def average(self, now: float) -> float:
        """The mean time charged to the active children, seconds."""
        if not self._active:
            return self._clock
        return (self._total + self._total_rate * (now - self._total_at)) / self._active

    def may_hurry(self, now: float) -> bool:
        """Whether its short tasks run first: false once they have had more than their share, and a margin."""
        assert self.parent is not None
        average = self.parent.average(now)
        reserved = _RESERVED_S * self.short_running
        return max(self.short_charged, average - CREDIT_S) + reserved <= average + AHEAD_S

    def _settle_total(self, now: float) -> None:
        self._total += self._total_rate * (now - self._total_at)
        self._total_at = now

    def enter(self, child: TimeShare, now: float) -> None:
        """Note that a child becomes active."""
        child.charged = max(child.charged_at(now), self.average(now) - CREDIT_S)
        child.at = now
        child.entered = True
        self._settle_total(now)
        self._total += child.charged
        self._active += 1

    def leave(self, child: TimeShare, now: float) -> None:
        """Note that a child is no longer active."""
        self._settle_total(now)
        charged = child.charged_at(now)
        self._total -= charged
        self._active -= 1
        child.entered = False
        self._clock = self.average(now) if self._active else charged
        if not self._active:
            self._total = self._total_rate = 0.0
        if len(self.children) > _SWEPT + 2 * self._active:
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        """Remove inactive children whose record equals a new one's, and of the others those charged least."""
        for kind, heap in enumerate(self._heaps):
            kept = [entry for entry in heap if entry[2].waiting[kind]]
            for _, _, child in heap:
                child._listed[kind] = child.waiting[kind] > 0
            heap[:] = kept
            heapq.heapify(heap)
        least = self.average(now) - CREDIT_S
        charged = {
            name: max(child.charged_at(now), child.short_charged)
            for name, child in self.children.items()
            if not child.active
        }
        ahead = [name for name in charged if charged[name] > least]
        ahead.sort(key=charged.__getitem__)
        for name in charged.keys() - set(ahead[-_SWEPT // 2 :]):
            self.children.pop(name)._detach()

    def _detach(self) -> None:
        """Break the references among it and what is below it, so that they are freed without the garbage collector."""
        for child in self.children.values():
            child._detach()
        self.children.clear()
        for heap in self._heaps:
            heap.clear()

    def count(self, kind: int, tasks: int) -> None:
        """Change the number of waiting tasks of a kind, which count as those of the wider kinds too."""
        for wider in range(kind + 1):
            self.waiting[wider] += tasks

    def charge(self, threads: int, rate: float, now: float) -> None:
        """Change the number of running threads by ``threads``, charged at ``rate`` from ``now`` on."""
        assert self.parent is not None
        self.charged = self.charged_at(now)
        self.at = now
        self.rate += rate
        self.threads += threads
        if not self.threads:
            self.rate = 0.0
        self.parent._settle_total(now)
        self.parent._total_rate += rate

    def charge_short(self, seconds: float, now: float) -> None:
        """Charge ``seconds`` of a short task."""
        assert self.parent is not None
        self.short_charged = max(self.short_charged, self.parent.average(now) - CREDIT_S) + seconds

    def list_child(self, child: TimeShare, kind: int, now: float) -> None:
        """Add a child with waiting tasks to the heap that `least` reads."""
        if not child._listed[kind] and not child.capped:
            child._listed[kind] = True
            self._entries += 1
            heapq.heappush(self._heaps[kind], (child.charged_at(now), self._entries, child))

    def least(self, kind: int, now: float) -> TimeShare | None:
        """The least charged child with waiting tasks of a kind; of equals the first added."""
        heap = self._heaps[kind]
        while heap:
            charged, entry, child = heap[0]
            if not child.waiting[kind] or child.capped:
                heapq.heappop(heap)
                child._listed[kind] = False
                continue
            present = child.charged_at(now)
            if present > charged:
                # Charges only grow, so what is listed is at most too small.
                heapq.heapreplace(heap, (present, entry, child))
                continue
            return child
        return None

    def set_aside(self, kind: int) -> TimeShare:
        """Take the child that `least` has just returned from the heap."""
        child = heapq.heappop(self._heaps[kind])[2]
        child._listed[kind] = False
        return child


_Entry = tuple[tuple[int, bool], int, QueuedTask]
"""Of a heap of tasks: priority, negative, and whether it has yet to begin; order; task."""


class Lane(TimeShare):
    """The waiting tasks of a client for one purpose. Deletion is lazy: a removed task keeps its entry in the heaps
    until it reaches the top.
    """

    def __init__(self, name: Hashable, client: TimeShare) -> None:
        super().__init__(name, client)
        assert client.parent is not None
        self.client = client
        self.key = client.parent
        self.chain: tuple[TimeShare, TimeShare, TimeShare] = (self.client.parent or self, self.client, self)
        """Key, client, lane."""
        self._tasks: tuple[list[_Entry], ...] = tuple([] for _ in KINDS)
        self._arrivals: deque[tuple[int, QueuedTask]] = deque()
        self._started = 0
        self._added = 0

    def put(self, task: QueuedTask) -> None:
        """Add a waiting task."""
        self._added += 1
        if self._added > _LEFT + 2 * self.waiting[ALL]:
            self._sweep_tasks()
        heapq.heappush(self._tasks[task.kind], ((-task.priority, task.used_s == 0), task.order, task))
        self._arrivals.append((task.order, task))

    def _sweep_tasks(self) -> None:
        self._added = 0
        for heap in self._tasks:
            heap[:] = [found for found in heap if found[2].waits_as(found[1])]
            heapq.heapify(heap)
        self._arrivals = deque(found for found in self._arrivals if found[1].waits_as(found[0]))

    def _detach(self) -> None:
        super()._detach()
        self.clear()
        # It contains itself.
        del self.chain

    def clear(self) -> None:
        """Drop the entries of removed tasks when no task waits."""
        for heap in self._tasks:
            heap.clear()
        self._arrivals.clear()
        self._added = 0

    def next(self, kind: int, now: float) -> QueuedTask:
        """The task to start first. One must be waiting."""
        if self._started % _AGED_EVERY == _AGED_EVERY - 1:
            oldest = self._oldest()
            if now - oldest.since >= AGEING_S and oldest.kind >= kind:
                return oldest
        tops = [heap[0] for heap in self._tasks[max(kind, SHORT) :] if self._has_top(heap)]
        short = min(tops)[2] if tops else None
        other = self._tasks[ALL][0][2] if kind == ALL and self._has_top(self._tasks[ALL]) else None
        if short is not None and other is not None:
            return other if other.priority > short.priority else short
        found = short or other
        assert found is not None
        return found

    def _has_top(self, heap: list[_Entry]) -> bool:
        """Whether a task is left in a heap; it is then the first entry."""
        while heap and not heap[0][2].waits_as(heap[0][1]):
            heapq.heappop(heap)
        return bool(heap)

    def _oldest(self) -> QueuedTask:
        while not self._arrivals[0][1].waits_as(self._arrivals[0][0]):
            self._arrivals.popleft()
        return self._arrivals[0][1]

    def count_start(self) -> None:
        """Count a started task of this lane."""
        self._started += 1
