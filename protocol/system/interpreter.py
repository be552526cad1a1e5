"""The Pythons that the program runs on: CPython with its global lock (GIL).

Threads share dicts, deques and counters whose single operations are atomic under that lock. A free-threaded Python is
refused at the start, unless ``PYTHON_GIL=1`` keeps the lock.
"""

from __future__ import annotations

import sys

WITHOUT_LOCK = (
    "this Python runs without its global lock (GIL), which desdaemon needs: "
    "set PYTHON_GIL=1, or use an ordinary CPython 3.11 or newer"
)


def has_global_lock() -> bool:
    """Return whether only one thread at a time runs Python code."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is None or bool(enabled())
