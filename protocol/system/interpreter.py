"""The interpreters that the program runs on: CPython with its global lock (GIL).

The threads of the search and of the daemon share dicts, deques and counters whose single operations are atomic under
that lock. A free-threaded Python without it is refused before anything is started; one that keeps the lock
(``PYTHON_GIL=1``) works.
"""

from __future__ import annotations

import sys

WITHOUT_LOCK = (
    "this Python runs without its global lock (GIL), which desdaemon needs: "
    "set PYTHON_GIL=1, or use an ordinary CPython 3.11 or newer"
)


def has_global_lock() -> bool:
    """Whether only one thread at a time runs Python code; interpreters older than 3.13 cannot tell, and always have the
    lock.
    """
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is None or bool(enabled())
