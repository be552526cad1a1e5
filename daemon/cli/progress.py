"""Progress of sub-commands on standard error: a line rewritten in place at a terminal, one now and then elsewhere."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ProgressLine

TERMINAL_S, LOG_S = 0.2, 5.0
"""Seconds between two reports at a terminal, and elsewhere."""

AFTER_S = 0.8
"""Seconds after which `ElapsedTime` shows itself."""


class StepProgress:
    """Progress in steps. A context, used by one thread; it clears its line at the end."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._last = 0.0

    def __enter__(self) -> StepProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.clear()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps of ``what`` are done."""
        now = time.monotonic()
        if now - self._last < (TERMINAL_S if self._line.live else LOG_S):
            return
        self._last = now
        show = self._line.show if self._line.live else logs.echo
        show(f"{what}: {done} of {total}")


class ElapsedTime:
    """Elapsed seconds of work of unknown length, shown at a terminal by a thread of its own.

    A context. `pause` clears the line before an answer is printed and begins again at 0.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._line = ProgressLine()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._count, name="elapsed-time", daemon=True)

    def __enter__(self) -> ElapsedTime:
        if self._line.live:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self.pause()

    def pause(self) -> None:
        """Clear the line."""
        with self._lock:
            self._begun = time.monotonic()
            self._line.clear()

    def _count(self) -> None:
        while not self._over.wait(TERMINAL_S):
            with self._lock:
                seconds = time.monotonic() - self._begun
                if seconds >= AFTER_S and not self._over.is_set():
                    self._line.show(f"{self._what}: {seconds:.0f} s")
