"""The scheduler of search threads: applies the instructions of a `schedule.ThreadSchedule` to threads.

A `Task` waits after `Scheduler.add`, is started when its turn comes, and holds its threads until `Scheduler.release`.
After an interruption its owner releases it soon, with ``again`` if it is not over.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from desdaemon.core.metrics import Accounts
from desdaemon.core.threads import begin

from .loader import Abandoned
from .schedule import Instructions, Purpose, Task, ThreadSchedule

__all__ = ["Lease", "Purpose", "Scheduler", "Task"]

_POLL_S = 0.01


class Lease(Task):
    """A task of a thread that waits for its turn itself; see `Scheduler.turn_of`.

    Without ``on_interrupt`` it keeps its threads until it is over.
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
    ) -> None:
        interruptible = on_interrupt is not None
        super().__init__(purpose, key, client, threads=threads, interruptible=interruptible, restarts=restarts)
        self.again = False
        """Whether to wait for another turn when this one ends; its thread sets it within `Scheduler.turn_of`."""
        self.news = threading.Event()
        """Set when its turn begins."""
        self._on_interrupt = on_interrupt

    def start(self) -> None:
        """See `Task.start`."""
        self.news.set()

    def interrupt(self) -> None:
        """See `Task.interrupt`."""
        assert self._on_interrupt is not None
        self._on_interrupt()


class Scheduler:
    """Applies the instructions of a `ThreadSchedule` to threads. Every method may be called from any thread."""

    def __init__(self, slots: int) -> None:
        """``slots`` is the number of search threads."""
        self.slots = slots
        self.accounts = Accounts()
        self._schedule = ThreadSchedule(slots)
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._again = math.inf
        self._clocked = False
        """Whether the thread that waits for ``_again`` was started."""

    @property
    def queued(self) -> int:
        """The number of waiting tasks, except those for idle threads."""
        return len(self._schedule.waiting)

    @property
    def running(self) -> int:
        """The number of running tasks, except those on idle threads."""
        with self._lock:
            return sum(task.purpose is not Purpose.IDLE for task in self._schedule.running)

    def add(self, task: Task) -> None:
        """Add a task; it may be started before this returns. It may be added again once released."""
        with self._lock:
            now = time.monotonic()
            self._schedule.add(task, now)
            instructions = self._decide(now)
        _carry_out(instructions)

    def remove(self, task: Task) -> bool:
        """Remove a waiting task. Returns False if it has been started."""
        with self._lock:
            if not self._schedule.remove(task):
                return False
            instructions = self._decide(time.monotonic())
        _carry_out(instructions)
        return True

    def release(self, task: Task, *, again: bool = False) -> None:
        """Release the threads of a task, if it has any; with ``again`` it waits for its next turn."""
        with self._lock:
            now = time.monotonic()
            self.accounts.ran(task.key, self._schedule.release(task, now, again=again))
            instructions = self._decide(now)
        _carry_out(instructions)

    def drop(self, task: Task) -> None:
        """Remove a task, waiting or running."""
        self.remove(task)
        self.release(task)

    def _decide(self, now: float) -> Instructions:
        instructions = self._schedule.decide(now)
        if instructions.again < self._again:
            self._again = instructions.again
            if not self._clocked:
                self._clocked = True
                begin(self._look_again, "scheduler")
            else:
                self._news.notify()
        return instructions

    def _look_again(self) -> None:
        """Decide each time that the last decision asked for. The loop of a thread."""
        while True:
            with self._lock:
                while (wait := self._again - time.monotonic()) > 0:
                    self._news.wait(wait if wait < threading.TIMEOUT_MAX else None)
                self._again = math.inf
                instructions = self._decide(time.monotonic())
            _carry_out(instructions)

    @contextmanager
    def turn_of(self, lease: Lease, abandoned: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Make a context in which the calling thread may use the lease's search threads; entering it waits for them.

        `Lease.again` asks for the next turn. ``abandoned`` is called at intervals: soon after it returns true, raises
        `Abandoned`.
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
