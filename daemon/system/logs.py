"""Messages for those who run the daemon: one line each on standard error, as words or as JSON."""

from __future__ import annotations

import json
import os
import time

LEVELS = ("debug", "info", "warning", "error")

MOST_A_SECOND = 20
"""Lines of one event; what comes beyond is counted and told with the next line of it."""


class Log:
    """Writes events with fields. Every method may be called from any thread."""

    def __init__(self, level: str = "info", format: str = "text", descriptor: int = 2) -> None:
        """``level`` of `LEVELS` is the least that is written; ``format`` is ``text`` or ``json``."""
        self._least = LEVELS.index(level)
        self._json = format == "json"
        self._descriptor = descriptor
        self._recent: dict[str, tuple[int, int, int]] = {}

    def debug(self, event: str, **fields: object) -> None:
        """For those who look for a mistake."""
        self._write(0, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """What happens in a healthy daemon."""
        self._write(1, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Something that somebody may want to change."""
        self._write(2, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Something that must not happen."""
        self._write(3, event, fields)

    def _write(self, level: int, event: str, fields: dict[str, object]) -> None:
        if level < self._least:
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
        line = self._line(now, LEVELS[level], event, fields)
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def _line(self, now: float, level: str, event: str, fields: dict[str, object]) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        if self._json:
            return json.dumps({"time": stamp, "level": level, "event": event, **fields}, default=str) + "\n"
        words = "".join(f" {name}={_word(value)}" for name, value in fields.items())
        return f"{stamp} {level} {event}{words}\n"


def _word(value: object) -> str:
    text = str(value)
    plain = text.isprintable() and text and not any(c in text for c in ' "=')
    return text if plain else json.dumps(text, ensure_ascii=False)
