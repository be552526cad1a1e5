"""The one way to standard error: messages of programs and events of a daemon.

A program tells the person who called it: ``desdaemon count: ...``, by `message`. A daemon tells those who run it: one
line for each event, as words or as JSON, by a `Log`. Once a daemon has called `install`, its log gets everything:
messages of the engine and the book, `warnings`, `logging`, and threads that an exception has ended. `terminal` has the
lines of progress.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

LEVELS = ("debug", "info", "warning", "error")

MOST_A_SECOND = 20
"""Lines of one event written in a second; further ones are counted, and the next line has their number."""


class Log:
    """Writes events with fields. Every method may be called from any thread."""

    def __init__(self, level: str = "info", format: str = "text", descriptor: int = 2) -> None:
        """``level`` of `LEVELS` is the least one that is written; ``format`` is ``text`` or ``json``."""
        self._least = LEVELS.index(level)
        self._json = format == "json"
        self._descriptor = descriptor
        self._recent: dict[str, tuple[int, int, int]] = {}

    def debug(self, event: str, **fields: object) -> None:
        """Log details for the search for a fault."""
        self.write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Log an ordinary event of a healthy daemon."""
        self.write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log a condition that its operator may want to change."""
        self.write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a fault."""
        self.write("error", event, fields)

    def write(self, level: str, event: str, fields: dict[str, object]) -> None:
        """Write an event of a level of `LEVELS`."""
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
    """Return the log text of an internal error: the traceback of the first of its kind; type, place and number of the
    10th, 100th, ...; "" for others. So an error at every message does not fill the log.
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


def message(text: str, program: str = "desdaemon", *, level: str = "warning", event: str = "message") -> None:
    """Print a line to standard error, from any thread: ``PROGRAM: TEXT``, or an event of the installed log."""
    if _sink is not None:
        _sink(text)
    elif _log is not None:
        _log.write(level, event, {"program": program, "text": text} if event == "message" else {"reason": text})
    else:
        echo(f"{program}: {text}")


def echo(text: str) -> None:
    """Print a text unchanged, such as the standard error of a remote command; ends with a new line."""
    try:
        sys.stderr.write(text if text.endswith("\n") or not text else text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return


def flush() -> None:
    """Flush standard error."""
    sys.stderr.flush()


def redirect(sink: Callable[[str], None] | None) -> None:
    """Send the text of every `message` to ``sink``, which may be called from any thread; None restores standard error.

    For dialogues whose other end reads standard error as answers.
    """
    global _sink
    _sink = sink


def redirected() -> bool:
    """Whether messages go to a sink."""
    return _sink is not None


def install(log: Log) -> None:
    """Send all messages of this process to ``log``: `message`, `warnings`, `logging`, exceptions that end threads."""
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
        told = trace(failed.exc_value) if failed.exc_value is not None else failed.exc_type.__name__
        if told:
            log.error("thread ended", thread=failed.thread.name if failed.thread else "", trace=told)

    class Handler(logging.Handler):
        """Turns records of `logging` into events."""

        def emit(self, record: logging.LogRecord) -> None:
            level = "error" if record.levelno >= logging.ERROR else "warning"
            log.write(level, record.name, {"reason": record.getMessage()})

    warnings.showwarning = on_warning
    threading.excepthook = on_thread
    logging.getLogger().handlers[:] = [Handler(logging.WARNING)]
