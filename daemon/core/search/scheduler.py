"""The scheduler of search threads: `run_queue` decides, `Scheduler` applies the decisions to threads.

Work is a `SearchTask`. It waits from `Scheduler.add` on, is started when its turn comes, and holds its threads until
`Scheduler.release`; when it is interrupted, it releases them soon and is added again.
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from desdaemon.core.threads import begin

from .accounts import Accounts
from .loader import Abandoned
from .run_queue import Decision, RunQueue
from .shares import Purpose, QueuedTask

__all__ = ["CallbackTask", "Purpose", "Scheduler", "SearchTask"]

_POLL_S = 0.01


class SearchTask(QueuedTask, ABC):
    """A task that the scheduler starts and interrupts; see `QueuedTask`.

    A base class rather than an object with callbacks: a search and a task that refer to each other would be freed by
    the garbage collector alone, minutes later.
    """

    again = False
    """Set within `Scheduler.turn_of`: it is to wait for its next turn as soon as this one ends."""

    @abstractmethod
    def start(self) -> None:
        """Begin a turn. Called from any thread when it comes; must return at once."""

    @abstractmethod
    def interrupt(self) -> None:
        """Release the threads soon. Called from any thread, and only where the task is ``interruptible``."""


class CallbackTask(SearchTask):
    """A task whose turns are callbacks; a task without ``on_interrupt`` keeps its threads until it is over."""

    def __init__(
        self,
        purpose: Purpose,
        key: Hashable,
        client: Hashable,
        on_start: Callable[[], None],
        on_interrupt: Callable[[], None] | None,
        *,
        threads: int = 1,
        least: int = 1,
        priority: int = 0,
        restarts: bool = False,
    ) -> None:
        super().__init__(
            purpose,
            key,
            client,
            threads=threads,
            least=least,
            priority=priority,
            interruptible=on_interrupt is not None,
            restarts=restarts,
        )
        self.on_start = on_start
        self.on_interrupt = on_interrupt

    def start(self) -> None:
        """See `SearchTask.start`."""
        self.on_start()

    def interrupt(self) -> None:
        """See `SearchTask.interrupt`."""
        assert self.on_interrupt is not None
        self.on_interrupt()


class Scheduler:
    """Applies the decisions of a `RunQueue` to threads. Every method may be called from any thread."""

    def __init__(self, slots: int, key_share: int = 100) -> None:
        """``slots`` is the number of search threads; one key gets at most ``key_share`` percent of them."""
        self.slots = slots
        self.accounts = Accounts()
        self._queue = RunQueue(slots, key_share)
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._again = math.inf
        self._clocked = False
        """Whether the thread that waits for ``_again`` was begun."""

    def story(self) -> str:
        """The last events of the queue, for bug reports."""
        return self._queue.story.text()

    @property
    def queued(self) -> int:
        """The number of waiting items, those for idle threads excepted."""
        return self._queue.waiting - self._queue.idle_waiting

    @property
    def running(self) -> int:
        """The number of running items, those on idle threads excepted."""
        return len(self._queue.running) - self._queue.idle_running

    def add(self, item: SearchTask) -> None:
        """Add an item to the queue; it may be started before this returns. It may be added again once released."""
        with self._lock:
            now = time.monotonic()
            self._queue.add(item, now)
            decision = self._decide(now)
        _carry_out(decision)

    def remove(self, item: SearchTask) -> bool:
        """Remove a waiting item. Returns False when it has been started."""
        with self._lock:
            now = time.monotonic()
            if not self._queue.remove(item, now):
                return False
            decision = self._decide(now)
        _carry_out(decision)
        return True

    def release(self, item: SearchTask, *, again: bool = False) -> None:
        """Release the threads of an item, if it has any; with ``again`` it waits for its next turn."""
        with self._lock:
            now = time.monotonic()
            self.accounts.ran(item.key, self._queue.release(item, now, again=again))
            decision = self._decide(now)
        _carry_out(decision)

    def drop(self, item: SearchTask) -> None:
        """Remove an item, waiting or running."""
        self.remove(item)
        self.release(item)

    def _decide(self, now: float) -> Decision:
        decision = self._queue.decide(now)
        if decision.again < self._again:
            self._again = decision.again
            if not self._clocked:
                self._clocked = True
                begin(self._look_again, "scheduler")
            else:
                self._news.notify()
        return decision

    def _look_again(self) -> None:
        """The timer's callback: decide again."""
        while True:
            with self._lock:
                while (wait := self._again - time.monotonic()) > 0:
                    self._news.wait(wait if wait < threading.TIMEOUT_MAX else None)
                self._again = math.inf
                decision = self._decide(time.monotonic())
            _carry_out(decision)

    @contextmanager
    def lease(
        self,
        purpose: Purpose,
        *,
        key: Hashable,
        client: Hashable,
        threads: int = 1,
        interrupt: Callable[[], None] | None = None,
        abandoned: Callable[[], bool] = lambda: False,
    ) -> Iterator[None]:
        """A context that waits until the calling thread may use ``threads`` search threads; see `SearchTask`.

        Raises `Abandoned` soon after ``abandoned`` returns true.
        """
        item = CallbackTask(purpose, key, client, _nothing, interrupt, threads=threads, least=threads)
        with self.turn_of(item, abandoned):
            yield

    @contextmanager
    def turn_of(
        self, item: CallbackTask, abandoned: Callable[[], bool] = lambda: False, news: threading.Event | None = None
    ) -> Iterator[None]:
        """As `lease`, for an item that may have had turns before; `SearchTask.again` prepares the next one.

        Its ``on_start`` is replaced. ``abandoned`` is called whenever ``news`` is set, without it at intervals.
        """
        turn = news or threading.Event()
        item.on_start = turn.set
        if not (item.waiting or item.running):
            self.add(item)
        try:
            while not item.running:
                if abandoned() and self.remove(item):
                    raise Abandoned
                turn.wait(_POLL_S if news is None else None)
                turn.clear()
            yield
        finally:
            again, item.again = item.again, False
            self.remove(item)
            self.release(item, again=again)


def _carry_out(decision: Decision) -> None:
    for task in decision.interrupt:
        assert isinstance(task, SearchTask)
        task.interrupt()
    for task in decision.start:
        assert isinstance(task, SearchTask)
        task.start()


def _nothing() -> None:
    return
