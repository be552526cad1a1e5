"""Pools of threads, and their priority."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from desdaemon.protocol.system import platform
from desdaemon.protocol.system.threads import begin

NICENESS = 5
"""Niceness of search threads, so that the loop of the sockets goes first.

A search thread that shares a processor with another program gets a quarter of it. A lower priority would starve it,
perhaps while it holds the interpreter's lock for which the loop waits.
"""


def step_back() -> None:
    """Lower the calling thread's priority by `NICENESS`, where the system supports that."""
    platform.lower_thread(NICENESS)


def begin_or_do(work: Callable[[], None], name: str) -> None:
    """Do what `begin` does, or ``work`` itself where the system has no room for another thread."""
    try:
        begin(work, name)
    except RuntimeError:
        work()


class ThreadPool:
    """Up to ``most`` threads that do work in the order of submission. Any thread may call the methods.

    Threads are started when needed and kept. Work must handle its exceptions: one that is raised ends the thread. Where
    the system has no room for another thread, those that there are do the work.
    """

    def __init__(
        self, most: int, name: str, prepare: Callable[[], None] = lambda: None, *, begun: bool = False
    ) -> None:
        """``prepare`` is called by each thread before its first work. With ``begun`` one thread is started at once, so
        that `submit` never fails.
        """
        self._most = most
        self._name = name
        self._prepare = prepare
        self.waiting: deque[Callable[[], None]] = deque()
        """The work that waits for a thread."""
        self._news = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._closed = False
        if begun:
            self._threads = 1
            begin(self._run, name)

    def submit(self, work: Callable[[], None]) -> None:
        """Do ``work`` when a thread is free; returns at once. Ignored after `close`. Raises `RuntimeError` if there is
        no thread and none can be started.
        """
        with self._news:
            if self._closed:
                return
            self.waiting.append(work)
            if self._idle >= len(self.waiting):
                self._news.notify()
                return
            if self._threads >= self._most:
                return
            self._threads += 1
        try:
            begin(self._run, self._name)
        except RuntimeError:
            with self._news:
                self._threads -= 1
                if self._threads:
                    return
                self.waiting.remove(work)
            raise

    def close(self) -> None:
        """Drop the work that waits, and accept no more; running work goes on."""
        with self._news:
            self._closed = True
            self.waiting.clear()
            self._news.notify_all()

    def _run(self) -> None:
        try:
            self._prepare()
            while (work := self._next()) is not None:
                work()
        finally:
            with self._news:
                self._threads -= 1

    def _next(self) -> Callable[[], None] | None:
        with self._news:
            while not self.waiting:
                if self._closed:
                    return None
                self._idle += 1
                self._news.wait()
                self._idle -= 1
            return self.waiting.popleft()
