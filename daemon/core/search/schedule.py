"""The schedule of the search threads: which search runs when. A state machine without threads, clocks or I/O.

Events go in, each with its time: `ThreadSchedule.add`, `remove`, `release`. `ThreadSchedule.decide` gives instructions
back: tasks to start, tasks to interrupt, and when to ask again if nothing happens before. Times are seconds of any
clock. `scheduler` applies the instructions to threads.

- *Shares.* Thread time is shared by keys, a key's by its clients, and a client's by its purposes. Each of them has a
  `Meter` that runs while their tasks run, and a free thread goes to the key whose meter shows least, to its client
  whose meter shows least, and so on (stride scheduling). So a key with forty connections gets as much as one with a
  single connection. A client that comes back after a pause begins where the others are on average, a quarter of a
  second to the good (`CREDIT_S`); more is not saved up.
- *Purposes have weights, not ranks.* A second of a book job costs its client eight times as much as one of an analysis,
  so that the job goes on while others analyse, at a ninth of the speed. Between keys text and analyses cost the same.
- *Short tasks go first.* A task is short until it has had `SHORT_S`. A short task interrupts a task that is not short,
  `LEAST_RUN_S` after that task's start at the earliest. Short tasks no longer go first once their key or client has had
  `AHEAD_S` more of short work than the others have had of all work on average; then they wait for their share like all
  others. So a short question is answered at once on a busy machine, and many short questions give a client no more than
  its share.
- *First turns.* Short tasks do not interrupt each other, with one exception: a task that has reported a first result
  and has had `LEAST_RUN_S` of its first turn gives way to a *lone* task, the only waiting task of another client. The
  interrupted task goes on as a short task later. So thirty people who move at the same moment all see scores soon. This
  happens once in a task's life, and not for clients that keep many tasks waiting: every exchange costs work.
- *Turns grow.* A task that is short no more has turns, because an interruption loses some of the work: half a second at
  first, later an eighth of the time it has had, at most a minute. After its turn a task gives way if a waiting key,
  client or purpose was charged less. A task that a short one interrupted goes on with its turn before any other turn
  begins. Among a client's tasks for one purpose those of higher ``priority`` come first, and equals exchange after a
  minute.
- *A task that would start over is not interrupted by short tasks.* A short task runs beside it instead, on the same
  thread, as its *guest*, until the guest is short no more. The turn of a task that would start over is as long as all
  the time it has had, so that the task ends some day.
- *Searches of book jobs* are guests of analyses that were charged more, for a turn: turns of old analyses last a
  minute, and a job has one search after the other, so that it would have no share if each waited for the end of one.
- *Idle threads.* Tasks of `Purpose.IDLE` run on threads that no other task wants, are not charged, and are interrupted
  as soon as another task can use their threads.
- *Nobody starves.* Every `OLDEST_EVERY`-th thread that is given out goes to the task that has waited longest, unless
  its key or its client has had more than the others on average; every `OLDEST_EVERY` squared-th in any case.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable
from enum import IntEnum
from itertools import chain, islice
from typing import NamedTuple

SHORT_S = 0.1
"""Seconds of thread time up to which a task is short."""

LEAST_RUN_S = 0.01
"""Seconds from the start of a task, unless it is idle, in which it is not interrupted."""

AHEAD_S = 0.25
CREDIT_S = 0.25
SLICE_S = 0.5
SLICE_PART = 8
LONGEST_SLICE_S = 60.0
OLDEST_EVERY = 32
METERS_KEPT = 1000
"""Meters without a task that are remembered; beyond that the one unused for longest is dropped."""

_LOOK_AGAIN_S = 0.05
_MOST_LATE = 64
_MOMENT_S = 0.001


class Purpose(IntEnum):
    """What a task is for. By `CHARGES` it decides how much is charged for a second of thread time."""

    INTERACTIVE = 0
    ANALYSIS = 1
    BOOK = 2
    BATCH = 3
    IDLE = 4


CHARGES = {
    Purpose.INTERACTIVE: (1.0, 0.5, 0.5),
    Purpose.ANALYSIS: (1.0, 1.0, 1.0),
    Purpose.BOOK: (8.0, 8.0, 8.0),
    Purpose.BATCH: (16.0, 16.0, 16.0),
}
"""Charge for a second of a thread to the key, the client, and the client's purpose. Powers of two add up exactly."""


class Task:
    """A piece of work for one to ``threads`` threads, of a ``client`` with a ``key``.

    Of the tasks of one client and purpose those of higher ``priority`` go first. A task that is not ``interruptible``
    keeps its threads until it is over; a task that ``restarts`` starts over after an interruption. Subclasses define
    `start` and `interrupt`, which the schedule never calls. Who runs the task sets ``reported`` once it has a first
    result, and releases the task after each turn. All other attributes are the schedule's.
    """

    def __init__(
        self,
        purpose: Purpose,
        key: Hashable,
        client: Hashable,
        *,
        threads: int = 1,
        priority: int = 0,
        interruptible: bool = True,
        restarts: bool = False,
        short: bool = True,
    ) -> None:
        self.purpose = purpose
        self.key = key
        self.client = client
        self.threads = threads
        self.priority = priority
        self.interruptible = interruptible
        self.restarts = restarts
        self.short = short and purpose <= Purpose.BOOK
        """Whether the task is short at first."""
        self.reported = False
        """Whether the client has a first result of this task. Set by the owner, from any thread."""
        self.waiting = False
        self.running = False
        """Whether the task holds threads; never true together with ``waiting``."""
        self.interrupted = False
        """Whether the task was told to release its threads since its last start."""
        self.granted = 0
        """Number of threads that the running task holds."""
        self.began = 0.0
        """Time of the last start."""
        self.used_s = 0.0
        """Seconds of thread time between starts and releases, the present start not included."""
        self.left_s = 0.0
        """Seconds left of the turn; while the task runs, those left at its start. Negative after a longer turn."""
        self.order = 0
        """A number that grows with the time at which the task began to wait."""
        self.lone = False
        """Whether the task, when it began to wait, had not run yet and was its client's only waiting task for the
        purpose.
        """
        self.host: Task | None = None
        """The task on whose thread this one runs as a guest; None for tasks with threads of their own."""
        self.meters: tuple[Meter, ...] = ()
        """The meters that the task charges: of its key, its client, its purpose."""

    def start(self) -> None:
        """Use the granted threads. Called from any thread; must return at once."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Release the threads soon. Called from any thread, only if the task is ``interruptible``."""
        raise NotImplementedError

    def is_short(self, now: float) -> bool:
        """Return whether the task, waiting or running, is short at ``now``: with less than `SHORT_S` of thread time
        used so far, if it can be ``short``.
        """
        ran = (now - self.began) * self.granted if self.running else 0.0
        return self.short and self.used_s + ran < SHORT_S

    def slice_s(self) -> float:
        """Return the length of the next turn, seconds: all that the task has used if it ``restarts``, else a
        `SLICE_PART`-th of that, up to `LONGEST_SLICE_S`; at least `SLICE_S`.
        """
        return max(SLICE_S, self.used_s if self.restarts else min(self.used_s / SLICE_PART, LONGEST_SLICE_S))


class Meter:
    """Measures the search time that is charged to a key, to a client of a key, or to a purpose of a client.

    Meters are nodes of a tree: keys, below them their clients, below these their purposes. The charge at the time
    ``now`` is ``base + rate * now`` seconds. A node is active while it has ``tasks``; ``bases`` and ``rates`` are the
    sums of ``base`` and ``rate`` over its active children.
    """

    def __init__(self, parent: Meter | None) -> None:
        self.parent = parent or self
        self.base = 0.0
        self.rate = 0.0
        self.short = 0.0
        """Seconds charged for short tasks; each charge first raises them to the siblings' average minus `CREDIT_S`."""
        self.tasks = 0
        """Number of tasks that wait or run."""
        self.waiting = 0
        self.queue: list[tuple[int, int, Task]] = []
        """The waiting tasks of a purpose, those of the highest priority first, of equal ones the oldest."""
        self.active = 0
        self.bases = 0.0
        self.rates = 0.0
        self.heap: list[tuple[float, int, Meter]] = []
        """Heap of children, by their charge when they were listed: all children with waiting tasks, and some
        without.
        """
        self.listed = False
        """Whether the node is in its parent's heap."""

    def charged(self, now: float) -> float:
        """Return the seconds of search charged to this node up to the time ``now``."""
        return self.base + self.rate * now

    def average(self, now: float) -> float:
        """Return the mean charge of the active children, seconds; without any, the last active child's ``base``."""
        return (self.bases + self.rates * now) / (self.active or 1)

    def hurries(self, now: float) -> bool:
        """Return whether the node's short tasks go first: its short work is at most `AHEAD_S` above its siblings'
        average charge.
        """
        return self.short <= self.parent.average(now) + AHEAD_S

    def enter(self, now: float) -> None:
        """Count a task in. The first makes the node active, charged at least the siblings' average minus `CREDIT_S`."""
        parent = self.parent
        if not self.tasks:
            self.base = max(self.base, parent.average(now) - CREDIT_S)
            parent.bases = self.base + (parent.bases if parent.active else 0.0)
            parent.active += 1
        self.tasks += 1

    def leave(self) -> None:
        """Count a task out; without tasks the node is not active."""
        parent = self.parent
        self.tasks -= 1
        if not self.tasks:
            parent.active -= 1
            parent.bases = parent.bases - self.base if parent.active else self.base

    def run(self, rate: float, now: float) -> None:
        """From ``now`` on let the charge grow faster by ``rate`` seconds a second, or slower if that is negative."""
        self.rate += rate
        self.base -= rate * now
        self.parent.rates += rate
        self.parent.bases -= rate * now

    def charge_short(self, seconds: float, now: float) -> None:
        """Add ``seconds`` to what the node's short tasks have used; what they used before counts as the siblings'
        average charge minus `CREDIT_S` at least.
        """
        self.short = max(self.short, self.parent.average(now) - CREDIT_S) + seconds

    def enlist(self, order: int, now: float) -> None:
        """List the node in its parent's heap unless it is there; of equal charges the lower ``order`` comes first."""
        parent = self.parent
        if not self.listed:
            if len(parent.heap) > 2 * parent.active + 8:
                for _, _, child in parent.heap:
                    child.listed = child.waiting > 0
                parent.heap = [entry for entry in parent.heap if entry[2].listed]
                heapq.heapify(parent.heap)
            self.listed = True
            heapq.heappush(parent.heap, (self.charged(now), order, self))

    def least(self, now: float) -> Meter:
        """Return the least charged child with waiting tasks. There must be one."""
        while True:
            charged, order, child = self.heap[0]
            if not child.waiting:
                heapq.heappop(self.heap)
                child.listed = False
            elif child.charged(now) > charged:
                # The charge has grown since it was listed: charges never fall.
                heapq.heapreplace(self.heap, (child.charged(now), order, child))
            else:
                return child


class Instructions(NamedTuple):
    """The tasks to start, the tasks to interrupt, and the latest time at which to decide again (``again``), infinite if
    only an event can change anything.
    """

    start: list[Task]
    interrupt: list[Task]
    again: float


class ThreadSchedule:
    """Decides which waiting task starts next and which running task is interrupted. Call `decide` after each event. For
    one thread at a time.
    """

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads; guests need none of their own."""
        self.slots = slots
        self.free = slots
        self.running: dict[Task, None] = {}
        self.waiting: OrderedDict[Task, None] = OrderedDict()
        """Waiting tasks except idle ones, oldest first."""
        self._idle: OrderedDict[Task, None] = OrderedDict()
        """Waiting tasks of `Purpose.IDLE`."""
        self._lone: OrderedDict[Task, None] = OrderedDict()
        self._short: OrderedDict[Task, None] = OrderedDict()
        """Waiting short tasks that go first: in ``_lone`` the lone ones, in ``_short`` the others."""
        self._late: OrderedDict[Task, None] = OrderedDict()
        """Waiting short tasks that do not go first, because their key or client is ahead of the others."""
        self._resuming: OrderedDict[Task, None] = OrderedDict()
        """Waiting tasks with a turn: they were interrupted within it, or another was interrupted for them."""
        self._jobs: OrderedDict[Task, None] = OrderedDict()
        """Waiting searches of book jobs, oldest first; each is in another of these too, or in none."""
        self._guests: dict[Task, Task] = {}
        """The guest on the thread of each host."""
        self._wanted = 0
        """Threads that the waiting tasks, except idle ones, can use."""
        self._coming = 0
        """Threads of interrupted tasks that were not released yet."""
        self._order = 0
        self._given_out = 0
        self._next_look = 0.0
        """Time of the next check for turns that are over."""
        self._root = Meter(None)
        self._meters: dict[tuple[Hashable, ...], Meter] = {}
        """Meters by name: (key,), (key, client) and (key, client, purpose)."""
        self._unused: OrderedDict[tuple[Hashable, ...], None] = OrderedDict()
        """Names of meters without a task, the one unused for longest first, children before their parents."""

    # Events

    def add(self, task: Task, now: float) -> None:
        """Let a task wait from ``now`` on; its ``threads`` are cut to the number of search threads."""
        self._order += 1
        task.order = self._order
        task.threads = min(task.threads, self.slots)
        task.waiting = True
        task.interrupted = False
        if task.purpose is Purpose.IDLE:
            self._idle[task] = None
            return
        self.waiting[task] = None
        self._wanted += task.threads
        meters, meter = [], self._root
        for name in _names(task):
            if name not in self._meters:
                self._meters[name] = Meter(meter)
            self._unused.pop(name, None)
            meter = self._meters[name]
            meter.enter(now)
            meter.waiting += 1
            meter.enlist(task.order, now)
            meters.append(meter)
        task.meters = tuple(meters)
        insort(meter.queue, (-task.priority, task.order, task))
        task.lone = not task.used_s and meter.waiting == 1 and task.purpose is not Purpose.BOOK
        if task.purpose is Purpose.BOOK:
            self._jobs[task] = None
        if task.is_short(now):
            (self._lone if task.lone else self._short)[task] = None
        elif task.left_s > 0:
            self._resuming[task] = None

    def remove(self, task: Task) -> bool:
        """Remove a waiting task. Returns False if it does not wait."""
        if not task.waiting:
            return False
        self._unlist(task)
        self._leave(task)
        return True

    def release(self, task: Task, now: float, *, again: bool = False) -> float:
        """Take back the threads of a task that has ended or was interrupted; with ``again`` it waits for another turn.

        Returns the thread time since its start, seconds; 0 if it did not run.
        """
        if not task.running:
            return 0.0
        ran = max(0.0, now - task.began)
        task.running = False
        del self.running[task]
        if task.interrupted:
            self._coming -= task.granted
        guest = self._guests.pop(task, None)
        if task.host is not None:
            del self._guests[task.host]
            task.host = None
        else:
            self.free += task.granted
            if guest is not None:
                # The guest now has the host's thread for itself.
                guest.host = None
                self.free -= guest.granted
        short = task.short and task.used_s < SHORT_S
        for meter, charge in zip(task.meters, CHARGES.get(task.purpose, ()), strict=True):
            meter.run(-task.granted * charge, now)
            if short:
                meter.charge_short(charge * min(ran * task.granted, SHORT_S), now)
        task.used_s += ran * task.granted
        task.left_s -= ran
        if again:
            self.add(task, now)
        self._leave(task)
        return ran * task.granted

    def _unlist(self, task: Task) -> None:
        task.waiting = False
        if task.purpose is Purpose.IDLE:
            del self._idle[task]
            return
        for tasks in (self.waiting, self._lone, self._short, self._late, self._resuming, self._jobs):
            tasks.pop(task, None)
        self._wanted -= task.threads
        for meter in task.meters:
            meter.waiting -= 1
        queue = task.meters[-1].queue
        del queue[bisect_left(queue, (-task.priority, task.order))]

    def _leave(self, task: Task) -> None:
        if task.purpose is Purpose.IDLE:
            return
        for name, meter in zip(reversed(_names(task)), reversed(task.meters), strict=True):
            meter.leave()
            if not meter.tasks:
                self._unused[name] = None
        while len(self._unused) > METERS_KEPT:
            name, _ = self._unused.popitem(last=False)
            # Breaks the cycle of references, so that the meter is freed at once.
            self._meters.pop(name).heap.clear()

    # Decisions

    def decide(self, now: float) -> Instructions:
        """Decide at ``now`` and return the instructions. The caller must carry them out: from now on the tasks to start
        count as running, and the tasks to interrupt as interrupted.
        """
        start: list[Task] = []
        interrupt: list[Task] = []
        again = math.inf
        self._take_idle_threads(interrupt)
        while self.free and self.waiting:
            task = self._next(now)
            if task.threads > self.free and any(other.interrupted for other in self.running if not other.meters):
                # Interrupted idle tasks release their threads in a moment.
                break
            start.append(self._start(task, now))
        while self.free and self._idle and not self.waiting:
            start.append(self._start(next(iter(self._idle)), now))
        if self.waiting and not self.free:
            if not self._coming:
                self._seat_jobs(now, start)
            again = min(self._interrupt_for_short(now, start, interrupt), self._interrupt_for_turns(now, interrupt))
        for guest in self._guests.values():
            ends = guest.began + max(guest.left_s, SHORT_S - guest.used_s)
            if now < ends:
                again = min(again, ends)
            elif guest.interruptible and not guest.interrupted:
                self._interrupt(guest, interrupt)
        return Instructions(start, interrupt, max(again, now + _MOMENT_S))

    def _next(self, now: float) -> Task:
        """Choose the waiting task that gets the next thread, and count that thread as given out. Returns the task."""
        self._given_out += 1
        if self._given_out % OLDEST_EVERY == 0:
            oldest = next(iter(self.waiting))
            ahead = any(meter.charged(now) > meter.parent.average(now) for meter in oldest.meters[:2])
            if not ahead or self._given_out % OLDEST_EVERY**2 == 0:
                return oldest
        for tasks in (self._lone, self._short):
            while tasks:
                task = next(iter(tasks))
                if self._hurries(task, now):
                    return _first(task, now)
        return next(iter(self._resuming)) if self._resuming else self._fairest(now)

    def _hurries(self, task: Task, now: float) -> bool:
        """Return whether ``task``, which is short, goes first; if it does not, move it to ``_late``."""
        key, client, _ = task.meters
        if key.hurries(now) and client.hurries(now):
            return True
        self._lone.pop(task, None)
        self._short.pop(task, None)
        self._late[task] = None
        return False

    def _fairest(self, now: float) -> Task:
        """Return the first task of the least charged purpose, of the least charged client, of the least charged key."""
        return self._root.least(now).least(now).least(now).queue[0][2]

    def _fairest_beside(self, running: Task, now: float) -> Task:
        """Return the waiting task that may follow ``running``: the fairest of its own key, unless ``running`` gives way
        to a key that was charged less, and of its client and purpose likewise.
        """
        meter = self._root
        for own in running.meters:
            fairest = meter.least(now)
            near = own.charged(now) <= fairest.charged(now) + running.slice_s() / 2
            meter = own if own.parent is meter and own.waiting and near else fairest
        return meter.queue[0][2]

    def _start(self, task: Task, now: float, host: Task | None = None) -> Task:
        if task not in self._resuming:
            # A short task has no turn beyond its first `SHORT_S`, unless it would start over.
            task.left_s = 0.0 if task.is_short(now) and not task.restarts else task.slice_s()
        self._unlist(task)
        task.running = True
        task.began = now
        self.running[task] = None
        if host is None:
            task.granted = min(task.threads, self.free)
            self.free -= task.granted
        else:
            task.granted = 1
            task.host = host
            self._guests[host] = task
        for meter, charge in zip(task.meters, CHARGES.get(task.purpose, ()), strict=True):
            meter.run(task.granted * charge, now)
        return task

    def _interrupt(self, task: Task, interrupt: list[Task]) -> None:
        task.interrupted = True
        self._coming += task.granted
        interrupt.append(task)

    def _interruptible(self) -> list[Task]:
        return [task for task in self.running if task.interruptible and not task.interrupted]

    def _take_idle_threads(self, interrupt: list[Task]) -> None:
        """Interrupt idle tasks, adding them to ``interrupt``, until the waiting tasks have threads."""
        missing = self._wanted - self.free - self._coming
        for task in self._interruptible() if missing > 0 else ():
            if missing > 0 and task.purpose is Purpose.IDLE:
                self._interrupt(task, interrupt)
                missing -= task.granted

    def _seat_jobs(self, now: float, start: list[Task]) -> None:
        """Start searches of book jobs as guests of the analyses that were charged most, if they were charged less. Adds
        them to ``start``.
        """
        for task in list(islice(self._jobs, 2 * self.slots)):
            hosts = [
                (_lag(task, running, now) or 0.0, -order, running)
                for order, running in enumerate(self._interruptible())
                if running.purpose is Purpose.ANALYSIS
                and running.host is None
                and running not in self._guests
                and not running.is_short(now)
            ]
            lag, _, host = max(hosts, default=(0.0, 0, task))
            if lag > 0:
                start.append(self._start(task, now, host))

    def _interrupt_for_short(self, now: float, start: list[Task], interrupt: list[Task]) -> float:
        """Find threads for the short tasks that go first, at most two for each search thread: interrupt running tasks,
        or start the short ones as guests of tasks that would start over.

        Adds to ``start`` and ``interrupt``. Returns the time to try again, infinite if no short task needs a thread.
        """
        again = math.inf
        for task in list(islice(chain(self._lone, self._short), self._coming, self._coming + 2 * self.slots)):
            if not self._hurries(task, now):
                continue
            again = min(again, now + LEAST_RUN_S)
            best: Task | None = None
            most = (False, 0.0, 0.0)
            for running in self._interruptible():
                if running.purpose is Purpose.IDLE or running in self._guests:
                    continue
                key, client, _ = running.meters
                hosts = running.restarts and running.host is None
                whole = hosts or not (task.purpose is Purpose.BOOK or running.is_short(now))
                first = task.lone and running.reported and not running.used_s and client is not task.meters[1]
                if not whole and not first:
                    continue
                if not hosts and now < running.began + LEAST_RUN_S:
                    again = min(again, running.began + LEAST_RUN_S)
                    continue
                lead = (whole, key.charged(now), client.charged(now))
                if best is None or lead > most:
                    best, most = running, lead
            if best is None:
                break
            if best.restarts and best.host is None:
                start.append(self._start(_first(task, now), now, best))
            else:
                self._interrupt(best, interrupt)
        return again

    def _interrupt_for_turns(self, now: float, interrupt: list[Task]) -> float:
        """Interrupt at most one task whose turn is over, in favour of the waiting task that was charged least.

        Returns the time of the next call that can have an effect; infinity if no task waits, or while interrupted tasks
        still hold threads.
        """
        if self._coming or not self.waiting:
            return math.inf
        if now < self._next_look:
            return self._next_look
        self._next_look = now + _LOOK_AGAIN_S
        for late in list(islice(self._late, _MOST_LATE)):
            del self._late[late]
            if self._hurries(late, now):
                self._short[late] = None
        best: tuple[Task, Task] | None = None
        most = 0.0
        for running in self._interruptible():
            if running.purpose is Purpose.IDLE or running.host is not None or running.is_short(now):
                continue
            ends = running.began + running.left_s
            task = self._fairest_beside(running, now)
            lag = _lag(task, running, now)
            if lag is None:
                equal = task.priority == running.priority and not running.restarts
                lag = math.inf if equal or task.priority > running.priority else 0.0
                ends += LONGEST_SLICE_S if equal else 0.0
            if now < ends:
                self._next_look = min(self._next_look, ends)
            elif lag > max(most, SHORT_S if task.is_short(now) or running.used_s < SHORT_S else running.slice_s() / 2):
                # With a smaller lag the two tasks would only change places again and again.
                best, most = (task, running), lag
        if best is not None:
            task, running = best
            self._interrupt(running, interrupt)
            if not task.is_short(now):
                # The thread is for this task, which may not be the fairest of all.
                task.left_s = task.slice_s()
                self._resuming[task] = None
        return self._next_look


def _names(task: Task) -> tuple[tuple[Hashable, ...], ...]:
    """Return the names of a task's meters: of its key, its client, its purpose."""
    return (task.key,), (task.key, task.client), (task.key, task.client, task.purpose)


def _first(task: Task, now: float) -> Task:
    """Return the waiting task of ``task``'s client and purpose that comes first by priority, or ``task`` itself if that
    one is not short.
    """
    first = task.meters[-1].queue[0][2]
    return first if first.is_short(now) else task


def _lag(task: Task, other: Task, now: float) -> float | None:
    """Return how many seconds more ``other``'s key was charged than ``task``'s. If they have the same key, their
    clients are compared; if also the same client, their purposes.

    Returns None if these are the same too.
    """
    for mine, theirs in zip(task.meters, other.meters, strict=True):
        if mine is not theirs:
            return theirs.charged(now) - mine.charged(now)
    return None
