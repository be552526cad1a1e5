"""The Go Text Protocol, version 2, as Othello programs speak it: its commands, lines and answers."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.commands.text import Command
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, parse_move, square_text
from desdaemon.protocol.othello.rules import PASS

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
)

MOST_SECONDS = 10**9


class Request(NamedTuple):
    """A command line: its id or "", the command in lower case, what follows it."""

    id: str
    command: str
    arguments: list[str]


class GtpError(ValueError):
    """A command that fails; the message begins with the standard words where GTP has some."""


def parse_request(line: str) -> Request | None:
    """The request in a line without its control characters; None where there is none."""
    words = line.split("#", 1)[0].split()
    id = ""
    if words and words[0].isascii() and words[0].isdecimal():
        id = words.pop(0)
    if not words:
        return Request(id, "", []) if id else None
    return Request(id, words[0].lower(), words[1:])


def response(id: str, text: str, failed: bool = False) -> str:
    """An answer with the empty line that ends it; ``text`` has none, but may begin with the end of a line."""
    blank = " " if text and not text.startswith("\n") else ""
    return f"{'?' if failed else '='}{id}{blank}{text}\n\n"


def parse_colour(text: str) -> bool:
    """Whether it is Black; ``b``, ``w``, ``black`` and ``white`` in any case."""
    lower = text.lower()
    if lower not in ("b", "w", "black", "white"):
        raise GtpError(f"syntax error: {quoted(text)} is not a colour: expected black or white")
    return lower.startswith("b")


def parse_vertex(text: str) -> int:
    """A move; raises `GtpError`."""
    try:
        return parse_move(text)
    except BadInput as error:
        raise GtpError(f"syntax error: {error}") from None


def vertex_text(move: int) -> str:
    """``D3``, or ``pass``."""
    return "pass" if move == PASS else square_text(move)


def colour_text(black: bool) -> str:
    """black or white."""
    return "black" if black else "white"


def parse_count(text: str, low: int, high: int) -> int:
    """A whole number; raises `GtpError`."""
    number = whole_number(text)
    if number is None or not low <= number <= high:
        raise GtpError(f"syntax error: {quoted(text)}: expected a whole number from {low} to {high}")
    return number


def parse_seconds(text: str, *, overdrawn: bool = False) -> float:
    """Milliseconds of a number of seconds, which may have a fraction; a clock may be ``overdrawn``, which counts as 0.

    Raises `GtpError`.
    """
    whole, _, fraction = (text.removeprefix("-") if overdrawn else text).partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 30 or float(whole or "0") > MOST_SECONDS:
        raise GtpError(f"syntax error: {quoted(text)}: expected a number of seconds")
    return max(0.0, float(text) * 1000)


def legal_moves_text(position: Position) -> str:
    """The legal moves as GoGui wants them: nothing at the end of the game."""
    if position.must_pass:
        return "pass"
    return " ".join(square_text(square) for square in rules.squares(position.moves))


def board_rows(position: Position) -> list[str]:
    """The squares of each rank, rank 1 first: ``X`` black, ``O`` white, ``.`` empty, blanks between."""
    black, white = position.black, position.white
    squares = ["X" if black >> at & 1 else "O" if white >> at & 1 else "." for at in range(64)]
    return [" ".join(squares[at : at + 8]) for at in range(0, 64, 8)]


def board_gfx(position: Position) -> str:
    """The legal moves as GoGui marks them, and what there is to say."""
    moves = " ".join(square_text(square) for square in rules.squares(position.moves))
    black, white = position.black.bit_count(), position.white.bit_count()
    marked = f"CIRCLE {moves}\n" if moves else ""
    return f"{marked}TEXT Black {black}, White {white}"


def diagram(position: Position) -> str:
    """The board with its files and ranks, discs and side to move."""
    files = "  A B C D E F G H"
    rows = [f"{rank} {row} {rank}" for rank, row in enumerate(board_rows(position), 1)]
    black, white = position.black.bit_count(), position.white.bit_count()
    turn = "game over" if position.over else f"{colour_text(position.black_to_move)} to move"
    return "\n".join(["", files, *rows, files, f"X black {black}, O white {white}, {turn}"])


def score_text(score: int) -> str:
    """``B+6``, ``W+12`` or ``0`` from Black's score."""
    return f"{'B' if score > 0 else 'W'}+{abs(score)}" if score else "0"


def result_text(position: Position) -> str:
    """The result in words, "" where the game is not over."""
    if not position.over:
        return ""
    score = black_score(position)
    return f"{'Black' if score > 0 else 'White'} wins by {abs(score)}" if score else "Draw"
