"""Messages about the compiler: that it runs if it takes long, its progress, and folders that cannot be written.

Any thread may call its functions. Messages go to standard error unless `logs.redirect` has set another sink. At a
terminal progress is one line that is rewritten, elsewhere a line every `EVERY_S` seconds; in a dialogue without a
terminal there are at most three lines of progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from desdaemon.protocol.system.logs import message, redirected
from desdaemon.protocol.system.terminal import ProgressLine

AFTER_S = 0.5
"""A compilation of at most this many seconds reports nothing."""

EVERY_S = 5.0
"""Seconds between lines of progress if standard error is no terminal."""

REWRITE_S = 0.25
"""Seconds between changes of the line of progress at a terminal."""

_QUARTERS = 4
_sparse = False
_free: Callable[[], bool] | None = None
_line: ProgressLine | None = None
_said: set[str] = set()
_lock = threading.Lock()


def in_dialogue(free: Callable[[], bool] | None) -> None:
    """Take note that a dialogue on the standard streams begins.

    ``free`` returns, from any thread, whether the terminal's cursor is at the beginning of a line that is not being
    edited: only then the line of progress is written. Call `wipe` before any other output to the terminal. Without a
    terminal ``free`` is None.
    """
    global _sparse, _free
    _sparse, _free = free is None, free


def wipe() -> None:
    """Remove the line of progress from the terminal, if there is one."""
    with _lock:
        if _line is not None:
            _line.clear()


def say_once(text: str) -> None:
    """Print a message unless this process has printed it before."""
    with _lock:
        if text in _said:
            return
        _said.add(text)
    message(text)


class Compiling:
    """A context manager around the compilation of the library ``name``. A block of at most `AFTER_S` seconds reports
    nothing. After that progress is reported, then the end unless the block raises.

    Call this object with each line of the compiler's progress, such as ``12/89 solve2``, and where that takes long with
    words for how far the part at hand is.
    """

    def __init__(self, name: str) -> None:
        self._name = name.replace("-", " ")
        self._line = ProgressLine(wanted=not redirected() and not _sparse)
        self._begun = time.perf_counter()
        self._done, self._total, self._part = 0, 0, ""
        self._reported = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="compile-notice", daemon=True)

    def __enter__(self) -> Compiling:
        self._thread.start()
        return self

    def __call__(self, line: str, part: str = "") -> None:
        done, _, total = line.partition(" ")[0].partition("/")
        self._done, self._total, self._part = int(done), int(total), part

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        wipe()
        if self._reported and kind is None:
            message(f"compiled the {self._name} in {self._seconds} s", level="info")

    @property
    def _seconds(self) -> int:
        return round(time.perf_counter() - self._begun)

    def _follow(self) -> None:
        if self._over.wait(AFTER_S):
            return
        self._reported = True
        message(
            f"compiling the {self._name} for this machine, only once: up to a minute, longer while it is busy",
            level="info",
        )
        quarters = 0
        while not self._over.wait(REWRITE_S if self._line.live or _sparse else EVERY_S):
            place = f"{self._done} of {self._total}" if self._total else "starting"
            text = f"compiling the {self._name}: {', '.join(filter(None, (place, self._part)))}, {self._seconds} s"
            passed = _QUARTERS * self._done // max(1, self._total)
            if self._line.live:
                _rewrite(self._line, text)
            elif not _sparse or quarters < passed < _QUARTERS:
                quarters = passed
                message(text, level="info")


def _rewrite(line: ProgressLine, text: str) -> None:
    global _line
    with _lock:
        if _free is None or _free():
            _line = line
            line.show(text)
