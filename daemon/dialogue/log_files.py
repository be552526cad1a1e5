"""The log files of a dialogue: ``ui-log-file`` for its lines, ``search-log-file`` for its searches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import quoted
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.selectivity import depth_text

from .streams import DialogueOutput

if TYPE_CHECKING:
    from desdaemon.core.search.loader import Progress
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

_WIDTH = 120


class LogFile:
    """A file that lines are appended to. Raises `OSError` if it cannot be opened.

    A failed write is told to ``warn`` and closes it; nothing more is written then.
    """

    def __init__(self, option: str, path: str, warn: Callable[[str], None]) -> None:
        """``option`` is the one that names the file."""
        self._name = f"{option} {quoted(path)}"
        self._warn = warn
        self._file = open(path, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123 SIM115  kept open

    def write(self, text: str, mark: str = "") -> None:
        """Append the lines of ``text``, each after ``mark``."""
        if self._file.closed:
            return
        try:
            self._file.writelines(f"{mark}{line}\n" for line in text.splitlines())
            self._file.flush()
        except (OSError, ValueError) as error:
            # Closing writes what is left, which fails on a full disk as well.
            with contextlib.suppress(OSError):
                self._file.close()
            reason = error.strerror if isinstance(error, OSError) else error
            self._warn(f"WARNING: {self._name}: {reason}: nothing more is logged")


class LoggedOutput:
    """A `DialogueOutput` that logs answers after ``> `` and errors after ``! ``."""

    def __init__(self, output: DialogueOutput, log: LogFile) -> None:
        self._output = output
        self._log = log

    def write(self, text: str) -> None:
        self._log.write(text, "> ")
        self._output.write(text)

    def error(self, line: str) -> None:
        self._log.write(line, "! ")
        self._output.error(line)

    def flush(self) -> None:
        self._output.flush()


class SearchLog:
    """A log of searches: position, limits, iterations, result. For one search at a time, on its thread.

    Raises `OSError` if the file cannot be opened.
    """

    def __init__(self, path: str, warn: Callable[[str], None]) -> None:
        self._file = LogFile("search-log-file", path, warn)

    def begin(
        self, position: Position, limits: Limits, progress: Progress | None, attempts: Progress | None
    ) -> LoggedSearch:
        """Begin the entry of a search and return it. Pass its callbacks to the search, and the result to `finish`. The
        callbacks write to the log, then call ``progress`` and ``attempts`` unless these are None.
        """
        bounds = f"{limits.nodes} nodes" if limits.nodes else ""
        bounds += f"{', ' if bounds else ''}{limits.time_ms} ms" if limits.time_ms else ""
        depth = depth_text(limits.depth, limits.selectivity)
        self._file.write(f"\n{board_text(position)}; depth {depth}{bounds and f', {bounds}'}")
        self._file.write(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
        return LoggedSearch(self._file, position.black_to_move, progress, attempts)


class LoggedSearch:
    """The entry of one search in a `SearchLog`."""

    def __init__(
        self, file: LogFile, black_to_move: bool, progress: Progress | None, attempts: Progress | None
    ) -> None:
        self._file = file
        self._black = black_to_move
        self._progress, self._attempts = progress, attempts

    def progress(self, index: int, line: Line) -> None:
        self._row(line)
        if self._progress is not None:
            self._progress(index, line)

    def attempt(self, index: int, line: Line) -> None:
        """Log a search that proved only a bound, because its window did not contain the score."""
        self._row(line)
        if self._attempts is not None:
            self._attempts(index, line)

    def finish(self, result: Result) -> None:
        for line in result.lines:
            self._row(line._replace(nodes=result.nodes, time_ms=result.time_ms), result.complete)
        self._file.write(edax.TABLE_RULE)

    def _row(self, line: Line, complete: bool = True) -> None:
        self._file.write(edax.table_line(edax.search_row(line, self._black, complete), _WIDTH).rstrip())
