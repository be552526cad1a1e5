"""Signals that do not wake the main thread: they came just before its wait, or to another thread."""

from __future__ import annotations

import _thread
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def quiet_signal(handler: Callable[[], object], after_s: float = 0.2) -> Iterator[None]:
    """In the block SIGTERM calls ``handler`` on the main thread; it comes after a while, and wakes nobody."""
    before = signal.signal(signal.SIGTERM, lambda *_: handler())
    timer = threading.Timer(after_s, _thread.interrupt_main, (signal.SIGTERM,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGTERM, before)
