"""The table of a search as Edax prints it: a row for each iteration and the final result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.dialects import edax

if TYPE_CHECKING:
    from desdaemon.core.search.loader import Progress
    from desdaemon.dialogue.dialects.text import TextDialect
    from desdaemon.engine.result import Line, Result


class SearchTable:
    """Prints the table of a search, with as many rows as the verbosity asks for. Used by the thread that searches."""

    def __init__(
        self, text: TextDialect, black_to_move: bool, form: Callable[[edax.SearchRow, int], str] = edax.table_line
    ) -> None:
        """``form`` makes a text line from a row and the width of the table."""
        self._text = text
        self._black = black_to_move
        self._settings = text.session.settings
        self._form = form
        self._shown: dict[int, Line] = {}
        self._spent: dict[int, tuple[int, float]] = {}

    def progress(self, index: int, line: Line) -> None:
        """Take a finished iteration; its row shows the sum of nodes and time over all iterations so far."""
        nodes, ms = self._spent.get(index, (0, 0.0))
        self._spent[index] = (nodes + line.nodes, ms + line.time_ms)
        line = self._summed(index, line)
        if self._settings.verbose >= 2 and line.depth >= self._settings.noise:
            self._shown[index] = line
            self.row(edax.search_row(line, self._black))

    @property
    def attempts(self) -> Progress | None:
        """The progress callback for searches of parts of the window; None below verbosity 3."""
        return self._attempt if self._settings.verbose >= 3 else None

    def _attempt(self, index: int, line: Line) -> None:
        if line.depth >= self._settings.noise:
            self.row(edax.search_row(line, self._black))

    def finish(self, result: Result, again: bool = False, note: str = "") -> None:
        """Print the final result. A line equal to its last iteration is printed ``again`` only if asked for."""
        for index, line in enumerate(result.lines):
            line = self._summed(index, line)
            if len(result.lines) == 1:
                line = line._replace(nodes=result.nodes, time_ms=result.time_ms)
            shown = self._shown.get(index)
            if again or shown is None or shown[:7] != line[:7]:
                self.row(edax.search_row(line, self._black, result.complete), note)

    def _summed(self, index: int, line: Line) -> Line:
        nodes, ms = self._spent.get(index, (line.nodes, line.time_ms))
        return line._replace(nodes=nodes, time_ms=ms)

    def row(self, row: edax.SearchRow, note: str = "") -> None:
        """Print a row, with a remark after it."""
        line = self._form(row, self._settings.width)
        self._text.say(f"{line} {note}" if note else line)
