"""At a terminal: progress in one line on standard error, rewritten in place; and a pager."""

from __future__ import annotations

import os
import sys
import threading
import time

from . import logs, platform

TERMINAL_S, LOG_S = 0.2, 5.0
"""Seconds between two reports of progress: at a terminal, and elsewhere."""
AFTER_S = 0.8
"""Seconds after which `ElapsedTime` shows its line."""


def watched() -> bool:
    """Return whether standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class ProgressLine:
    """A line of progress on standard error. It shows nothing unless it is ``wanted`` and standard error is a terminal.
    One thread at a time may use it. Call `clear` before anything else is printed, and at the end; messages of `logs`
    take it away by themselves.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self.live = wanted and watched() and platform.escapes(2)
        """Whether the line is visible."""
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the text, cut to the terminal's width; "" clears the line."""
        if self.live and (text or self._shown):
            self._shown = bool(text)
            logs.progress(text[: max(1, columns() - 1)])

    def clear(self) -> None:
        self.show("")


class StepProgress:
    """Shows progress in steps: at a terminal on one line, at most every `TERMINAL_S` seconds, elsewhere as a new line,
    at most every `LOG_S` seconds.

    Use it in a ``with`` statement, on one thread: it clears its line at the end.
    """

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._last = time.monotonic()

    def __enter__(self) -> StepProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self._line.clear()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps of ``what`` are done; a total of 0 means that it is unknown. Shows
        nothing within `TERMINAL_S` or `LOG_S` seconds after the begin, or the last report shown.
        """
        now = time.monotonic()
        if now - self._last < (TERMINAL_S if self._line.live else LOG_S):
            return
        self._last = now
        show = self._line.show if self._line.live else logs.echo
        show(f"{what}: {done} of {total}" if total else what)


class ElapsedTime:
    """Shows at a terminal how many seconds some work takes, as ``what: 3 s`` from `AFTER_S` on, by a thread of its own.
    Use it in a ``with`` statement.
    """

    def __init__(self, what: str, *, wanted: bool = True) -> None:
        self._what = what
        self._begun = time.perf_counter()
        self._lock = threading.Lock()
        self._line = ProgressLine(wanted=wanted)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._count, name="elapsed-time", daemon=True)

    def __enter__(self) -> ElapsedTime:
        if self._line.live:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self.pause()

    def pause(self) -> None:
        """Clear the line and count from 0 again. Call this before an answer is printed."""
        with self._lock:
            self._begun = time.perf_counter()
            self._line.clear()

    def _count(self) -> None:
        while not self._over.wait(TERMINAL_S):
            with self._lock:
                seconds = time.perf_counter() - self._begun
                if seconds >= AFTER_S and not self._over.is_set():
                    self._line.show(f"{self._what}: {seconds:.0f} s")


def paged(text: str) -> bool:
    """Show a text in pydoc's pager (``PAGER``, or less) if it is longer than the terminal, and wait for its end.

    Returns False, and shows nothing, if the text is short, or input or output is no terminal: the caller must print it.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or text.count("\n") < _size().lines - 1:
        return False
    import pydoc

    state = platform.terminal_state(0)
    # Ctrl-C would end this program under its pager.
    platform.disable_interrupts(0)
    try:
        pydoc.pager(text)
    finally:
        platform.restore_terminal(0, state)
    return True


def columns() -> int:
    """Return the columns of the terminal, or `COLUMNS` if that is set; 80 without either."""
    return _size().columns


def _size() -> os.terminal_size:
    from shutil import get_terminal_size

    try:
        columns, lines = os.get_terminal_size(2)
    except (OSError, ValueError):
        columns = lines = 0
    return get_terminal_size((columns or 80, lines or 24))
