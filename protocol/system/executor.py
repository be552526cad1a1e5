"""An executor for the daemon. Where `ThreadPoolExecutor` would wait for a thread that died at birth, it refuses."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent import futures
from typing import ParamSpec, TypeVar

from desdaemon.protocol.system.threads import begun

P = ParamSpec("P")
R = TypeVar("R")


class Executor(futures.Executor):
    """Runs calls on up to ``most`` threads (`threads.begun`), which are begun when they are needed and end with it.

    Where the system has no room for another thread, those that there are do the work. Only one thread may use it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._ends: list[threading.Event] = []
        """For each thread what is set when it has ended."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> futures.Future[R]:
        """Return the future of a call. Raises `RuntimeError` if there is no thread and none can be begun."""
        future: futures.Future[R] = futures.Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        if len(self._ends) < self._most:
            try:
                self._ends.append(begun(self._run, "executor"))
            except RuntimeError:
                if not self._ends:
                    raise
        self._waiting.put(call)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once they have done what waits."""
        assert not cancel_futures, "a future is cancelled by its own method"
        for _ in self._ends:
            self._waiting.put(None)
        for end in self._ends if wait else ():
            end.wait()

    def _run(self) -> None:
        while (call := self._waiting.get()) is not None:
            call()
