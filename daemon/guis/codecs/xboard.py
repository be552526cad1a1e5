"""The Chess Engine Communication Protocol (XBoard's), version 2, for Othello.

XBoard's White moves first and stands for Othello's Black; its ranks are numbered like ours. Discs are pawns that are
dropped, ``P@f5``; a pass is ``@@@@``.
"""

from __future__ import annotations

from collections.abc import Sequence

from desdaemon.protocol import satellites
from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import CHESS_VARIANTS, Position, move_text, parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.rows import Command

SPINS = {
    chooser.option.name.capitalize(): chooser.option
    for satellite in satellites.present("choosers")
    for chooser in satellite.choosers
}
"""The options that XBoard shows, by their names there: those that say who chooses the moves."""

COMMANDS = (
    Command("xboard", (), "", "The first line; nothing is answered."),
    Command("protover", (), "n", "Tell the features, `done=1` once the engine is loaded."),
    Command("accepted", (), "feature", "Nothing."),
    Command("rejected", (), "feature", "Nothing."),
    Command("variant", (), "name", "othello or reversi: the opening position, answered with its `setup`."),
    Command("new", (), "", "A new game; the engine moves second, without limits."),
    Command("quit", (), "", "Leave; a search ends."),
    Command("random", (), "", "Nothing."),
    Command("computer", (), "", "Nothing."),
    Command("name", (), "text", "Nothing."),
    Command("rating", (), "own other", "Nothing."),
    Command("ics", (), "host", "Nothing."),
    Command("draw", (), "", "Nothing: an offer is declined."),
    Command("result", (), "text", "The game is over: a search and the time after it end."),
    Command("force", (), "", "Take moves of both sides; a search ends and its move is not played."),
    Command("go", (), "", "Play the side to move from now on, and move."),
    Command("playother", (), "", "Play the side that is not to move from now on."),
    Command("usermove", (), "move", "The other side's move; a bare move is one as well."),
    Command("?", (), "", "Move now."),
    Command("ping", (), "n", "`pong n`, when all that came before it is done."),
    Command(
        "setboard", (), "fen", "A position, what is in brackets aside; XBoard's own board after a pass is the pass."
    ),
    Command("undo", (), "", "Take back a move."),
    Command("remove", (), "", "Take back two moves."),
    Command("hint", (), "", "A move for the side to move: `Hint: P@d3`."),
    Command("bk", (), "", "The book's moves here, in lines that begin with a tabulator."),
    Command(
        "level", (), "moves base increment", "Clocks: minutes or m:ss for a number of moves (0: all), seconds a move."
    ),
    Command("st", (), "seconds", "Time for each move, instead of `level`."),
    Command("sd", (), "depth", "Most plies to search."),
    Command("time", (), "centiseconds", "The engine's clock."),
    Command("otim", (), "centiseconds", "The opponent's clock."),
    Command("hard", (), "", "Think in the opponent's time."),
    Command("easy", (), "", "Do not."),
    Command("post", (), "", "Show what is thought: depth, hundredths of discs, centiseconds, nodes, line of play."),
    Command("nopost", (), "", "Do not."),
    Command("analyze", (), "", "Search the position on the board, and those that come on it, without end."),
    Command("exit", (), "", "Leave the analysis."),
    Command(".", (), "", "How far the analysis is: `stat01: time nodes depth 0 0`."),
    Command("memory", (), "mb", "Size of the transposition table."),
    Command("cores", (), "n", "Search threads."),
    *(Command("option", (), f"{spin}=n", option.help) for spin, option in SPINS.items()),
)

COMMAND_NAMES = frozenset(command.name for command in COMMANDS)

START_FEN = "8/8/8/3Pp3/3pP3/8/8/8"
HOLDINGS = f"[{'P' * 32}{'p' * 32}]"
SETUP = f"setup (P.....p.....) 8x8+1_crazyhouse {START_FEN}{HOLDINGS} w - - 0 1"

MOST_CENTISECONDS = 10**10

_FEATURES = "setboard=1 playother=1 ping=1 draw=0 sigint=0 sigterm=0 analyze=1 colors=0 nps=0 memory=1 smp=1 reuse=1"


def feature_line(name: str) -> str:
    """Return the line with the engine's ``name`` and features, without the final ``done=1``."""
    options = "".join(f' option="{spin} -spin 0 0 {option.high}"' for spin, option in SPINS.items())
    return f'feature myname="{name}" variants="{",".join(CHESS_VARIANTS)}" {_FEATURES}{options}'


def split_line(line: str) -> tuple[str, str]:
    """Return the first word of a line, and the rest."""
    parts = line.strip().split(None, 1)
    return (parts[0], parts[1] if len(parts) > 1 else "") if parts else ("", "")


def parse_drop(text: str) -> int | None:
    """Return the move of a text such as ``P@f5``, ``f5`` or ``@@@@``; None if `parse_move` cannot read it."""
    try:
        return parse_move(text)
    except BadInput:
        return None


def drop_text(move: int) -> str:
    """Return a move as ``P@f5``, a pass as ``@@@@``."""
    return "@@@@" if move == PASS else f"P@{move_text(move).lower()}"


def unturned(initial: Position, moves: Sequence[int]) -> Position:
    """Return the position as XBoard sees it after ``moves``. XBoard drops discs and turns none."""
    discs = [initial.black, initial.white]
    black_to_move = initial.black_to_move
    for move in moves:
        if move != PASS:
            discs[0 if black_to_move else 1] |= 1 << move
        black_to_move = not black_to_move
    black, white = discs
    return Position(black, white, True) if black_to_move else Position(white, black, False)


def result_line(position: Position) -> str:
    """Return the claim at the end of a game, such as ``1-0 {White wins 40-24}``: XBoard's White is Othello's Black.
    Empty squares are not counted.
    """
    score = black_score(position)
    first, second = position.black.bit_count(), position.white.bit_count()
    if score > 0:
        return f"1-0 {{White wins {first}-{second}}}"
    return f"0-1 {{Black wins {second}-{first}}}" if score else f"1/2-1/2 {{Draw {first}-{second}}}"


def thinking_line(depth: int, score: MoverScore, ms: float, nodes: int, pv: tuple[int, ...]) -> str:
    """Return the line about a search: plies, 1/100 discs for the side to move, centiseconds, nodes, line of play."""
    return f"{depth:2d} {100 * score:5d} {int(ms / 10):6d} {nodes:10d} {' '.join(map(drop_text, pv))}".rstrip()


def parse_level(text: str) -> tuple[int, float, float]:
    """Return the clock that ``text``, after XBoard's command ``level``, sets, such as ``40 5 0`` or ``0 2:30 1.5``: the
    moves to each time control, 0 for the whole game; the ms for these moves; the ms added with each move. Raises
    `BadInput`.
    """
    fields = text.split()
    if len(fields) == 3:
        moves = whole_number(fields[0])
        minutes, _, seconds = fields[1].partition(":")
        base = _number(minutes), _number(seconds or "0")
        increment = _number(fields[2])
        if moves is not None and 0 <= moves <= 10**6 and None not in (*base, increment):
            return moves, 60_000 * (base[0] or 0.0) + 1000 * (base[1] or 0.0), 1000 * (increment or 0.0)
    raise BadInput(f"level {quoted(text)}: expected moves, minutes or m:ss, and an increment in seconds")


def parse_seconds(command: str, text: str) -> float:
    """Return the milliseconds of a number of seconds above 0 and at most a year; raises `BadInput` for other text."""
    seconds = _number(text.strip())
    if not seconds:
        raise BadInput(f"{command} {quoted(text)}: expected a number of seconds")
    return 1000 * seconds


def _number(text: str) -> float | None:
    """Return a decimal number from 0 to the seconds of a year; None for other text."""
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 12:
        return None
    value = float(text)
    return value if value <= 31_536_000 else None


def pass_is_missing(position: Position, move: int) -> bool:
    """Return whether ``move`` is legal only after a forced pass that is missing before it."""
    return move != PASS and position.must_pass and bool(position.after(PASS).moves >> move & 1)
