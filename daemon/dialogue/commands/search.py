"""The commands that search: ``go``, ``hint``, ``eval``, ``analyze``, and the table that a search prints.

They run on the dialogue's thread and wait until the engine is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.dialogue.clock import speedup
from desdaemon.dialogue.session import CommandContext, Session
from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, equivalents
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore, opposite
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.terminal import ProgressLine

if TYPE_CHECKING:
    from desdaemon.core.search.loader import Progress
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

MOST_HINTS = 60
LONG_S = 2.0
"""Seconds that a search takes of which it is told beforehand."""


class SearchTable:
    """Prints a search as Edax does: the final result and, at verbosity 2 or more, a row for each iteration.

    For the thread that searches.
    """

    def __init__(
        self, context: CommandContext, black_to_move: bool, form: Callable[[edax.SearchRow, int], str] = edax.table_line
    ) -> None:
        """``form`` makes the text of a row; its second argument is the option `width`, in columns."""
        self._context = context
        self._black = black_to_move
        self._settings = context.settings
        self._form = form
        self._shown: dict[int, Line] = {}
        """The line printed last, by rank."""
        self._spent: dict[int, tuple[int, float]] = {}
        """Nodes and ms of all iterations so far, by rank of the line."""
        self._progress = ProgressLine(wanted=not context.session.remote)

    def foretell(self, position: Position, limits: Limits, what: str = "") -> None:
        """At a terminal, show after ``what`` how long a search to the end takes, if that is long, until a row is
        printed. Waits until the engine is loaded.
        """
        exact = limits.depth >= position.empties and limits.selectivity == Selectivity.FULL
        if not exact or limits.nodes or limits.time_ms or not self._progress.live:
            return
        from .solve_time import nodes_a_second, nodes_to_solve, told

        # The speed is measured by kernels that the engine has loaded.
        self._context.session.engine()
        seconds = nodes_to_solve(position) / nodes_a_second() / speedup(self._settings.threads)
        if seconds >= LONG_S:
            self._progress.show(f"{what}search to the end: {told(seconds)}")

    def progress(self, index: int, line: Line) -> None:
        """At verbosity 2 or more, print a finished iteration of the line with rank ``index``, if it has at least the
        depth `noise`, with the nodes and time of all iterations so far.
        """
        nodes, ms = self._spent.get(index, (0, 0.0))
        self._spent[index] = (nodes + line.nodes, ms + line.time_ms)
        line = self._summed(index, line)
        if self._settings.verbose >= 2 and line.depth >= self._settings.noise:
            self._shown[index] = line
            self.row(edax.search_row(line, self._black))

    @property
    def attempts(self) -> Progress | None:
        """The callback for searches that ended with a bound only; None below verbosity 3."""
        return self._attempt if self._settings.verbose >= 3 else None

    def _attempt(self, index: int, line: Line) -> None:
        if line.depth >= self._settings.noise:
            self.row(edax.search_row(line, self._black))

    def finish(self, result: Result, again: bool = False, note: str = "") -> None:
        """Print each line of the final result, with ``note`` after it. A line that equals the row printed last for its
        rank is left out, unless ``again`` is set.
        """
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
        """Print a row with ``note`` after it."""
        self._progress.clear()
        line = self._form(row, self._settings.width)
        self._context.say(f"{line} {note}" if note else line)


def go(context: CommandContext, argument: str) -> None:
    session = context.session
    position = session.game.position
    verbose = context.settings.verbose > 0
    if position.over:
        # A board says so too; Edax says it with both.
        if not context.shows_boards or context.settings.edax_compatible:
            context.say(f"\n{edax.GAME_OVER}")
        return
    table = SearchTable(context, position.black_to_move)

    def on_search() -> None:
        if verbose:
            context.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
            table.foretell(position, session.limits(position))

    move, result = session.choose(table.progress, on_search, table.attempts)
    if verbose and result:
        table.finish(result)
        context.say(edax.TABLE_RULE)
    session.play_move(move)
    context.moved = True
    context.say(f"\n{context.settings.engine_name} plays {context.announced(move)}")


def hint(context: CommandContext, argument: str) -> None:
    session = context.session
    position = session.game.position
    wanted = number_within("hint", argument or "1", 1, 10**9)
    verbose = context.settings.verbose > 0
    if verbose:
        context.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
    # Edax has no hint where a pass is forced.
    if not position.over and not (context.settings.edax_compatible and position.must_pass):
        table = SearchTable(context, position.black_to_move)
        book_moves = []
        for book_move in session.known_moves(position, wanted):
            context.say(edax.book_line(book_move.score, book_move.line, position.black_to_move, context.settings.width))
            book_moves.append(book_move.move)
        rest = position.moves & ~sum(1 << move for move in book_moves if move != PASS)
        wanted -= len(book_moves)
        if wanted > 0 and (rest or not book_moves):
            limits, number = session.limits(position), min(wanted, max(1, rest.bit_count()), MOST_HINTS)
            if verbose and number == 1:
                table.foretell(position, limits)
            result = session.search(
                position,
                limits,
                multipv=number,
                allow=rest if book_moves else rules.FULL,
                progress=table.progress,
                attempts=table.attempts,
            )
            table.finish(result)
    if verbose:
        context.say(edax.TABLE_RULE)


def evaluate(context: CommandContext, argument: str) -> None:
    position = context.session.game.position
    if position.over:
        score = float(rules.final_score(position.player, position.opponent))
    else:
        score = context.session.engine().searcher.evaluate(position.player, position.opponent)
    context.say(f"eval = {min(64.0, max(-64.0, score)):+.2f}")


def analyze(context: CommandContext, argument: str) -> None:
    plies = len(context.session.game.moves)
    last = min(plies, number_within("analyze", argument, 1, 10**9)) if argument else plies
    context.say(edax.ANALYSIS_HEADER)
    game = []
    for judged in judged_moves(context.session, last):
        game.append(judged)
        context.say(edax.analysis_line(judged, context.settings.engine_name))
    context.say(edax.analysis_summary(game))


# Analysis


class _Value(NamedTuple):
    score: MoverScore
    """Score in discs for the side to move."""
    exact: bool
    """Whether the score is proved."""
    full: bool
    """Whether the position was searched to the end of the game."""
    depth: int
    """Plies searched."""
    selectivity: Selectivity


def judged_moves(session: Session, plies: int) -> Iterator[JudgedMove]:
    """Yield a judgement of each of the last ``plies`` moves except passes: its score and the best other move's.

    The last move comes first, so that the more certain scores late in the game correct those of earlier moves. A stop
    ends the iteration before the move that was being judged.
    """
    positions = session.game.positions()
    moves = list(session.game.moves)
    first = len(moves) - plies
    bounded = all(session.limits(position).bounded for position in positions[first:])
    with session.interrupt.searching(bounded) as search:
        if plies:
            value = _position_value(session, positions[-1])
        for index in range(len(moves) - 1, first - 1, -1):
            if search.stopped:
                return
            value = value._replace(score=opposite(value.score), depth=value.depth + (moves[index] != PASS))
            if moves[index] == PASS:
                continue
            judged = _judge(session, positions[index], moves[index], value, index + 1)
            if search.stopped:
                return
            if judged.other is not None:
                full = judged.played.full and judged.other.full
                value = _Value(max(value.score, judged.other.score), judged.exact, full, *judged.other[2:4])
            yield judged


def _judge(session: Session, position: Position, move: int, value: _Value, ply: int) -> JudgedMove:
    """Return a judgement of ``move``, number ``ply`` of its game from 1, with the score ``value`` for the side that
    plays it. If there is another move, a search finds the best one to compare.
    """
    limits = session.limits(position)
    # A clock, a node limit or a stop may have ended the search before that depth.
    depth, selectivity = min(limits.depth, value.depth), min(limits.selectivity, value.selectivity)
    played = SearchedMove(move, value.score, depth, selectivity, value.exact, value.full)
    others = position.moves & ~equivalents(position, move)
    result = session.search(position, limits, allow=others) if others else None
    if result is None or not result.lines:
        return JudgedMove(ply, position, played, None)
    line = result.lines[0]
    full = line.depth >= position.empties
    other = SearchedMove(line.move, line.score, line.depth, line.selectivity, line.exact, full)
    return JudgedMove(ply, position, played, other)


def _position_value(session: Session, position: Position) -> _Value:
    if position.over:
        score = rules.final_score(position.player, position.opponent)
        return _Value(score, True, True, position.empties, Selectivity.FULL)
    line = session.search(position, session.limits(position)).lines[0]
    return _Value(line.score, line.exact, line.depth >= position.empties, line.depth, line.selectivity)
