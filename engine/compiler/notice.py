"""Messages about the compiler: that it runs, if that takes long, how far it is, and what it could not keep.

Called by `library` and by the dialogue on standard input and output, from any thread. A message is a line on standard
error unless `redirect` has named another place. Progress is one line that is rewritten where standard error is a
terminal, a line every `EVERY_S` elsewhere, and at most one a quarter of the work in a dialogue without a terminal.
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
"""Seconds between two lines of progress where standard error is no terminal."""

REWRITE_S = 0.25
"""Seconds between two versions of the line of progress at a terminal."""

_QUARTERS = 4
_WIDTH = 78

Say = Callable[[str], None]

_say: Say | None = None
_sparse = False
_free: Callable[[], bool] | None = None
_shown = False
_said: set[str] = set()
_lock = threading.Lock()


def redirect(say: Say | None) -> None:
    """Send every line to ``say``, which may be called from any thread; None: to standard error again."""
    global _say
    _say = say


def in_dialogue(free: Callable[[], bool] | None) -> None:
    """Somebody holds a dialogue on the standard streams from now on.

    ``free`` tells, from any thread, whether the cursor of their terminal stands at the beginning of a line that nobody
    types on: there the line of progress is rewritten, and `wipe` has to be called before anything else is written.
    Without it progress is told in at most three lines.
    """
    global _sparse, _free
    _sparse, _free = free is None, free


def wipe() -> None:
    """Remove the line of progress from the terminal, if it is there."""
    global _shown
    with _lock:
        if _shown:
            _write(f"\r{'':{_WIDTH}}\r")
        _shown = False


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
        self._live = _say is None and not _sparse and _at_terminal()
        self._begun = time.monotonic()
        self._done, self._total = 0, 0
        self._told = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="compile-notice", daemon=True)

    def __enter__(self) -> Compiling:
        self._thread.start()
        return self

    def __call__(self, line: str) -> None:
        """How far the compiler is."""
        done, _, total = line.partition(" ")[0].partition("/")
        self._done, self._total = int(done), int(total)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        wipe()
        if self._told and kind is None:
            say(f"compiled the {self._name} in {self._seconds} s")

    @property
    def _seconds(self) -> int:
        return round(time.monotonic() - self._begun)

    def _follow(self) -> None:
        if self._over.wait(AFTER_S):
            return
        self._told = True
        say(f"compiling the {self._name} for this machine: once, for up to a minute")
        quarters = 0
        while not self._over.wait(REWRITE_S if self._live or _sparse else EVERY_S):
            place = f"{self._done} of {self._total}" if self._total else "starting"
            text = f"compiling the {self._name}: {place}, {self._seconds} s"
            passed = _QUARTERS * self._done // max(1, self._total)
            if self._live:
                _rewrite(text)
            elif not _sparse or quarters < passed < _QUARTERS:
                quarters = passed
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


def _rewrite(text: str) -> None:
    global _shown
    with _lock:
        if _free is None or _free():
            _write(f"\r{text:{_WIDTH}}")
            _shown = True
