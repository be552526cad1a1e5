"""A line of progress on standard error, rewritten in place."""

from __future__ import annotations

import os
import sys

from . import platform


def watched() -> bool:
    """Return whether standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


class ProgressLine:
    """The line of progress; it does nothing if standard error is no terminal. One thread at a time may use it."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.live = wanted and watched() and platform.escapes(2)
        """Whether the line is visible."""
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the line by ``text``, cut to the terminal's width."""
        if self.live:
            self._shown = True
            self._write(f"\r\x1b[K{text[: max(1, _columns() - 1)]}")

    def clear(self) -> None:
        if self._shown:
            self._shown = False
            self._write("\r\x1b[K")

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            return


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except (OSError, ValueError):
        return 80
