"""What people are told of the compiler: that it works, once that takes long, how far it is, and what it could not keep.

A line goes to standard error unless `redirect` has named another place. At a terminal the progress is one line that is
written anew; elsewhere, and in a dialogue, it is a line now and then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

AFTER_S = 0.5
"""What is over earlier is not worth a line."""

EVERY_S = 5.0
"""A line of progress comes so often where nobody looks at a terminal."""

ANEW_S = 0.25
_WIDTH = 78

Say = Callable[[str], None]

_say: Say | None = None
_plain = False
_said: set[str] = set()
_lock = threading.Lock()


def redirect(say: Say | None) -> None:
    """Send every line to ``say``, which may be called from any thread; None: to standard error again."""
    global _say
    _say = say


def in_lines(wanted: bool) -> None:
    """Whether progress comes in lines at a terminal too, since somebody writes commands there meanwhile."""
    global _plain
    _plain = wanted


def say(text: str) -> None:
    """A line."""
    if _say is not None:
        _say(text)
        return
    try:
        sys.stderr.write(f"desdaemon: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def say_once(text: str) -> None:
    """A line that says something of the whole process: the same one is not said again."""
    with _lock:
        if text in _said:
            return
        _said.add(text)
    say(text)


class Compiling:
    """The time in which a library is compiled, as a context; to be called with lines ``12/89 ...`` of progress."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._live = _say is None and not _plain and _at_terminal()
        self._begun = time.monotonic()
        self._place = ""
        self._told = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="compile-notice", daemon=True)

    def __enter__(self) -> Compiling:
        self._thread.start()
        return self

    def __call__(self, line: str) -> None:
        """How far the compiler is."""
        self._place = line.partition(" ")[0].replace("/", " of ")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._live and self._told:
            _write(f"\r{'':{_WIDTH}}\r")
        if self._told and kind is None:
            say(f"compiled the {self._name} in {self._seconds} s")

    @property
    def _seconds(self) -> int:
        return round(time.monotonic() - self._begun)

    def _follow(self) -> None:
        if self._over.wait(AFTER_S):
            return
        self._told = True
        say(f"compiling the {self._name} for this machine, which is done once and takes up to a minute")
        while not self._over.wait(ANEW_S if self._live else EVERY_S):
            text = f"compiling the {self._name}: {self._place or 'starting'}, {self._seconds} s"
            if self._live:
                _write(f"\r{text:{_WIDTH}}")
            else:
                say(text)


def _at_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return
