"""Progress of sub-commands on standard error: a line rewritten in place at a terminal, one now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

TERMINAL_S, LOG_S = 0.2, 5.0
"""Seconds between two reports at a terminal, and elsewhere."""

AFTER_S = 0.8
"""Seconds after which `ElapsedTime` shows itself."""

_CLEAR = "\r\x1b[K"


class ProgressLine:
    """How much of some work is done. To be called by one thread, as a context that clears the line at its end."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = 0.0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            _write(_CLEAR)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps of ``what`` are done."""
        now = time.monotonic()
        if now - self._last < (TERMINAL_S if self._live else LOG_S):
            return
        self._last = now
        line = f"{what}: {done} of {total}"
        _write(f"{_CLEAR}{line}" if self._live else f"{line}\n")


class ElapsedTime:
    """The seconds that work of unknown length has taken so far, shown at a terminal by a thread of its own.

    A context; `pause` clears the line before an answer is printed, and the count begins again at 0.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._shown = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._count, name="elapsed-time", daemon=True)

    def __enter__(self) -> ElapsedTime:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self.pause()

    def pause(self) -> None:
        """Clear the line."""
        with self._lock:
            self._begun = time.monotonic()
            if self._shown:
                _write(_CLEAR)
            self._shown = False

    def _count(self) -> None:
        while not self._over.wait(TERMINAL_S):
            with self._lock:
                seconds = time.monotonic() - self._begun
                if seconds >= AFTER_S and not self._over.is_set():
                    _write(f"{_CLEAR}{self._what}: {seconds:.0f} s")
                    self._shown = True


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
