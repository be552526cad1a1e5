"""The Pythons that the program runs on: CPython with its global lock (GIL).

Threads share dicts, deques and counters whose single operations are atomic under that lock. A free-threaded Python is
refused at the start, unless ``PYTHON_GIL=1`` keeps the lock.

Signal handlers run only on the main thread, between two steps of Python: a signal that comes just before a wait begins,
or that another thread gets from the system, does not end the wait.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

SIGNALS_S = 0.1
"""Longest wait of the main thread without a look for signals, seconds."""

WITHOUT_LOCK = (
    "this Python runs without its global lock (GIL), which desdaemon needs: "
    "set PYTHON_GIL=1, or use an ordinary CPython 3.11 or newer"
)


def has_global_lock() -> bool:
    """Return whether only one thread at a time runs Python code."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is None or bool(enabled())


def awaited(future: Future[T]) -> T:
    """Wait for a future and return its result or raise its exception; signals are handled meanwhile."""
    while not future.done():
        with suppress(TimeoutError):
            future.exception(SIGNALS_S)
    return future.result()
