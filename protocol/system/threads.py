"""Daemonic threads that surely run: `begin`, in place of `threading.Thread.start`.

A system short of memory may start a thread that then has none for its first call: it dies, `_thread` does not know, and
`threading` waits for it without end. So work goes to a thread that waits for some, and so runs already.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable

PATIENCE_S = 5.0
"""Seconds that `begin` waits for a new thread where none waits for work. It takes milliseconds, except at high load."""

_MOST_IDLE = 2

_idle: queue.SimpleQueue[queue.SimpleQueue[tuple[Callable[[], None], str]]] = queue.SimpleQueue()
"""The threads that wait for work, each by the queue that takes it."""
_lock = threading.Lock()


def _forget_idle() -> None:
    global _idle, _lock
    _idle, _lock = queue.SimpleQueue(), threading.Lock()


if hasattr(os, "register_at_fork"):
    # A child has the thread that forked alone: work given to the others would be waited for without end.
    os.register_at_fork(after_in_child=_forget_idle)


def begin(work: Callable[[], None], name: str) -> None:
    """Run ``work`` on a thread of its own called ``name``, without waiting for it. Its exceptions go to
    `threading.excepthook`. Raises `RuntimeError` if the system has no room for another thread.
    """
    try:
        thread = _idle.get_nowait()
    except queue.Empty:
        _thread.start_new_thread(_wait_for_work, ())
        try:
            thread = _idle.get(timeout=PATIENCE_S)
        except queue.Empty:
            raise RuntimeError("can't start new thread") from None
    thread.put((work, name))


def begun(work: Callable[[], None], name: str) -> threading.Event:
    """Do what `begin` does; return an event that is set when ``work`` has ended."""
    over = threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            over.set()

    begin(run, name)
    return over


def _wait_for_work() -> None:
    own: queue.SimpleQueue[tuple[Callable[[], None], str]] = queue.SimpleQueue()
    with _lock:
        if _idle.qsize() >= _MOST_IDLE:
            return
        _idle.put(own)
    work, name = own.get()
    if _idle.empty():
        # The next one need not wait for its thread: while others run Python that is too long for a loop of sockets.
        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(_wait_for_work, ())
    threading.current_thread().name = name
    try:
        work()
    except Exception:
        # Like `threading.Thread`, so that the log's hook gets the exception.
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
