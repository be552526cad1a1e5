"""The output of Edax's text protocol, column by column; no state, no I/O.

Scores are discs for the side to move; durations are milliseconds. In the search table's lines of play Black's moves are
in lower case and White's in upper case; in announcements and the analysis it is the reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, move_text
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

if TYPE_CHECKING:
    from desdaemon.protocol.games.judgement import JudgedMove

GAME_OVER = "*** Game Over ***"
TABLE_HEADER = " depth|score|       time   |  nodes (N)  |   N/s    | principal variation"
TABLE_RULE = "------+-----+--------------+-------------+----------+----------------------"
DETAILED_RULE = "------+-----+--------------+-------------+----------+---------------------"
"""The rule above and below the searches of one problem."""
SOLVE_HEADER = " # | depth|score|       time   |  nodes (N)  |   N/s    | principal variation"
SOLVE_RULE = "---+------+-----+--------------+-------------+----------+---------------------"
ANALYSIS_HEADER = """
              N     played        alternative
ply  level   alt. move  score     score   move
---+-------+-----+-----------+--+---------------"""

EXACT, AT_MOST, AT_LEAST, UNFINISHED = " ", "<", ">", "?"
"""Marks before a score: exact, upper bound, lower bound, from a search that was stopped."""

_PV_COLUMN = 52
_FILES = "  A B C D E F G H"


class SearchRow(NamedTuple):
    """A row of the search table. ``bound`` is `EXACT`, `AT_MOST`, `AT_LEAST` or `UNFINISHED`.

    ``score`` is in discs for the side to move (Black if ``black_to_move``); ``depth`` in plies; ``pv`` the moves of
    both sides in turn.
    """

    depth: int
    selectivity: Selectivity
    bound: str
    score: MoverScore
    time_ms: float
    nodes: int
    pv: tuple[int, ...]
    black_to_move: bool


class SearchedLine(Protocol):
    """The result of a search for one move; its score lies from ``lower`` to ``upper``, discs for the side to move."""

    @property
    def depth(self) -> int: ...
    @property
    def selectivity(self) -> Selectivity: ...
    @property
    def score(self) -> MoverScore: ...
    @property
    def lower(self) -> MoverScore: ...
    @property
    def upper(self) -> MoverScore: ...
    @property
    def exact(self) -> bool: ...
    @property
    def time_ms(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def pv(self) -> tuple[int, ...]: ...


def search_row(line: SearchedLine, black_to_move: bool, complete: bool = True) -> SearchRow:
    """Return the result of a search as a row of the table. Its ``bound`` is `AT_LEAST` or `AT_MOST` if the score equals
    only the lower or only the upper bound of the result. ``complete`` is false if the search was stopped; a score that
    is not proved is then `UNFINISHED` instead.
    """
    if not complete and not line.exact:
        bound = UNFINISHED
    elif line.lower == line.score < line.upper:
        bound = AT_LEAST
    elif line.lower < line.score == line.upper:
        bound = AT_MOST
    else:
        bound = EXACT
    return SearchRow(line.depth, line.selectivity, bound, line.score, line.time_ms, line.nodes, line.pv, black_to_move)


def clock_text(ms: float) -> str:
    """Return a duration as ``0:00.303``, ``1:02:03.004`` with hours, ``02:01:02:03.004`` with days."""
    seconds, millis = divmod(round(ms), 1000)
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}:{seconds:02d}.{millis:03d}"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}:{minutes:02d}:{seconds:02d}.{millis:03d}"
    days, hours = divmod(hours, 24)
    return f"{days:02d}:{hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}"


def line_text(pv: tuple[int, ...], black_to_move: bool) -> list[str]:
    """Return the moves of a line of play, Black's in lower case and White's in upper case."""
    words = []
    for move in pv:
        word = move_text(move)
        words.append(word.lower() if black_to_move else word)
        black_to_move = not black_to_move
    return words


def table_line(row: SearchRow, width: int = 80) -> str:
    """Return a row of the search table. Its line of play is cut to keep the row below ``width`` columns; the 52 columns
    before it are never cut.
    """
    shown = max(0, width - _PV_COLUMN) // 3
    return _table_columns(row, shown)


def book_line(score: MoverScore, pv: tuple[int, ...], black_to_move: bool, width: int = 80) -> str:
    """Return a row of the search table for a book move, which was not searched."""
    shown = max(0, width - _PV_COLUMN) // 3
    words = line_text(pv[:shown], black_to_move)
    return f"book    {score:+d}{'':42}" + "".join(f"{word} " for word in words)


def solve_line(number: int, row: SearchRow, width: int = 80) -> str:
    """Return a row of the table of `solve`: the number of the problem, then `detailed_line`."""
    return f"{number:3d}|{detailed_line(row, width)}"


def detailed_line(row: SearchRow, width: int = 80) -> str:
    """Return a row of the search of a problem: that of `table_line`, its line of play two moves shorter, but with at
    least one move.
    """
    return _table_columns(row, max(1, max(0, width - _PV_COLUMN) // 3 - 2))


def _table_columns(row: SearchRow, shown: int) -> str:
    depth = f"{row.depth:2d}@{row.selectivity:2d}% " if row.selectivity < 100 else f"   {row.depth:2d}  "
    if row.nodes:
        speed = f"{round(row.nodes * 1000 / row.time_ms):10d}" if row.time_ms >= 1 else " " * 10
        effort = f"{row.nodes:13d} {speed}"
    else:
        effort = " " * 24
    moves = " ".join(line_text(row.pv[:shown], row.black_to_move))
    padded = f"{moves:<{max(0, 3 * shown - 1)}}"
    return f"{depth}{row.bound}{row.score:+03d} {clock_text(row.time_ms):>15} {effort} {padded}"


def board_diagram(
    position: Position, initial: Position, moves: tuple[int, ...], black_ms: float, white_ms: float
) -> str:
    """Return the board that is shown before the prompt: discs and legal moves, counts, the time used by each side, the
    order of the moves.

    ``moves`` led from ``initial`` to ``position``, passes included. The text has no newline at its end.
    """
    left = _disc_rows(position)
    middle = _middle_rows(position, len(moves), black_ms, white_ms)
    right = _move_rows(initial, moves)
    lines = ["  A B C D E F G H            BLACK            A  B  C  D  E  F  G  H"]
    for rank in range(8):
        lines.append(f"{rank + 1} {left[rank]} {rank + 1}{middle[rank]:24}{rank + 1} {right[rank]} {rank + 1}")
    lines.append("  A B C D E F G H            WHITE            A  B  C  D  E  F  G  H")
    return "\n".join(lines)


def compact_board(position: Position) -> str:
    """Return the board in ten lines, with side to move, discs, moves and empties in the places of Edax's board."""
    player, opponent = ("*", "O") if position.black_to_move else ("O", "*")
    rows = [f"{rank + 1} {row} {rank + 1}" for rank, row in enumerate(_disc_rows(position))]
    rows[1] += f" {player} to move"
    rows[3] += _side(player, position.player, position.opponent)
    rows[4] += _side(opponent, position.opponent, position.player)
    rows[5] += f"  empties = {position.empties:2d}      ply = {61 - position.empties:2d}"
    return "\n".join([_FILES, *rows, _FILES])


def _side(mark: str, own: int, other: int) -> str:
    moves = rules.legal_moves(own, other).bit_count()
    return f" {mark}: discs = {own.bit_count():2d}    moves = {moves:2d}"


def _disc_rows(position: Position) -> list[str]:
    moves = position.moves
    cells = []
    for square in range(64):
        if position.black >> square & 1:
            cells.append("*")
        elif position.white >> square & 1:
            cells.append("O")
        else:
            cells.append("." if moves >> square & 1 else "-")
    return [" ".join(cells[8 * rank : 8 * rank + 8]) for rank in range(8)]


def _middle_rows(position: Position, plies: int, black_ms: float, white_ms: float) -> list[str]:
    black, white = position.black, position.white
    rows = [
        f"{clock_text(black_ms):>17}",
        _count_row(black, white),
        "",
        f"  ply {plies + 1:2d} ({position.empties:2d} empties)",
        "    Black's turn (*)" if position.black_to_move else "    White's turn (O)",
        "",
        _count_row(white, black),
        f"{clock_text(white_ms):>17}",
    ]
    if position.over:
        balance = black.bit_count() - white.bit_count()
        rows[3] = "      Game over"
        rows[4] = "      Black won" if balance > 0 else "      White won" if balance < 0 else "         draw"
    return rows


def _count_row(own: int, other: int) -> str:
    return f"   {own.bit_count():2d} discs  {rules.legal_moves(own, other).bit_count():2d} moves"


def _move_rows(initial: Position, moves: tuple[int, ...]) -> list[str]:
    cells = ["  "] * 64
    for square in range(64):
        if initial.black >> square & 1:
            cells[square] = "##"
        elif initial.white >> square & 1:
            cells[square] = "()"
    for number, move in enumerate(moves, 1):
        if move < 64:
            cells[move] = f"{number:2d}"
    return ["|" + "|".join(cells[8 * rank : 8 * rank + 8]) + "|" for rank in range(8)]


def analysis_line(judged: JudgedMove, engine: str) -> str:
    """Return a row of the analysis; ``engine`` is the name in remarks such as ``<- desdaemon disagrees``. If the move
    is compared with no other, the row ends with its score.
    """
    search = judged.best
    depth = f"  {search.depth:2d}   "
    if search.selectivity < 100:
        depth = f"{search.depth:2d}@{search.selectivity:2d}% "
    black = judged.position.black_to_move
    line = f"{judged.ply:3d} {depth} {judged.choices:3d}    {_coloured(judged.move, black)}{judged.played.score:+7d}"
    if judged.other is None:
        return line
    better = judged.other.score - judged.played.score
    relation = "<" if better > 0 else ">" if better < 0 else "="
    line += f"   {relation}{judged.other.score:+6d}     {_coloured(judged.other.move, black)} "
    return line + _remark(judged, engine)


def _coloured(move: int, black: bool) -> str:
    return move_text(move) if black else move_text(move).lower()


def _remark(judged: JudgedMove, engine: str) -> str:
    if not judged.loss:
        return ""
    if judged.exact:
        return "<- Mistake"
    if judged.played.full and judged.best.full:
        return "<- Possible mistake"
    return f"<- {engine} disagrees" + (" strongly" if judged.loss > 4 else "")


def analysis_summary(game: list[JudgedMove]) -> str:
    """Return a table with a row for each side. It has two groups of columns: "rejections" are about the moves whose
    scores are not proved, "errors" about those whose scores are (`JudgedMove.exact`). A group has the number of its
    moves that lost discs, the number of all its moves, and the discs lost. The error rate is the discs lost in the
    second group, divided by the number of all moves of that group.
    """
    lines = ["", "      | rejections : discs | errors    : discs | error rate |"]
    for name, black in (("Black", True), ("White", False)):
        own = [judged for judged in game if judged.position.black_to_move == black]
        worse, total, discs = _tally([judged for judged in own if not judged.exact])
        cells = f" {worse:3d} / {total:3d}  : {discs:+5d} |"
        worse, total, discs = _tally([judged for judged in own if judged.exact])
        cells += f" {worse:3d} / {total:3d} : {discs:+5d} |"
        rate = f"{discs / total:10.3f}" if total else f"{'-':>10}"
        lines.append(f"{name} |{cells} {rate} |")
    return "\n".join(lines)


def _tally(game: list[JudgedMove]) -> tuple[int, int, int]:
    """Return the numbers of moves that lost discs and of all moves, and the sum of discs lost."""
    losses = [judged.loss for judged in game if judged.loss]
    return len(losses), len(game), sum(losses)


def solve_summary(name: str, nodes: int, ms: float, cpu_ms: float) -> str:
    """Return the line that `solve` prints below its problems: nodes, both times as ``0:00.303``, and nodes per second
    if ``ms`` is at least 1.

    ``ms`` is wall-clock time, ``cpu_ms`` processor time; ``name`` is cut to 30 characters.
    """
    speed = f" ({round(nodes * 1000 / ms)} nodes/s)" if ms >= 1 else ""
    return f"{name[:30]}: {nodes} nodes in {clock_text(ms):>9} (cpu = {clock_text(cpu_ms):>9}){speed}."
