"""Signals that end an experiment, with the processes that it has started."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENDINGS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """In the block, SIGTERM and SIGINT (unless ignored) raise `SystemExit` with 128 plus the signal's number, so that
    cleanup ends the processes that the block has started. In a running event loop a callback of the loop raises it.

    After the first of these signals the rest are ignored until the end of the block. Main thread only.
    """
    heeded = [number for number in _ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int, frame: object) -> None:
        for later in heeded:
            signal.signal(later, signal.SIG_IGN)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise SystemExit(128 + number) from None
        # Not raised here: within a finalizer, where the signal may come, an exception is lost.
        loop.call_soon_threadsafe(sys.exit, 128 + number)

    old_handlers = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
