"""Positions and moves in structured messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import (
    START,
    PlayedLine,
    Position,
    parse_board,
    parse_move,
    parse_moves,
    play_moves,
)

from .messages import RequestError, in_list

_BLACK = str.maketrans("XO-", "100")
_WHITE = str.maketrans("XO-", "010")
_PLAIN = frozenset("XO-")

_known: dict[tuple[str | None, str], Position] = {}
"""The last positions of lines, by the lines' texts: board and moves."""
_MOST_KNOWN = 50_000
"""Most lines that are remembered; when there is no more room all are forgotten."""
_BEGINNING = 8
"""Characters of the beginning that `last_position` remembers too: four moves, which many lines share."""

T = TypeVar("T")


def last_position(args: dict[str, Any]) -> Position:
    """Return the last position of the line that `read_line` reads from ``args``; raises `RequestError`.

    Lines are remembered, for clients that ask again about the same line, about that line with one more move, or about
    lines with the same beginning. Any thread may call this.
    """
    board, moves = args.get("board"), args.get("moves") or ""
    position = _known.get((board, moves))
    if position is None:
        # Numbers and dashes belong to the moves beside them.
        position = (_continued(board, moves) if moves.replace(" ", "").isalnum() else None) or read_line(args).last
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[board, moves] = position
    return position


def _continued(board: str | None, moves: str) -> Position | None:
    """Return the last position of ``moves`` from a remembered line: the one without its last move, else its first
    `_BEGINNING` characters. None if that fails; the caller then reads the whole line and reports what is wrong.
    """
    beginning = moves[:-2]
    before = _known.get((board, beginning))
    if before is None:
        beginning = moves[:_BEGINNING]
        before = _known.get((board, beginning))
    if len(beginning) == len(moves):
        return None
    try:
        before = before or last_position({"board": board, "moves": beginning})
        return play_moves(before, parse_moves(moves[len(beginning) :])).last
    except (BadInput, RequestError):
        # What is wrong with a move is told of the whole line.
        return None


def check_list_alone(args: dict[str, Any]) -> None:
    """Raise `RequestError` if the arguments of a request about a list of positions name a position too."""
    if "board" in args or "moves" in args:
        raise RequestError("bad_request", "positions and a position exclude each other", "positions")


def read_listed(number: int, item: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
    """Return ``read(item)`` for item ``number`` of a list of positions; a `RequestError` names the item."""
    try:
        return read(item)
    except RequestError as error:
        raise in_list("positions", number, error) from None


def read_line(args: dict[str, Any]) -> PlayedLine:
    """Return the line of play that the argument ``moves`` gives from the position ``board``, by default the standard
    start. Without moves it is a line of one position. Raises `RequestError`.
    """
    position = read_first(args)
    try:
        moves = parse_moves(args.get("moves") or "")
    except BadInput as error:
        raise RequestError("bad_request", str(error), "moves") from None
    try:
        return play_moves(position, moves)
    except BadInput as error:
        raise RequestError("illegal_move", str(error), "moves") from None


def read_first(args: dict[str, Any]) -> Position:
    """Return the position of the argument ``board``, without it the standard start. Raises `RequestError`."""
    text = args.get("board")
    return START if text is None else read_board(text)


def read_board(text: str) -> Position:
    """Return the position of a text, in any form that `parse_board` reads; raises `RequestError`."""
    side = text[-1:]
    if len(text) == 66 and text[64] == " ":
        text = text[:64] + side
    if len(text) == 65 and side in ("X", "O") and _PLAIN.issuperset(text):
        squares = text[63::-1]
        black, white = int(squares.translate(_BLACK), 2), int(squares.translate(_WHITE), 2)
        return Position(black, white, True) if side == "X" else Position(white, black, False)
    try:
        return parse_board(text)
    except BadInput as error:
        raise RequestError("bad_position", str(error), "board") from None


def read_moves(name: str, texts: list[str]) -> list[int]:
    """Return the moves of the list argument ``name``; raises `RequestError`."""
    try:
        return [parse_move(text) for text in texts]
    except BadInput as error:
        raise RequestError("bad_request", str(error), name) from None
