"""The scheduler: applies the decisions of a `schedule.ThreadSchedule` to threads.

A `Task` waits after `Scheduler.add`, is started when its turn comes, and holds its threads until `Scheduler.release`.
An interrupted task is released by its owner soon, with ``again`` if it is not over.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from desdaemon.core.metrics import Accounts
from desdaemon.protocol.system.threads import begin

from .loader import Abandoned
from .schedule import Instructions, Purpose, Task, ThreadSchedule

__all__ = ["Lease", "Purpose", "Scheduler", "Task"]

_POLL_S = 0.01


class Lease(Task):
    """The task of a thread that searches by itself when its turn has come, in `Scheduler.turn_of`.

    ``on_interrupt`` is called, from any thread, to end the turn early; without it the turn is not interrupted.
    """

    def __init__(
        self,
        purpose: Purpose,
        key: Hashable,
        client: Hashable,
        on_interrupt: Callable[[], None] | None = None,
        *,
        threads: int = 1,
        restarts: bool = False,
        short: bool = True,
    ) -> None:
        interruptible = on_interrupt is not None
        super().__init__(
            purpose, key, client, threads=threads, interruptible=interruptible, restarts=restarts, short=short
        )
        self.again = False
        """Whether the task needs another turn; set by its thread within `Scheduler.turn_of`."""
        self.news = threading.Event()
        """Set when the turn begins."""
        self._on_interrupt = on_interrupt

    def start(self) -> None:
        self.news.set()

    def interrupt(self) -> None:
        assert self._on_interrupt is not None
        self._on_interrupt()


class Scheduler:
    """Applies the decisions of a `ThreadSchedule` to threads. Any thread may call the methods."""

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads."""
        self.slots = slots
        self.accounts = Accounts()
        self._schedule = ThreadSchedule(slots)
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._again = math.inf
        self._clocked = False
        """Whether the thread that runs `_look_again` was started."""

    @property
    def queued(self) -> int:
        """The number of waiting tasks, idle ones not counted."""
        return len(self._schedule.waiting)

    @property
    def running(self) -> int:
        """The number of running tasks, idle ones not counted."""
        with self._lock:
            return sum(task.purpose is not Purpose.IDLE for task in self._schedule.running)

    def add(self, task: Task) -> None:
        """Add a task; it may be started before this returns. A released task may be added again."""
        with self._lock:
            now = time.perf_counter()
            self._schedule.add(task, now)
            instructions = self._decide(now)
        _carry_out(instructions)

    def remove(self, task: Task) -> bool:
        """Remove a waiting task. Returns False, having done nothing, if the task does not wait."""
        with self._lock:
            if not self._schedule.remove(task):
                return False
            instructions = self._decide(time.perf_counter())
        _carry_out(instructions)
        return True

    def release(self, task: Task, *, again: bool = False) -> None:
        """Take back a running task's threads and charge their time to its key; with ``again`` the task waits for
        another turn. Nothing happens to a task that does not run.
        """
        with self._lock:
            now = time.perf_counter()
            self.accounts.ran(task.key, self._schedule.release(task, now, again=again))
            instructions = self._decide(now)
        _carry_out(instructions)

    def drop(self, task: Task) -> None:
        """Remove a task, whether it waits or runs. Its threads count as free at once."""
        self.remove(task)
        self.release(task)

    def _decide(self, now: float) -> Instructions:
        instructions = self._schedule.decide(now)
        if instructions.again < self._again:
            self._again = instructions.again
            if not self._clocked:
                try:
                    begin(self._look_again, "scheduler")
                    self._clocked = True
                except RuntimeError:
                    # Without memory for a thread: until there is some, turns end with the next event.
                    self._again = math.inf
            else:
                self._news.notify()
        return instructions

    def _look_again(self) -> None:
        """Loop for ever, on a thread: decide again at the time that the latest decision has named."""
        while True:
            with self._lock:
                while (wait := self._again - time.perf_counter()) > 0:
                    self._news.wait(wait if wait < threading.TIMEOUT_MAX else None)
                self._again = math.inf
                instructions = self._decide(time.perf_counter())
            _carry_out(instructions)

    @contextmanager
    def turn_of(self, lease: Lease, abandoned: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Return a context manager: within the block the calling thread may use the threads granted to ``lease``.
        Entering waits for the turn. If the block sets `Lease.again`, the lease waits for another turn after the block:
        call `turn_of` with it again, or `drop`.

        ``abandoned`` is called at intervals while waiting; once it returns true, `Abandoned` is raised unless the turn
        has just begun.
        """
        if not (lease.waiting or lease.running):
            self.add(lease)
        try:
            while not lease.running:
                if abandoned() and self.remove(lease):
                    raise Abandoned
                lease.news.wait(_POLL_S)
                lease.news.clear()
            yield
        finally:
            again, lease.again = lease.again, False
            self.remove(lease)
            self.release(lease, again=again)


def _carry_out(instructions: Instructions) -> None:
    for task in instructions.interrupt:
        task.interrupt()
    for task in instructions.start:
        task.start()
