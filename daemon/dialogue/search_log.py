"""The file of the option ``search-log-file``: each search with its position, limits, iterations and result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol.dialects import edax
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.selectivity import depth_text

if TYPE_CHECKING:
    from desdaemon.core.search.loader import Progress
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

_WIDTH = 120


class SearchLog:
    """The log file, opened for appending. One search at a time, written by the thread that searches.

    Raises `OSError` when it cannot be opened; after a failed write nothing more is written.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123 SIM115  kept open

    def write(self, text: str) -> None:
        """Append one line or several."""
        try:
            self._file.write(f"{text}\n")
            self._file.flush()
        except (OSError, ValueError):
            self._file.close()

    def begin(
        self, position: Position, limits: Limits, progress: Progress | None, attempts: Progress | None
    ) -> LoggedSearch:
        """Start the entry of a search of ``position``; its callbacks log, then call ``progress`` and ``attempts``."""
        bounds = f"{limits.nodes} nodes" if limits.nodes else ""
        bounds += f"{', ' if bounds else ''}{limits.time_ms} ms" if limits.time_ms else ""
        self.write(
            f"\n{board_text(position)}; depth {depth_text(limits.depth, limits.selectivity)}{bounds and f', {bounds}'}"
        )
        self.write(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
        return LoggedSearch(self, position.black_to_move, progress, attempts)


class LoggedSearch:
    """An entry of a `SearchLog`: the callbacks of one search."""

    def __init__(
        self, log: SearchLog, black_to_move: bool, progress: Progress | None, attempts: Progress | None
    ) -> None:
        self._log = log
        self._black = black_to_move
        self._progress, self._attempts = progress, attempts

    def progress(self, index: int, line: Line) -> None:
        """Log a finished iteration."""
        self._row(line)
        if self._progress is not None:
            self._progress(index, line)

    def attempt(self, index: int, line: Line) -> None:
        """Log a search of a part of the window that gave a bound only."""
        self._row(line)
        if self._attempts is not None:
            self._attempts(index, line)

    def finish(self, result: Result) -> None:
        """Log the result."""
        for line in result.lines:
            line = line._replace(nodes=result.nodes, time_ms=result.time_ms)
            self._row(line, result.complete)
        self._log.write(edax.TABLE_RULE)

    def _row(self, line: Line, complete: bool = True) -> None:
        self._log.write(edax.table_line(edax.search_row(line, self._black, complete), _WIDTH).rstrip())
