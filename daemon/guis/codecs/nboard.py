"""NBoard's protocol: its commands, and the lines with which an engine answers."""

from __future__ import annotations

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import move_text, parse_move
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.rows import Command

COMMANDS = (
    Command("nboard", (), "version", "Answer `set myname`; every version is accepted."),
    Command("set game", (), "ggf", "Take over a whole game in GGF: start position, moves, clocks."),
    Command("set depth", (), "n", "Play and analyse as at level n, ends of games further; `set myname` tells n."),
    Command("set contempt", (), "n", "Value of a drawn book line in `hint`, in discs for Black."),
    Command("move", (), "move[/eval[/seconds]]", "Play a move; a bare move is one as well."),
    Command("hint", (), "[n]", "Stream the n best moves (default 1), until the next line comes."),
    Command("go", (), "", "Search under depth and clock and answer `===` and the move; the board stays as it is."),
    Command("ping", (), "[k]", "End the search at once, then answer `pong k`."),
    Command("stop", (), "", "End the search."),
    Command("analyze", ("analyse",), "", "The value of every position of the game, from the last one back."),
    Command("learn", (), "", "Store the game in the book, beside other commands; `learned` once it is kept there."),
    Command("quit", ("exit",), "", "Leave."),
)

MOST_DEPTH = 60


def first_word(line: str) -> tuple[str, str]:
    """Return the command in lower case and the rest. ``set X`` is one command; ``game``, ``depth`` and ``contempt`` may
    come without ``set``.
    """
    word, rest = (*line.split(None, 1), "", "")[:2]
    word = word.lower()
    if word == "set" and rest:
        variable, value = (*rest.split(None, 1), "")[:2]
        return f"set {variable.lower()}", value.strip()
    if word in ("game", "depth", "contempt"):
        word = f"set {word}"
    return word, rest.strip()


def parse_played(text: str) -> tuple[int, float]:
    """Return the move and the milliseconds of ``F5/1.16/0.2`` (move, score, seconds); raises `BadInput`.

    Blanks may stand for slashes; score and time may be missing, and a missing time is 0.
    """
    fields = [field.strip() for field in text.split("/")] if "/" in text else text.split()
    move = parse_move(fields[0] if fields else "")
    try:
        ms = 1000 * float(fields[2] if len(fields) > 2 and fields[2] else 0)
    except ValueError:
        ms = -1.0
    if not 0 <= ms < 1e12:
        raise BadInput(f"{quoted(text)}: expected a move, its value and its seconds, such as F5/1.16/0.2")
    return move, ms


SOLVED, OUTCOME_PROVED = "100%", "100%W"
"""Texts in place of a depth: the score is proved; only the winner is proved."""


def search_line(pv: tuple[int, ...], score: MoverScore, depth: str) -> str:
    """Return the line about a searched move: its line of play, joined by dashes, score and depth."""
    return f"search {'-'.join(move_text(move) for move in pv)} {score:.2f} 0 {depth}"


def book_line(pv: tuple[int, ...], score: MoverScore, games: int, depth: int) -> str:
    """Return the line about a book move: its line of play, its score in discs, the number of the book's lines through
    it, and the level of the book's search.
    """
    return f"book {'-'.join(move_text(move) for move in pv)} {score:.2f} {games} {depth}"


def answer_line(move: int, score: MoverScore | None, ms: float) -> str:
    """Return the line with the move to play, its score if known, and the seconds it took."""
    value = "" if score is None else f"{score:.2f}"
    return f"=== {move_text(move)}/{value}/{ms / 1000:.2f}"
