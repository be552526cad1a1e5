"""Handlers of the commands that search (``go``, ``hint``, ``eval``, ``analyze``, ``solve``). Each waits for the engine
if it is not loaded yet.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text

if TYPE_CHECKING:
    from desdaemon.dialects.text import TextDialect
    from desdaemon.engine.result import Line, Result
    from desdaemon.session.session import Progress

MOST_HINTS = 60


def search_row(line: Line, black_to_move: bool, complete: bool = True) -> edax.SearchRow:
    """A line of a search as a row of the table."""
    if not complete and not line.exact:
        bound = edax.UNFINISHED
    elif line.lower == line.score < line.upper:
        bound = edax.AT_LEAST
    elif line.lower < line.score == line.upper:
        bound = edax.AT_MOST
    else:
        bound = edax.EXACT
    return edax.SearchRow(
        line.depth, line.selectivity, bound, line.score, line.time_ms, line.nodes, line.pv, black_to_move
    )


class SearchTable:
    """Prints the table of a search, with as many rows as the verbosity asks for. Used by the thread that searches."""

    def __init__(
        self, text: TextDialect, black_to_move: bool, form: Callable[[edax.SearchRow, int], str] = edax.table_line
    ) -> None:
        """``form`` makes a line of a row and the width of the table."""
        self._text = text
        self._black = black_to_move
        self._settings = text.session.settings
        self._form = form
        self._shown: dict[int, Line] = {}
        self._spent: dict[int, tuple[int, float]] = {}

    def progress(self, index: int, line: Line) -> None:
        """A finished iteration; its row counts the nodes and the time of those before it too."""
        nodes, ms = self._spent.get(index, (0, 0.0))
        self._spent[index] = (nodes + line.nodes, ms + line.time_ms)
        line = self._summed(index, line)
        if self._settings.verbose >= 2 and line.depth >= self._settings.noise:
            self._shown[index] = line
            self.row(search_row(line, self._black))

    @property
    def attempts(self) -> Progress | None:
        """The progress callback for searches of parts of the window; None below verbosity 3."""
        return self._attempt if self._settings.verbose >= 3 else None

    def _attempt(self, index: int, line: Line) -> None:
        if line.depth >= self._settings.noise:
            self.row(search_row(line, self._black))

    def finish(self, result: Result, again: bool = False, note: str = "") -> None:
        """The last word; a line that was its last iteration already is shown ``again`` only on demand."""
        for index, line in enumerate(result.lines):
            line = self._summed(index, line)
            if len(result.lines) == 1:
                line = line._replace(nodes=result.nodes, time_ms=result.time_ms)
            shown = self._shown.get(index)
            if again or shown is None or shown[:7] != line[:7]:
                self.row(search_row(line, self._black, result.complete), note)

    def _summed(self, index: int, line: Line) -> Line:
        nodes, ms = self._spent.get(index, (line.nodes, line.time_ms))
        return line._replace(nodes=nodes, time_ms=ms)

    def row(self, row: edax.SearchRow, note: str = "") -> None:
        """Print a row, and a remark behind it."""
        line = self._form(row, self._settings.width)
        self._text.say(f"{line} {note}" if note else line)


def _go(text: TextDialect, argument: str) -> None:
    session = text.session
    position = session.game.position
    if position.over:
        text.say("\n*** Game Over ***")
        return
    show = text.session.settings.verbose > 0
    table = SearchTable(text, position.black_to_move)

    def on_search() -> None:
        if show:
            text.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")

    move, result = session.choose(table.progress, on_search, table.attempts)
    if show and result:
        table.finish(result)
        text.say(edax.TABLE_RULE)
    session.play_move(move)
    text.played()
    text.say(f"\n{session.settings.engine_name} plays {move_text(move)}")


def _hint(text: TextDialect, argument: str) -> None:
    session = text.session
    position = session.game.position
    wanted = number_within("hint", argument or "1", 1, 10**9)
    show = session.settings.verbose > 0
    if show:
        text.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
    if not position.over:
        table = SearchTable(text, position.black_to_move)
        known = []
        for found in session.known_moves(position, wanted):
            text.say(edax.book_line(found.score, found.line, position.black_to_move, session.settings.width))
            known.append(found.move)
        rest = position.moves & ~sum(1 << move for move in known if move != rules.PASS)
        wanted -= len(known)
        if wanted > 0 and (rest or not known):
            result = session.search(
                position,
                session.limits(position),
                multipv=min(wanted, max(1, rest.bit_count()), MOST_HINTS),
                allow=rest if known else rules.FULL,
                progress=table.progress,
                attempts=table.attempts,
            )
            table.finish(result)
    if show:
        text.say(edax.TABLE_RULE)


def _eval(text: TextDialect, argument: str) -> None:
    position = text.session.game.position
    if position.over:
        score = float(rules.final_score(position.player, position.opponent))
    else:
        score = text.session.engine().searcher.evaluate(position.player, position.opponent)
    text.say(f"eval = {min(64.0, max(-64.0, score)):+.2f}")


def _analyze(text: TextDialect, argument: str) -> None:
    from .analysis import verdicts

    plies = len(text.session.game.moves)
    last = min(plies, number_within("analyze", argument, 1, 10**9)) if argument else plies
    text.say(edax.ANALYSIS_HEADER)
    found = []
    for verdict in verdicts(text.session, last):
        found.append(verdict)
        text.say(edax.analysis_line(verdict, text.session.settings.engine_name))
    text.say(edax.analysis_summary(found))


def _solve(text: TextDialect, argument: str) -> None:
    from .problems import STANDARD_INPUT, solve_file

    path, wrong = argument, ""
    # From a remote client the whole argument is a name inside the data folder.
    if " " in argument and not text.session.remote and not os.path.exists(argument):  # noqa: PTH110  pathlib costs start-up time
        path, _, wrong = argument.rpartition(" ")
    if not path or path in STANDARD_INPUT:
        raise BadInput(f"solve {quoted(argument)}: expected the name of a file of problems")
    solve_file(text, path.strip(), wrong)


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "go": _go,
    "hint": _hint,
    "eval": _eval,
    "analyze": _analyze,
    "solve": _solve,
}
