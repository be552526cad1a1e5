"""Everything that is written to standard error: messages of programs and events of a daemon.

A program tells its user ``desdaemon count: ...`` by `message`. A daemon writes a line for each event, as words or as
JSON, by a `Log`. After `install` the log gets everything: messages of the engine and the book, `warnings`, `logging`,
and exceptions that end threads. `terminal` has the line of progress.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .output import UnreadOutput

LEVELS = ("debug", "info", "warning", "error")

MOST_A_SECOND = 20
"""Most lines of one event in a second; the next line tells how many were left out."""


class Log:
    """Writes events with fields, from any thread."""

    def __init__(self, level: str = "info", format: str = "text", descriptor: int = 2) -> None:
        """``level`` of `LEVELS` is the least that is written; ``format`` is ``text`` or ``json``; ``descriptor`` is the
        file to write to.
        """
        self._least = LEVELS.index(level)
        self.debugging = level == "debug"
        """Whether events of the level ``debug`` are written: many, so that others need not prepare theirs."""
        self._json = format == "json"
        self._descriptor = descriptor
        self._recent: dict[str, tuple[int, int, int]] = {}

    def info(self, event: str, **fields: object) -> None:
        """Log an ordinary event of a healthy daemon."""
        self.write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log a condition that the operator may want to change."""
        self.write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self.write("error", event, fields)

    def write(self, level: str, event: str, fields: dict[str, object]) -> None:
        """Write an event if ``level``, one of `LEVELS`, is high enough. After `MOST_A_SECOND` events of one name in a
        second further ones are only counted; the next line has their number. Errors of the output are ignored.
        """
        if LEVELS.index(level) < self._least:
            return
        now = time.time()
        second, number, left_out = self._recent.get(event, (0, 0, 0))
        if second != int(now):
            second, number = int(now), 0
        if number >= MOST_A_SECOND:
            self._recent[event] = second, number, left_out + 1
            return
        self._recent[event] = second, number + 1, 0
        if left_out:
            fields = {**fields, "left_out": left_out}
        line = self._line(now, level, event, fields)
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def _line(self, now: float, level: str, event: str, fields: dict[str, object]) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        if self._json:
            import json

            return json.dumps({"time": stamp, "level": level, "event": event, **fields}, default=str) + "\n"
        words = "".join(f" {name}={_word(value)}" for name, value in fields.items())
        return f"{stamp} {level} {event}{words}\n"


def _word(value: object) -> str:
    text = str(value)
    plain = text.isprintable() and text and not any(c in text for c in ' "=')
    if plain:
        return text
    import json

    return json.dumps(text, ensure_ascii=False)


_mistakes: dict[str, int] = {}


def trace(error: BaseException) -> str:
    """Return the log text of an internal error: its traceback the first time; type, place and count the 10th, 100th,
    ... time; "" otherwise, so that an error at every message does not fill the log.
    """
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1:]
    kind = f"{type(error).__name__} at {last[0].filename}:{last[0].lineno}" if last else type(error).__name__
    number = _mistakes[kind] = _mistakes.get(kind, 0) + 1
    if number == 1:
        return "".join(traceback.format_exception(error)).rstrip()
    return f"{kind}, {number} times" if str(number).strip("0") == "1" else ""


_log: Log | None = None
_sink: Callable[[str], None] | None = None
_output: UnreadOutput | None = None
_progress = False
"""Whether a line of progress stands at the terminal, without an end."""
WIPED = "\r\x1b[K"
"""What takes a line off a terminal."""


def message(text: str, program: str = "desdaemon", *, level: str = "warning", event: str = "message") -> None:
    """Print ``PROGRAM: TEXT`` to standard error; after `install` log it as ``event`` with ``level`` instead, after
    `redirect` pass on the text alone.

    Any thread may call it.
    """
    if _sink is not None:
        _sink(text)
    elif _log is not None:
        _log.write(level, event, {"program": program, "text": text} if event == "message" else {"reason": text})
    else:
        echo(f"{program}: {text}")


def echo(text: str) -> None:
    """Print a text to standard error, with a newline at its end unless it has one or is empty. Ignores output
    errors. A line of progress gives way to it.
    """
    global _progress
    if not text:
        return
    wiped, _progress = WIPED if _progress else "", False
    put(wiped + text + ("" if text.endswith("\n") else "\n"))


def wipe() -> None:
    """Take away the line of progress, if there is one."""
    if _progress:
        progress("")


def progress(text: str) -> None:
    """Put a line of progress in place of the one before, at a terminal; "" takes it away."""
    global _progress
    _progress = bool(text)
    put(WIPED + text)


def put(text: str) -> None:
    """Print a text to standard error as it is. Ignores output errors."""
    try:
        if _output is not None:
            _output.write(text)
        else:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return


@contextlib.contextmanager
def without_waiting() -> Iterator[None]:
    """Let no message in this block wait for the reader of standard error: `UnreadOutput` writes them.

    It is for programs whose loop must go on, and hear Ctrl-C, whoever reads what they say. Where something else stands
    in the place of standard error, nothing changes.
    """
    global _output
    if sys.stderr is not sys.__stderr__:
        yield
        return
    from .output import UnreadOutput

    _output = UnreadOutput(2)
    try:
        yield
    finally:
        output, _output = _output, None
        with contextlib.suppress(OSError):
            output.close()


def flush() -> None:
    sys.stderr.flush()


def redirect(sink: Callable[[str], None] | None) -> None:
    """Send the text of every `message` to ``sink``, from any thread; None restores standard error.

    It is for protocols whose GUIs take standard error for answers.
    """
    global _sink
    _sink = sink


def redirected() -> bool:
    """Return whether messages go to a sink."""
    return _sink is not None


def install(log: Log) -> None:
    """Send messages, `warnings`, records of `logging` from WARNING on, and exceptions that end threads to ``log``."""
    global _log
    import logging
    import threading
    import warnings

    _log = log

    def on_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object, **more: object
    ) -> None:
        log.warning("warning", reason=f"{category.__name__}: {message}", where=f"{filename}:{lineno}")

    def on_thread(failed: threading.ExceptHookArgs) -> None:
        text = trace(failed.exc_value) if failed.exc_value is not None else failed.exc_type.__name__
        if text:
            log.error("thread ended", thread=failed.thread.name if failed.thread else "", trace=text)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            level = "error" if record.levelno >= logging.ERROR else "warning"
            log.write(level, record.name, {"reason": record.getMessage()})

    warnings.showwarning = on_warning
    threading.excepthook = on_thread
    logging.getLogger().handlers[:] = [Handler(logging.WARNING)]
