"""Who searches next: the one queue of all work of the process.

`Queue` decides and knows neither threads nor clocks; `Scheduler` is the same queue for threads. Work waits in lanes:
a better lane goes first, and may take slots back from work of a worse one that has said how to be interrupted. Inside
a lane clients take turns; a client's own work goes by priority, then in the order of arrival. Who waits long rises a
lane. Work that can be divided makes room, after a while, for that of clients who have less running.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NamedTuple

from .loader import Abandoned

AGEING_S = 30.0
"""After so long a wait, work counts as one lane better."""

SLICE_S = 1.0
"""Divisible work runs at least so long, and twice as long each time it was interrupted for its like."""

LONGEST_SLICE_S = 60.0

_POLL_S = 0.01
_REVIEW_S = 0.1
_REMEMBERED = 4096
_SWEPT = 1024


class Lane(IntEnum):
    """What work is for: somebody who waits for a move, an analysis, or a book job."""

    INTERACTIVE = 0
    BATCH = 1
    BACKGROUND = 2


class Item:
    """A piece of work: waiting, then running on ``slots`` slots. ``home`` is its lane, ``lane`` the present one.

    ``start`` is called, from any thread, when its turn has come, and must return at once; then the slots are its own
    until it is released. ``preempt`` is called, from any thread, when it should give them back soon. ``divisible`` work
    can go on later where it was interrupted: it is to be added again then.
    """

    def __init__(
        self,
        lane: int,
        client: Hashable,
        slots: int,
        priority: int,
        start: Callable[[], None],
        preempt: Callable[[], None] | None,
        divisible: bool = False,
    ) -> None:
        self.home = lane
        self.lane = lane
        self.client = client
        self.slots = slots
        self.priority = priority
        self.start = start
        self.preempt = preempt
        self.divisible = divisible
        self.slice_s = SLICE_S
        self.began = 0.0
        self.since = 0.0
        self.order = 0
        self.waiting = False
        self.running = False
        self.preempted = False

    def waits_as(self, order: int) -> bool:
        """Whether it waits, and has not left its place in between."""
        return self.waiting and self.order == order


class Decision(NamedTuple):
    """What is to happen now: work to start, and running work to interrupt, which then has to be released."""

    start: list[Item]
    preempt: list[Item]


class _Turns:
    """The work of one lane. What has left it stays in the lists until it is come upon: it has another order then."""

    def __init__(self) -> None:
        self.clients: dict[Hashable, list[tuple[int, int, Item]]] = {}
        self.arrivals: deque[tuple[int, Item]] = deque()
        self._added = 0

    def add(self, item: Item, waiting: int) -> None:
        """Work that waits here now, as ``waiting`` others do in all lanes."""
        self._added += 1
        if self._added > _SWEPT + 2 * waiting:
            self._sweep()
        heapq.heappush(self.clients.setdefault(item.client, []), (-item.priority, item.order, item))
        if item.lane:
            self.arrivals.append((item.order, item))

    def _sweep(self) -> None:
        """Forget what has left: nobody may ever come upon it, behind something that waits long."""
        self._added = 0
        for client, heap in list(self.clients.items()):
            heap[:] = [found for found in heap if found[2].waits_as(found[1])]
            heapq.heapify(heap)
            if not heap:
                del self.clients[client]
        self.arrivals = deque(found for found in self.arrivals if found[1].waits_as(found[0]))

    def next(self, busy: Counter[Hashable], served: dict[Hashable, int]) -> Item | None:
        """Whose turn it is: of the clients with the fewest slots (``busy``) the one served the longest ago."""
        best: Item | None = None
        least = (0, 0)
        for client, heap in list(self.clients.items()):
            while heap and not heap[0][2].waits_as(heap[0][1]):
                heapq.heappop(heap)
            if not heap:
                del self.clients[client]
            elif best is None or (busy[client], served.get(client, 0)) < least:
                best = heap[0][2]
                least = (busy[client], served.get(client, 0))
        return best

    def oldest(self) -> Item | None:
        while self.arrivals and not self.arrivals[0][1].waits_as(self.arrivals[0][0]):
            self.arrivals.popleft()
        return self.arrivals[0][1] if self.arrivals else None


class Queue:
    """The decisions, for one thread at a time; every time is in seconds, of any clock."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.free = slots
        self.waiting = 0
        self.running: list[Item] = []
        self._lanes = [_Turns() for _ in Lane]
        self._order = 0
        self._turn = 0
        self._served: dict[Hashable, int] = {}

    def add(self, item: Item, now: float) -> None:
        """Work that waits from now on."""
        item.slots = min(item.slots, self.slots)
        item.lane = item.home
        item.since = now
        item.waiting = True
        item.preempted = False
        self.waiting += 1
        self._enter(item)

    def _enter(self, item: Item) -> None:
        self._order += 1
        item.order = self._order
        self._lanes[item.lane].add(item, self.waiting)

    def remove(self, item: Item) -> bool:
        """Forget work that still waits; False when it does not."""
        if not item.waiting:
            return False
        item.waiting = False
        self.waiting -= 1
        return True

    def release(self, item: Item) -> None:
        """Work that ran is over, or has been interrupted."""
        if item.running:
            item.running = False
            self.running.remove(item)
            self.free += item.slots

    def decide(self, now: float) -> Decision:
        """Start what can be started, and make room for what should run instead of something worse."""
        self._age(now)
        decision = Decision([], [])
        busy: Counter[Hashable] = Counter()
        for running in self.running:
            busy[running.client] += running.slots
        while (item := self._next(busy)) is not None:
            if item.slots <= self.free:
                self._serve(item.client)
                item.waiting = False
                item.running = True
                item.began = now
                self.waiting -= 1
                self.free -= item.slots
                busy[item.client] += item.slots
                self.running.append(item)
                decision.start.append(item)
                continue
            self._make_room(item, now, busy, decision.preempt)
            break
        return decision

    def _age(self, now: float) -> None:
        for lane in range(1, len(self._lanes)):
            turns = self._lanes[lane]
            while (oldest := turns.oldest()) is not None and now - oldest.since >= AGEING_S:
                oldest.lane = lane - 1
                oldest.since = now
                self._enter(oldest)

    def _next(self, busy: Counter[Hashable]) -> Item | None:
        return next((item for turns in self._lanes if (item := turns.next(busy, self._served)) is not None), None)

    def _serve(self, client: Hashable) -> None:
        self._turn += 1
        self._served[client] = self._turn
        if len(self._served) > _REMEMBERED:
            self._served = {
                client: turn for client, turn in self._served.items() if turn > self._turn - _REMEMBERED // 2
            }

    def _make_room(self, item: Item, now: float, busy: Counter[Hashable], preempt: list[Item]) -> None:
        coming = self.free + sum(running.slots for running in self.running if running.preempted)
        worse = [
            running
            for running in self.running
            if running.preempt is not None
            and not running.preempted
            and (running.home > item.home or _has_had_its_turn(running, item, busy, now))
        ]
        if coming + sum(running.slots for running in worse) < item.slots:
            return
        # The worst lane first, and of that what has run the shortest.
        for _, _, running in sorted(((found.lane, at, found) for at, found in enumerate(worse)), reverse=True):
            if coming >= item.slots:
                return
            running.preempted = True
            if running.home <= item.home:
                running.slice_s = min(2 * running.slice_s, LONGEST_SLICE_S)
            coming += running.slots
            preempt.append(running)


def _has_had_its_turn(running: Item, item: Item, busy: Counter[Hashable], now: float) -> bool:
    """Whether running work should make room for work that has waited long, or is its like and of a client with less."""
    if not running.divisible or now - running.began < running.slice_s:
        return False
    alike = item.lane == running.lane or item.home == running.home
    return running.lane > item.lane or (alike and busy[item.client] < busy[running.client])


class Scheduler:
    """Shares the search threads of the process out. Every method may be called from any thread."""

    def __init__(self, slots: int) -> None:
        """``slots``: how many threads may search at a time."""
        self.slots = slots
        self._queue = Queue(slots)
        self._lock = threading.Lock()
        self._reviewing = False

    @property
    def queued(self) -> int:
        """How much work waits."""
        return self._queue.waiting

    @property
    def running(self) -> int:
        """How much work runs."""
        return len(self._queue.running)

    def add(self, item: Item) -> None:
        """Work that waits from now on; it may be started before this returns. It may be added again once released."""
        self._change(lambda: self._queue.add(item, time.monotonic()))

    def withdraw(self, item: Item) -> bool:
        """Forget work whose turn has not come; False when it has."""
        with self._lock:
            removed = self._queue.remove(item)
        if removed:
            self._change(lambda: None)
        return removed

    def release(self, item: Item) -> None:
        """Give the slots back; more than once does no harm."""
        self._change(lambda: self._queue.release(item))

    def _change(self, change: Callable[[], None]) -> None:
        with self._lock:
            change()
            decision = self._queue.decide(time.monotonic())
            review = self._queue.waiting > 0 and not self._reviewing
            self._reviewing = self._reviewing or review
        if review:
            threading.Thread(target=self._review, name="scheduler", daemon=True).start()
        for item in decision.preempt:
            assert item.preempt is not None
            item.preempt()
        for item in decision.start:
            item.start()

    def _review(self) -> None:
        """As long as anything waits, decide again now and then: time alone can change the order."""
        while True:
            time.sleep(_REVIEW_S)
            with self._lock:
                self._reviewing = self._queue.waiting > 0
            if not self._reviewing:
                return
            self._change(lambda: None)

    @contextmanager
    def lease(
        self,
        lane: int,
        *,
        client: Hashable,
        slots: int = 1,
        priority: int = 0,
        preempt: Callable[[], None] | None = None,
        divisible: bool = False,
        abandoned: Callable[[], bool] = lambda: False,
    ) -> Iterator[None]:
        """Wait for the turn of this thread's work, which ends with the block; see `Item`.

        Raises `Abandoned` as soon as ``abandoned`` says so.
        """
        item = Item(lane, client, slots, priority, lambda: None, preempt, divisible)
        with self.turn_of(item, abandoned):
            yield

    @contextmanager
    def turn_of(
        self, item: Item, abandoned: Callable[[], bool] = lambda: False, news: threading.Event | None = None
    ) -> Iterator[None]:
        """`lease` for an item that may have had turns before; its ``start`` is replaced.

        ``abandoned`` is asked again whenever ``news`` is set; without it, now and then.
        """
        turn = news or threading.Event()
        item.start = turn.set
        self.add(item)
        try:
            while not item.running:
                if abandoned() and self.withdraw(item):
                    raise Abandoned
                turn.wait(_POLL_S if news is None else None)
                turn.clear()
            yield
        finally:
            self.withdraw(item)
            self.release(item)
