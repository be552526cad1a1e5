"""The run queue: decides which task runs next. A state machine without threads, clocks or I/O.

Events go in, each with its time: `RunQueue.add`, `remove`, `release`. `RunQueue.decide` returns instructions: tasks to
start, tasks to interrupt, and when to decide again if nothing happens until then. Times are seconds of any clock.

Thread time is shared equally between keys, a key's between its clients, a client's between purposes by weight
(`shares`). Two rules are added. First, a task that has run for less than `SHORT_S` altogether is *short*: it runs first
and interrupts tasks that are not short, as long as its key and its client have not had more short work than their
share. So a short question is answered at once on a busy machine, and many short questions do not give a client more
than its share. A task interrupted by a short one keeps its turn and is resumed before others are started; one that
would have to start over is not interrupted, but the short task runs beside it, as its *guest*, until it is no longer
short. Second, short tasks share the threads among each other by a *first turn*: one that runs for the first time gives
way, once it has a first result and has run for `LEAST_RUN_S`, to a *lone* one, which came while no other of its
client waited, and goes on as a short one later. So clients that ask at the same moment all have a first result soon. It
happens to a task only once, never for one of its own client, and not for clients that keep many tasks waiting: an
exchange costs work. Third, a turn lasts an eighth of the time that the task has run so far, at least `SLICE_S`, because
an interruption costs some of the work done. Tasks of `Purpose.IDLE` have no turn: they are interrupted as soon as
another task can use their threads.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.core.story import Story

from .shares import (
    AGEING_S,
    ALL,
    CHARGES,
    KEY_CHARGES,
    KINDS,
    LONE,
    SHORT,
    SHORT_S,
    Lane,
    Purpose,
    QueuedTask,
    TimeShare,
)

LEAST_RUN_S = 0.01
"""Nothing is interrupted sooner after its start, but for tasks that use idle threads."""

_LOOK_AGAIN_S = 0.05
_MOMENT_S = 0.001
_LATE_S = _LOOK_AGAIN_S
"""What a task has until it gives way, once it is short no more, counts as short work up to this."""

_MOST_TRIED = 16
_NEVER = math.inf


class Decision(NamedTuple):
    """Tasks to start, tasks to interrupt (their owner then releases them), and the latest time of the next decision."""

    start: list[QueuedTask]
    interrupt: list[QueuedTask]
    again: float


class RunQueue:
    """Decides which waiting task runs next and which running task is interrupted. For one thread at a time."""

    def __init__(self, slots: int, key_share: int = 100) -> None:
        """``slots`` threads may run at a time, of one key at most ``key_share`` percent of them, but at least one."""
        self.story = Story("run queue")
        self.slots = slots
        self.free = slots
        self.waiting = 0
        self.running: dict[QueuedTask, None] = {}
        self._most = min(slots, max(1, slots * key_share // 100))
        self._root = TimeShare("", None)
        self._order = 0
        self._coming = 0
        """Threads of running tasks that have been interrupted."""
        self._idle_coming = 0
        """Those among them that are idle tasks'."""
        self.idle_waiting = 0
        self.idle_running = 0
        """Tasks of `Purpose.IDLE`, among those that wait and run."""
        self._wanted = 0
        """Threads that all other waiting tasks would like to have."""
        self._resuming: deque[tuple[int, QueuedTask]] = deque()
        self._idle: deque[tuple[int, QueuedTask]] = deque()
        self._reserved: deque[tuple[int, QueuedTask]] = deque()
        self._guests: dict[QueuedTask, None] = {}
        self._arrived: list[QueuedTask] = []
        """Short tasks that came since the last decision."""
        self._next_look = [0.0, 0.0]
        """When to look again for running tasks that can be interrupted for any task, and for a short one."""
        self._left: list[QueuedTask] = []
        """Hosts whose guest was interrupted and has left since the last decision."""

    # Events

    def add(self, task: QueuedTask, now: float) -> None:
        """Add a task that waits from ``now`` on."""
        task.threads = min(task.threads, self._most)
        task.least = min(task.least, task.threads)
        self._order += 1
        task.order = self._order
        self.story.add("add", task.order, task.client, now)
        task.since = now
        task.waiting = True
        task.interrupted = task.reserved = False
        task.turn_of = None
        self.waiting += 1
        if task.purpose is Purpose.IDLE:
            self.idle_waiting += 1
            self._idle.append((task.order, task))
            return
        lane = task.lane = self._lane(task)
        if not task.is_short(now):
            task.kind = ALL
        else:
            task.kind = SHORT if task.used_s or lane.waiting[ALL] else LONE
        lane.put(task)
        self._wanted += task.threads
        lane.key.wanted += task.threads
        for share in reversed(lane.chain):
            assert share.parent is not None
            if not share.entered:
                share.parent.enter(share, now)
            share.count(task.kind, 1)
            for kind in KINDS[: task.kind + 1]:
                share.parent.list_child(share, kind, now)
        self._root.count(task.kind, 1)
        if task.short:
            self._arrived.append(task)
        elif 0 < task.turn_s < task.slice_s():
            self._resuming.append((task.order, task))
            if len(self._resuming) > self.slots:
                self._resuming.popleft()

    def _lane(self, task: QueuedTask) -> Lane:
        share = self._root
        for name in (task.key, task.client):
            child = share.children.get(name)
            if child is None:
                child = share.children[name] = TimeShare(name, share)
            share = child
        lane = share.children.get(task.purpose)
        if lane is None:
            lane = share.children[task.purpose] = Lane(task.purpose, share)
        assert isinstance(lane, Lane)
        return lane

    def remove(self, task: QueuedTask, now: float) -> bool:
        """Remove a waiting task. Returns False when it does not wait."""
        if not task.waiting:
            return False
        self.story.add("remove", task.order, now)
        self._unlist(task)
        if task.purpose is not Purpose.IDLE and task.lane is not None:
            self._leave(task.lane, now)
        return True

    def _unlist(self, task: QueuedTask) -> None:
        task.waiting = False
        self.waiting -= 1
        if task.purpose is Purpose.IDLE:
            self.idle_waiting -= 1
            return
        assert task.lane is not None
        self._wanted -= task.threads
        task.lane.key.wanted -= task.threads
        for share in (*task.lane.chain, self._root):
            if task.reserved:
                share.reserved -= 1
            else:
                share.count(task.kind, -1)

    def _leave(self, lane: Lane, now: float) -> None:
        if not lane.waiting[ALL]:
            lane.clear()
        for share in reversed(lane.chain):
            if share.active or not share.entered:
                break
            assert share.parent is not None
            share.parent.leave(share, now)

    def release(self, task: QueuedTask, now: float, *, again: bool = False) -> float:
        """Take the threads of a task that has ended or was interrupted. Returns the thread time of its turn, 0 when it
        did not run.

        With ``again`` it waits for its next turn, and its client does not count as newly active.
        """
        if not task.running:
            return 0.0
        self.story.add("release", task.order, now)
        ran = max(0.0, now - task.began)
        task.running = False
        del self.running[task]
        self._coming -= task.coming
        if task.purpose is Purpose.IDLE:
            self.idle_running -= 1
            self._idle_coming -= task.coming
        task.coming = 0
        self._part(task)
        lane = task.lane
        if task.purpose is not Purpose.IDLE and lane is not None:
            short_s = min(ran * task.granted, SHORT_S - task.used_s + _LATE_S) if task.short else 0.0
            for share in lane.chain:
                charge = self._charge(share, task)
                share.charge(-task.granted, -task.granted * charge, now)
                if task.short:
                    share.short_running -= 1
                    share.charge_short(charge * max(0.0, short_s), now)
            if lane.key.capped:
                lane.key.capped = False
                self._list_again(lane.key, now)
        task.used_s += ran * task.granted
        # What was short has had no turn yet.
        task.turn_s = 0.0 if task.short else task.turn_s + ran
        if task.turn_of is not None:
            task.turn_of.turn_s += ran
            task.turn_of = None
        if again:
            self.add(task, now)
        if task.purpose is not Purpose.IDLE and lane is not None:
            self._leave(lane, now)
        return ran * task.granted

    def _part(self, task: QueuedTask) -> None:
        """Free the threads of a task that has ended, without those that its guests still use."""
        host, guest = task.host, task.guest
        task.host = task.guest = None
        self._guests.pop(task, None)
        if host is not None:
            host.guest = None
            self._next_look[SHORT] = 0.0
            if task.interrupted:
                self._left.append(host)
            return
        self.free += task.granted
        if guest is not None:
            # Now it has the thread to itself.
            guest.host = None
            del self._guests[guest]
            self.free -= guest.granted

    def _charge(self, share: TimeShare, task: QueuedTask) -> float:
        return (KEY_CHARGES if share.parent is self._root else CHARGES)[task.purpose]

    def _list_again(self, key: TimeShare, now: float) -> None:
        for kind in KINDS:
            if key.waiting[kind]:
                self._root.list_child(key, kind, now)

    # Decisions

    def decide(self, now: float) -> Decision:
        """The instructions for the time ``now``."""
        decision = Decision([], [], _NEVER)
        for host in self._left:
            task = self._next_reserved() if not self.free and host.running and host.guest is None else None
            if task is not None and task.least == 1:
                self._start(task, now, host=host)
                decision.start.append(task)
        self._left.clear()
        while self.waiting and self.free:
            task = self._next(now)
            if task is None:
                break
            if task.threads > self.free and self._take_idle_threads(decision.interrupt):
                break
            if task.least > self.free:
                self._interrupt_for_several(task, now, decision.interrupt)
                decision = decision._replace(again=now + LEAST_RUN_S)
                break
            self._start(task, now)
            decision.start.append(task)
        if self.waiting and not self.free:
            again = self._interrupt_for_short(now, decision)
            self._take_idle_threads(decision.interrupt)
            if self._root.waiting[ALL] and not self._coming:
                again = min(again, self._interrupt_for_any(now, decision.interrupt))
            decision = decision._replace(again=again)
        self._arrived.clear()
        if self._guests:
            again = self._interrupt_long_guests(now, decision.interrupt)
            decision = decision._replace(again=min(again, decision.again))
        return decision

    def _next(self, now: float) -> QueuedTask | None:
        """The task that gets the next thread."""
        return (
            self._next_reserved()
            or self._next_short(now)
            or self._next_resumed()
            or self._next_of_all(now)
            or self._next_idle()
        )

    def _next_reserved(self) -> QueuedTask | None:
        while self._reserved:
            order, task = self._reserved[0]
            if task.waiting and task.reserved and task.order == order:
                return task
            self._reserved.popleft()
        return None

    def _next_short(self, now: float) -> QueuedTask | None:
        """The first short task whose key and client are within their share of short work."""
        root = self._root
        found: QueuedTask | None = None
        aside: list[TimeShare] = []
        while found is None and len(aside) < _MOST_TRIED and (key := root.least(SHORT, now)) is not None:
            client = key.least(SHORT, now)
            assert client is not None
            if key.may_hurry(now) and client.may_hurry(now):
                task = self._of_client(client, SHORT, now)
                found = self._within_cap(key, self._lone_before(task, key, now))
            if found is None:
                aside.append(root.set_aside(SHORT))
        for key in aside:
            root.list_child(key, SHORT, now)
        return found

    def _lone_before(self, task: QueuedTask, key: TimeShare, now: float) -> QueuedTask:
        """A short task, or instead of one that has had its first turn a lone one of the same key."""
        client = key.least(LONE, now) if task.used_s else None
        return self._of_client(client, LONE, now) if client is not None and client.may_hurry(now) else task

    def _next_resumed(self) -> QueuedTask | None:
        while self._resuming:
            order, task = self._resuming[0]
            if task.waits_as(order) and task.turn_s < task.slice_s():
                assert task.lane is not None
                return task if self._fits(task.lane.key, task) else None
            self._resuming.popleft()
        return None

    def _next_of_all(self, now: float) -> QueuedTask | None:
        while (key := self._root.least(ALL, now)) is not None:
            client = key.least(ALL, now)
            assert client is not None
            task = self._within_cap(key, self._of_client(client, ALL, now))
            if task is not None:
                return task
        return None

    def _next_idle(self) -> QueuedTask | None:
        while self._idle:
            order, task = self._idle[0]
            if task.waits_as(order):
                return task
            self._idle.popleft()
        return None

    def _of_client(self, client: TimeShare, kind: int, now: float) -> QueuedTask:
        lane = client.least(kind, now)
        assert isinstance(lane, Lane)
        return lane.next(kind, now)

    def _within_cap(self, key: TimeShare, task: QueuedTask) -> QueuedTask | None:
        """The task, unless its key has as many threads as it may have; then the key is left out until one is free.

        Where no thread is free at all, the task may interrupt another of its key.
        """
        if not self.free or self._fits(key, task):
            return task
        key.capped = True
        return None

    def _fits(self, key: TimeShare, task: QueuedTask) -> bool:
        return self._most == self.slots or key.threads + task.least <= self._most

    def _start(self, task: QueuedTask, now: float, host: QueuedTask | None = None) -> None:
        resumed = bool(self._resuming) and self._resuming[0][1] is task
        self._unlist(task)
        available = self.free
        if task.purpose is not Purpose.IDLE:
            assert task.lane is not None
            available = min(available, max(task.least, self._most - task.lane.key.threads))
        task.granted = 1 if host is not None else min(task.threads, available)
        if task.purpose is not Purpose.IDLE:
            assert task.lane is not None
            task.lane.count_start()
            for share in task.lane.chain:
                share.charge(task.granted, task.granted * self._charge(share, task), now)
                share.short_running += task.short
        if not resumed:
            task.turn_s = 0.0
        task.reserved = False
        task.running = True
        self.story.add("start", task.order, task.granted, now)
        task.began = now
        self.running[task] = None
        self.idle_running += task.purpose is Purpose.IDLE
        if host is not None:
            task.host, host.guest = host, task
            self._guests[task] = None
        else:
            self.free -= task.granted
            if task.short:
                over = now + (SHORT_S - task.used_s) / task.granted + _MOMENT_S
                self._next_look[ALL] = min(self._next_look[ALL], over)

    # Interruptions

    def _candidates(self, task: QueuedTask, *, guests: bool = False) -> Iterator[QueuedTask]:
        """Running tasks, with ``guests`` these too, that may be interrupted for another one, as far as quotas go."""
        assert task.lane is not None
        key = task.lane.key
        own = not self._fits(key, task)
        for running in self.running:
            if running.interruptible and not running.interrupted and (guests or running.host is None):
                mine = running.lane is not None and running.lane.key is key
                if mine or not own:
                    yield running

    def _interrupt(self, task: QueuedTask, interrupt: list[QueuedTask]) -> None:
        task.interrupted = True
        self.story.add("interrupt", task.order)
        if task.host is None:
            task.coming = task.granted
            self._coming += task.coming
            if task.purpose is Purpose.IDLE:
                self._idle_coming += task.coming
        interrupt.append(task)

    def _take_idle_threads(self, interrupt: list[QueuedTask]) -> bool:
        """Interrupt idle tasks until the waiting tasks have enough threads. Returns whether any of these are coming."""
        if not self.idle_running:
            return False
        missing = self._usable() - self.free - self._coming
        for running in self.running:
            if missing <= 0:
                break
            if running.purpose is Purpose.IDLE and running.interruptible and not running.interrupted:
                self._interrupt(running, interrupt)
                missing -= running.granted
        return self._idle_coming > 0

    def _usable(self) -> int:
        """The number of further threads that the waiting tasks could use within their quotas."""
        if self._most == self.slots:
            return self._wanted
        return sum(min(key.wanted, max(0, self._most - key.threads)) for key in self._root.children.values())

    def _interrupt_long_guests(self, now: float, interrupt: list[QueuedTask]) -> float:
        """Interrupt guests that are no longer short. Returns when the next one will be."""
        soonest = _NEVER
        for task in self._guests:
            if task.is_short(now):
                soonest = min(soonest, task.began + SHORT_S - task.used_s + _MOMENT_S)
            elif task.interruptible and not task.interrupted:
                self._interrupt(task, interrupt)
        return soonest

    def _interrupt_for_short(self, now: float, decision: Decision) -> float:
        """Interrupt running tasks for short ones that wait. Returns when to try again."""
        for task in self._arrived:
            if task.waits_as(task.order):
                self._reserve_thread(task, now, decision)
        root = self._root
        if not root.waiting[SHORT]:
            return _NEVER
        if now < self._next_look[SHORT]:
            return self._next_look[SHORT]
        for kind in (LONE, SHORT):
            aside: list[TimeShare] = []
            while len(aside) < _MOST_TRIED and (key := root.least(kind, now)) is not None:
                client = key.least(kind, now)
                assert client is not None
                if not self._reserve_thread(self._of_client(client, kind, now), now, decision):
                    aside.append(root.set_aside(kind))
            for key in aside:
                root.list_child(key, kind, now)
        self._next_look[SHORT] = self._first_turn_over(now)
        return self._next_look[SHORT] if root.waiting[SHORT] else _NEVER

    def _first_turn_over(self, now: float) -> float:
        """The time at which the next of the running tasks has run for `LEAST_RUN_S`; at most that much from now on."""
        over = min(
            (running.began + LEAST_RUN_S for running in self.running if now < running.began + LEAST_RUN_S),
            default=_NEVER,
        )
        return min(max(over, now + _MOMENT_S), now + LEAST_RUN_S)

    def _reserve_thread(self, task: QueuedTask, now: float, decision: Decision) -> bool:
        """Interrupt a running task and reserve its thread for a short one. Returns whether one could be interrupted."""
        lane = task.lane
        assert lane is not None
        of_key = lane.client.may_hurry(now)
        of_all = of_key and lane.key.may_hurry(now)
        best: QueuedTask | None = None
        most = (False, 0.0, 0.0)
        for running in self._candidates(task, guests=task.kind == LONE and task.least == 1):
            theirs = running.lane
            if running.purpose is Purpose.IDLE or theirs is None:
                lead = (True, 0.0, 0.0)
            elif not self._gives_way(running, task, now):
                continue
            elif of_all or theirs.client is lane.client or (of_key and theirs.key is lane.key):
                # Within one key or client others lose nothing.
                lead = (False, theirs.key.charged_at(now), theirs.client.charged_at(now))
            else:
                continue
            if best is None or lead > most:
                best, most = running, lead
        if best is None:
            return False
        if best.restarts and best.purpose is not Purpose.IDLE and best.host is None:
            self._start(task, now, host=best)
            decision.start.append(task)
            return True
        if not of_all and not best.short:
            task.turn_of = best
        for share in (*lane.chain, self._root):
            share.count(task.kind, -1)
            share.reserved += 1
        task.reserved = True
        self._reserved.append((task.order, task))
        self._interrupt(best, decision.interrupt)
        return True

    def _gives_way(self, running: QueuedTask, task: QueuedTask, now: float) -> bool:
        """Whether a running task may be interrupted for a short one at ``now``, shares not considered."""
        if running.restarts and running.host is None:
            return running.guest is None
        if now < running.began + LEAST_RUN_S:
            return False
        if running.short and self._overdue(running, task, now):
            return False
        if not running.is_short(now):
            return True
        if task.kind == LONE and not running.used_s and running.reported and not running.restarts:
            return running.lane is not task.lane
        if running.host is not None:
            return False
        # Otherwise one short task interrupts another only where its key, or else client, is far behind.
        lag = self._lag(task, running, now)
        return lag is not None and lag > SHORT_S

    def _overdue(self, running: QueuedTask, task: QueuedTask, now: float) -> bool:
        """Whether the thread of a short task is due to others than the key, or the client, that both tasks are of.

        Short tasks have no turns that end: handed from each to the next, a thread would never come to the others.
        """
        assert task.lane is not None
        assert running.lane is not None
        for mine, theirs in zip(task.lane.chain, running.lane.chain, strict=True):
            if mine is not theirs:
                return False
            assert mine.parent is not None
            least = mine.parent.least(ALL, now)
            if least is not None and mine.charged_at(now) - least.charged_at(now) > SHORT_S:
                return True
        return False

    def _lag(self, task: QueuedTask, running: QueuedTask, now: float) -> float | None:
        """By how many seconds the task's key, or else client, or else purpose was charged less than the running one's;
        None within one purpose.
        """
        assert task.lane is not None
        assert running.lane is not None
        for mine, theirs in zip(task.lane.chain, running.lane.chain, strict=True):
            if mine is not theirs:
                return theirs.charged_at(now) - mine.charged_at(now)
        return None

    def _interrupt_for_any(self, now: float, interrupt: list[QueuedTask]) -> float:
        """Interrupt a task that has used its turn for the next waiting one. Returns when to try again."""
        if now < self._next_look[ALL]:
            return self._next_look[ALL]
        task = self._next_of_all(now)
        if task is None:
            return _NEVER
        soonest = now + _LOOK_AGAIN_S
        best: QueuedTask | None = None
        most = 0.0
        due = 0
        for running in self._candidates(task):
            if running.purpose is Purpose.IDLE:
                best = running
                break
            if running.is_short(now):
                over = running.began + (SHORT_S - running.used_s) / running.granted + _MOMENT_S
                soonest = min(soonest, max(over, now + _MOMENT_S))
                continue
            after, lag = self._turn_ends(task, running, now)
            if after > now:
                soonest = min(soonest, after)
            elif lag > 0:
                due += 1
                if lag > most:
                    best, most = running, lag
        if best is not None:
            self._interrupt(best, interrupt)
        if due > 1:
            soonest = now + _MOMENT_S
        self._next_look[ALL] = soonest
        return soonest

    def _turn_ends(self, task: QueuedTask, running: QueuedTask, now: float) -> tuple[float, float]:
        """The end of a running task's turn as compared with a waiting one, and by how many seconds it is ahead in
        charged time.
        """
        slice_s = running.slice_s()
        lag = self._lag(task, running, now)
        if lag is not None and running.short:
            # It was started because it was short; a turn it has to wait for.
            return now, lag - SHORT_S
        if lag is not None:
            # Less would only exchange the two, and the one that waits may have no other task to make up for it.
            lag -= slice_s / 2
        elif task.priority > running.priority:
            lag = _NEVER
        else:
            slice_s = max(slice_s, AGEING_S)
            lag = now - task.since - AGEING_S
        return running.began - running.turn_s + slice_s, lag

    def _interrupt_for_several(self, task: QueuedTask, now: float, interrupt: list[QueuedTask]) -> None:
        """Interrupt as many tasks as a task of several threads needs."""
        if task.lane is None:
            return
        for running in list(self._candidates(task)):
            if self.free + self._coming >= task.least:
                return
            if running.purpose is Purpose.IDLE or now - running.began >= LEAST_RUN_S:
                self._interrupt(running, interrupt)
