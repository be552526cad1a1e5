"""The Go Text Protocol (GTP), version 2, as Othello programs speak it: its commands, lines and answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, parse_move, square_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, MoverScore
from desdaemon.protocol.rows import Command

COMMANDS = (
    Command("protocol_version", (), "", "2."),
    Command("name", (), "", "The program's name."),
    Command("version", (), "", "Its version."),
    Command("known_command", (), "command", "true or false."),
    Command("list_commands", (), "", "The names of all commands, a line each."),
    Command("quit", (), "", "Answer and leave."),
    Command("list_games", (), "", "Othello."),
    Command("set_game", (), "game", "Accept Othello (or Reversi), no other game."),
    Command("boardsize", (), "8", "Accept 8, no other size; the board stays as it is."),
    Command("clear_board", (), "", "Set up the opening position; the clocks start again."),
    Command("komi", (), "number", "Accepted without effect."),
    Command("play", (), "colour move", "Play a move or a pass; a forced pass that was left out is put in."),
    Command("genmove", (), "colour", "Search, play and answer the move, `pass` where there is none."),
    Command("reg_genmove", (), "colour", "Search and answer a move without playing it."),
    Command("undo", (), "", "Take back a move, and a pass before it that was put in."),
    Command("gg-undo", (), "[n]", "Take back n moves, or none where there are fewer."),
    Command(
        "time_settings", (), "main period stones", "Clocks for both sides, in seconds; a period of 0 stones: none."
    ),
    Command("time_left", (), "colour seconds stones", "What a side's clock shows; 0 stones: main time."),
    Command("loadsgf", (), "file [n]", "Load a game from an SGF file, as it was before its move n."),
    Command("final_score", (), "", "`B+6`, `W+12` or `0`, the empty squares to the winner; an error before the end."),
    Command("showboard", (), "", "A diagram, rank 1 first."),
    Command("set_level", (), "n", "Play and analyse at level n, as the option."),
    Command("set_strength", (), "rating", "Play as people of this rating do, as the option; 0 is off."),
    Command("cputime", (), "", "Processor time of the program, in seconds."),
    Command("gogui-rules_game_id", (), "", "Othello."),
    Command("gogui-rules_board_size", (), "", "8."),
    Command("gogui-rules_board", (), "", "Eight lines of `X`, `O` and `.`, rank 8 first, as GoGui counts from below."),
    Command("gogui-rules_legal_moves", (), "", "The legal moves, `pass`, or nothing when the game is over."),
    Command("gogui-rules_side_to_move", (), "", "black or white."),
    Command("gogui-rules_final_result", (), "", "The result in words; nothing before the end."),
    Command("gogui-rules_board_gfx", (), "", "The legal moves, marked for GoGui."),
    Command("gogui-rules_captured_count", (), "", "`0 0`: no discs are captured."),
    Command("gogui-rules_setup", (), "", "Nothing: there are no special rules for setting up boards."),
    Command("gogui-setup", (), "colour square ...", "Set up a board of these discs, Black to move."),
    Command("gogui-setup_player", (), "colour", "Give that side the move; a new game begins on the board."),
    Command("gogui-version", (), "", "The program's version."),
    Command("gogui-play_sequence", (), "colour move ...", "Play moves of both colours, or none where one is illegal."),
    Command("gogui-interrupt", (), "", "Says that the comment line `# interrupt` ends a search."),
    Command("gogui-title", (), "", "A title for GoGui's window."),
    Command("gogui-analyze_commands", (), "", "The commands that GoGui offers as analysis."),
    Command("gogui-param", (), "[key value]", "The parameters: level, threads, times, book and more; or change one."),
    Command(
        "lz-analyze", (), "[colour] [centiseconds]", "What is found of all moves, in lines, until the next line comes."
    ),
    Command("kata-analyze", (), "[colour] [centiseconds]", "The same in KataGo's form, with scores in discs."),
    Command("lz-genmove_analyze", (), "colour [centiseconds]", "Such lines, then `play` and the move that is played."),
    Command("kata-genmove_analyze", (), "colour [centiseconds]", "The same in KataGo's form."),
    Command("desdaemon-book", (), "command ...", "A book command as in the text protocol, see its `help book`."),
    Command("desdaemon-hint", (), "[n]", "The n best moves (default 1): move, score for who moves, depth, line."),
    Command("desdaemon-hint_gfx", (), "", "The scores of all moves, as GoGui draws them on the board."),
)

COMMAND_NAMES = frozenset(command.name for command in COMMANDS)

ANALYZE_COMMANDS = (
    "gfx/Scores of all moves/desdaemon-hint_gfx",
    "hstring/Best moves/desdaemon-hint %s",
    "gfx/Legal moves/gogui-rules_board_gfx",
    "hstring/What the book knows/desdaemon-book show",
    "param/Parameters/gogui-param",
)

MOST_SECONDS = 10**9


class GtpRequest(NamedTuple):
    """A line with a command: the id or "", the command in lower case, its arguments."""

    id: str
    command: str
    arguments: list[str]


class GtpError(ValueError):
    """A command that fails. The message begins with GTP's standard words, such as "syntax error", if some apply."""


def parse_request(line: str) -> GtpRequest | None:
    """Return the request in a line; None for an empty line or a comment. A line with an id alone has the command ""."""
    words = line.split("#", 1)[0].split()
    id = ""
    if words and words[0].isascii() and words[0].isdecimal():
        id = words.pop(0)
    if not words:
        return GtpRequest(id, "", []) if id else None
    return GtpRequest(id, words[0].lower(), words[1:])


def response(id: str, text: str, failed: bool = False) -> str:
    """Return an answer, or with ``failed`` an error, and its empty last line; ``text`` must have no empty line."""
    blank = " " if text and not text.startswith("\n") else ""
    return f"{'?' if failed else '='}{id}{blank}{text}\n\n"


def parse_colour(text: str) -> bool:
    """Return true for ``b`` and ``black``, false for ``w`` and ``white``, in any case; raises `GtpError`."""
    lower = text.lower()
    if lower not in ("b", "w", "black", "white"):
        raise GtpError(f"syntax error: {quoted(text)} is not a colour: expected black or white")
    return lower.startswith("b")


def parse_vertex(text: str) -> int:
    """Return the square or pass that `parse_move` reads; raises `GtpError`."""
    try:
        return parse_move(text)
    except BadInput as error:
        raise GtpError(f"syntax error: {error}") from None


def vertex_text(move: int) -> str:
    """Return a move as ``D3`` or ``pass``."""
    return "pass" if move == PASS else square_text(move)


def colour_text(black: bool) -> str:
    """Return ``black`` or ``white``."""
    return "black" if black else "white"


def parse_count(text: str, low: int, high: int) -> int:
    """Parse a whole number from ``low`` to ``high``; raises `GtpError`."""
    number = whole_number(text)
    if number is None or not low <= number <= high:
        raise GtpError(f"syntax error: {quoted(text)}: expected a whole number from {low} to {high}")
    return number


def parse_seconds(text: str, *, overdrawn: bool = False) -> float:
    """Return the milliseconds of a number of seconds, at most `MOST_SECONDS`; raises `GtpError`. With ``overdrawn`` a
    negative number is read as 0.
    """
    whole, _, fraction = (text.removeprefix("-") if overdrawn else text).partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 30 or float(whole or "0") > MOST_SECONDS:
        raise GtpError(f"syntax error: {quoted(text)}: expected a number of seconds")
    return max(0.0, float(text) * 1000)


def legal_moves_text(position: Position) -> str:
    """Return the legal moves as GoGui reads them: ``D3 C4``, or ``pass``; "" at the end of the game."""
    if position.must_pass:
        return "pass"
    return " ".join(square_text(square) for square in rules.squares(position.moves))


def board_rows(position: Position) -> list[str]:
    """Return eight rows, rank 1 first, as ``. . X O . . . .``: ``X`` is black, ``O`` white, ``.`` empty."""
    black, white = position.black, position.white
    squares = ["X" if black >> square & 1 else "O" if white >> square & 1 else "." for square in range(64)]
    return [" ".join(squares[start : start + 8]) for start in range(0, 64, 8)]


def board_gfx(position: Position) -> str:
    """Return the commands that make GoGui mark the legal moves, and its status line."""
    moves = " ".join(square_text(square) for square in rules.squares(position.moves))
    black, white = position.black.bit_count(), position.white.bit_count()
    marked = f"CIRCLE {moves}\n" if moves else ""
    return f"{marked}TEXT Black {black}, White {white}"


def diagram(position: Position) -> str:
    """Return an empty line and the board with names of files and ranks, numbers of discs, and the side to move."""
    files = "  A B C D E F G H"
    rows = [f"{rank} {row} {rank}" for rank, row in enumerate(board_rows(position), 1)]
    black, white = position.black.bit_count(), position.white.bit_count()
    turn = "game over" if position.over else f"{colour_text(position.black_to_move)} to move"
    return "\n".join(["", files, *rows, files, f"X black {black}, O white {white}, {turn}"])


def score_text(score: BlackScore) -> str:
    """Return ``B+6``, ``W+12`` or ``0`` from Black's score."""
    return f"{'B' if score > 0 else 'W'}+{abs(score)}" if score else "0"


def result_text(position: Position) -> str:
    """Return the result in words, "" if the game is not over."""
    if not position.over:
        return ""
    score = black_score(position)
    return f"{'Black' if score > 0 else 'White'} wins by {abs(score)}" if score else "Draw"


# Analysis


class AnalyzedMove(NamedTuple):
    """An analyzed move: its score in discs for the mover, whether that is proved, nodes searched, line of play."""

    move: int
    score: MoverScore
    exact: bool
    nodes: int
    pv: tuple[int, ...]


class AnalysisOrder(NamedTuple):
    """The arguments of an analysis: the side (whether Black; None for the side to move), milliseconds between lines,
    the most moves to list, and a mask of the moves to look at.
    """

    black: bool | None
    interval_ms: int
    most: int
    allowed: int


AnalysisForm = Callable[[list[AnalyzedMove]], str]
"""A function that formats the moves of an analysis, best first, as a line."""

INTERVAL_MS = 500
LEAST_INTERVAL_MS = 10
_MOST_CENTISECONDS = 10**6
_DISCS_A_FOLD = 9.0
"""Discs by which an unproved score must grow for the odds to grow e-fold: fitted to games, docs/protocols.md."""

_IGNORED = ("minmoves", "rootInfo", "ownership", "ownershipStdev", "movesOwnership", "movesOwnershipStdev", "pvVisits")
_VALUES = (*_IGNORED, "pvEdgeVisits", "noResultValue")


def parse_analysis(arguments: list[str]) -> AnalysisOrder:
    """Parse ``[colour] [centiseconds] [interval N] [maxmoves N] [allow|avoid colour squares plies] ...``; raises
    `GtpError`.

    ``interval`` is in centiseconds too; it is raised to `LEAST_INTERVAL_MS` at least. Arguments about features that
    this program lacks, such as ``ownership true`` and the colour and plies of ``allow``, are ignored.
    """
    words = list(reversed(arguments))
    black: bool | None = None
    interval, most, allowed = INTERVAL_MS // 10, 64, rules.FULL
    if words and words[-1].lower() in ("b", "w", "black", "white"):
        black = parse_colour(words.pop())
    if words and words[-1].isdecimal():
        interval = parse_count(words.pop(), 0, _MOST_CENTISECONDS)
    while words:
        key = words.pop()
        count = 3 if key in ("allow", "avoid") else 1
        if key not in (*_VALUES, "interval", "maxmoves", "allow", "avoid") or len(words) < count:
            raise GtpError(f"syntax error: {quoted(key)}: expected interval, maxmoves, allow or avoid, and a value")
        values = [words.pop() for _ in range(count)]
        if key == "interval":
            interval = parse_count(values[0], 0, _MOST_CENTISECONDS)
        elif key == "maxmoves":
            most = parse_count(values[0], 1, 10**6)
        elif count == 3:
            parse_colour(values[0])
            squares = sum({1 << move for move in map(parse_vertex, values[1].split(",")) if move != PASS})
            parse_count(values[2], 1, 10**6)
            allowed &= squares if key == "allow" else ~squares
    return AnalysisOrder(black, max(LEAST_INTERVAL_MS, 10 * interval), min(64, most), allowed & rules.FULL)


def win_rate(candidate: AnalyzedMove) -> float:
    """Return the mover's chance to win, 0 to 1: 0, 1/2 or 1 for a proved score, else by a logistic curve of the
    discs.
    """
    if candidate.exact:
        return (1 + (candidate.score > 0) - (candidate.score < 0)) / 2
    return 1 / (1 + math.exp(-candidate.score / _DISCS_A_FOLD))


def _priors(candidates: list[AnalyzedMove]) -> list[float]:
    """Return a probability for each move, larger for a better score; they add up to 1. ``candidates`` begin with the
    best. GUIs expect the prior of a neural network here.
    """
    weights = [math.exp((candidate.score - candidates[0].score) / _DISCS_A_FOLD) for candidate in candidates]
    return [weight / sum(weights) for weight in weights]


def _line_of_play(pv: tuple[int, ...]) -> str:
    return " ".join(map(vertex_text, pv))


def lz_info(candidates: list[AnalyzedMove]) -> str:
    """Return the moves as a line of ``lz-analyze``; rates are in hundredths of a percent."""
    parts = []
    for order, (candidate, prior) in enumerate(zip(candidates, _priors(candidates), strict=True)):
        rate = round(10_000 * win_rate(candidate))
        parts.append(
            f"info move {vertex_text(candidate.move)} visits {candidate.nodes} winrate {rate} "
            f"prior {round(10_000 * prior)} lcb {rate} order {order} pv {_line_of_play(candidate.pv)}"
        )
    return " ".join(parts)


def kata_info(candidates: list[AnalyzedMove]) -> str:
    """Return the moves as a line of ``kata-analyze``; rates (0 to 1) and scores (discs) are for the side to move."""
    parts = []
    for order, (candidate, prior) in enumerate(zip(candidates, _priors(candidates), strict=True)):
        rate, score = win_rate(candidate), candidate.score
        utility = 2 * rate - 1
        parts.append(
            f"info move {vertex_text(candidate.move)} visits {candidate.nodes} utility {utility:.6f} "
            f"winrate {rate:.6f} scoreMean {score} scoreStdev 0 scoreLead {score} scoreSelfplay {score} "
            f"prior {prior:.6f} lcb {rate:.6f} utilityLcb {utility:.6f} order {order} pv {_line_of_play(candidate.pv)}"
        )
    return " ".join(parts)


STREAMS: dict[str, AnalysisForm] = {
    "lz-analyze": lz_info,
    "kata-analyze": kata_info,
    "lz-genmove_analyze": lz_info,
    "kata-genmove_analyze": kata_info,
}
"""The commands that send lines while a search runs, with the form of these lines."""

ENDED_BY_A_LINE = ("lz-analyze", "kata-analyze")
"""Those of `STREAMS` that run until the next line comes, even an empty one."""


def live_graphics(
    pv: tuple[int, ...], black_to_move: bool, scores: dict[int, MoverScore], reached: str, done: int
) -> str:
    """Return GoGui's live graphics for a running search: its principal variation ``pv``, the ``scores`` of moves in
    discs (at least that of the first move of ``pv``), the depth ``reached`` as text, and the percentage ``done``. The
    graphics end with an empty line once the caller adds a newline.
    """
    sides = "bw" if black_to_move else "wb"
    line = " ".join(f"{sides[ply % 2]} {vertex_text(move).replace('pass', 'PASS')}" for ply, move in enumerate(pv))
    labels = " ".join(f"{vertex_text(move)} {score:+d}" for move, score in scores.items() if move != PASS)
    best = f"{vertex_text(pv[0])} {scores[pv[0]]:+d}" if pv else ""
    rows = ["gogui-gfx:", f"VAR {line}", *([f"LABEL {labels}"] if labels else [])]
    return "\n".join([*rows, f"TEXT {best}, depth {reached}", f"PROGRESS {min(100, done)}", ""])


class GtpParameter(NamedTuple):
    """A row of ``gogui-param``: its key, the name of the option that it sets, and GoGui's type of the value."""

    key: str
    option: str
    kind: str


PARAMETERS = (
    GtpParameter("level", "level", "string"),
    GtpParameter("strength", "strength", "string"),
    GtpParameter("depth", "depth", "string"),
    GtpParameter("threads", "n-tasks", "string"),
    GtpParameter("hash_table_bits", "hash-table-size", "string"),
    GtpParameter("time_per_move", "move-time", "string"),
    GtpParameter("time_per_game", "game-time", "string"),
    GtpParameter("use_book", "book-usage", "bool"),
    GtpParameter("book_randomness", "book-randomness", "string"),
    GtpParameter("ponder", "ponder", "bool"),
)

LIVE_GRAPHICS = "live_graphics"
"""The key of the only parameter that sets no option."""
