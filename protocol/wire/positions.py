"""Positions and moves in structured messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    discs_text,
    illegal_move,
    parse_board,
    parse_move,
    parse_moves,
    square_of,
)

from .messages import RequestError, in_list

_BLACK = str.maketrans("XO-", "100")
_WHITE = str.maketrans("XO-", "010")
_PLAIN = frozenset("XO-")

T = TypeVar("T")


class PlayedLine(NamedTuple):
    """A position with the line that led to it: ``positions[k]`` is the board after ``k`` of the moves given.

    ``moves`` holds them with the forced passes that were left out.
    """

    positions: list[Position]
    moves: list[int]

    @property
    def last(self) -> Position:
        """The position after all moves."""
        return self.positions[-1]


class KnownLines:
    """A cache of positions by the text of their moves, for clients that ask about the same or neighbouring lines
    repeatedly.
    """

    def __init__(self, most: int) -> None:
        """Keeps at most ``most`` lines."""
        self._most = most
        self._known: dict[tuple[str | None, str | None], Position] = {}

    def last(self, args: dict[str, Any]) -> Position:
        """The position that ``board`` and ``moves`` name, after all moves; raises `RequestError`."""
        board, moves = args.get("board"), args.get("moves")
        known = self._known
        found = known.get((board, moves))
        if found is None:
            if len(known) >= self._most:
                known.clear()
            before = known.get((board, moves[:-2])) if moves else None
            move = square_of(moves[-2:]) if moves and before is not None else None
            found = read_last(args) if before is None or move is None else _after(before, move, args)
            known[board, moves] = found
        return found


def _after(position: Position, move: int, args: dict[str, Any]) -> Position:
    try:
        return position.after(move)
    except rules.IllegalMove:
        # A pass that was left out, or a message that names the move among all.
        return read_line(args).last


def read_last(args: dict[str, Any]) -> Position:
    """The last position of `read_line`; faster where the moves are written as by `moves_text`."""
    text, moves = args.get("board"), args.get("moves")
    position = START if text is None else read_board(text)
    if not moves:
        return position
    player, opponent, black = position
    for at in range(0, len(moves), 2):
        square = square_of(moves[at : at + 2])
        turned = rules.flips(player, opponent, square) if square is not None else 0
        if square is None or not turned:
            # A pass, another way to write it, or a move that is not legal.
            return read_line(args).last
        player, opponent, black = opponent ^ turned, player | turned | 1 << square, not black
    return Position(player, opponent, black)


def check_list_alone(args: dict[str, Any]) -> None:
    """Raise `RequestError` where a list of positions and a position are given."""
    if "board" in args or "moves" in args:
        raise RequestError("bad_request", "positions and a position are given: expected one of them", "positions")


def read_listed(number: int, item: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
    """The result of ``read`` for the item ``number`` of a list of positions; its `RequestError` names the item."""
    try:
        return read(item)
    except RequestError as error:
        raise in_list("positions", number, error) from None


def read_line(args: dict[str, Any]) -> PlayedLine:
    """The position that ``board`` and ``moves`` name; raises `RequestError`."""
    text = args.get("board")
    position = START if text is None else read_board(text)
    line = PlayedLine([position], [])
    moves = args.get("moves")
    if moves:
        try:
            wanted = parse_moves(moves)
        except BadInput as error:
            raise RequestError("bad_request", str(error), "moves") from None
        for number, move in enumerate(wanted, 1):
            _play(line, move, number if len(wanted) > 1 else 0)
    return line


def _play(line: PlayedLine, move: int, number: int) -> None:
    position = line.positions[-1]
    try:
        line.positions.append(position.after(move))
    except rules.IllegalMove:
        if not position.must_pass:
            raise _illegal(position, move, number) from None
        position = position.after(rules.PASS)
        try:
            line.positions.append(position.after(move))
        except rules.IllegalMove:
            raise _illegal(position, move, number) from None
        line.moves.append(rules.PASS)
    line.moves.append(move)


def _illegal(position: Position, move: int, number: int) -> RequestError:
    return RequestError("illegal_move", illegal_move(position, move, number), "moves")


def read_board(text: str) -> Position:
    """A board with its side to move; raises `RequestError`."""
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
    """The moves of a list argument; raises `RequestError`."""
    try:
        return [parse_move(text) for text in texts]
    except BadInput as error:
        raise RequestError("bad_request", str(error), name) from None


def canonical_text(player: int, opponent: int) -> str:
    """The canonical image of a position as text, its mover as X."""
    player, opponent = rules.canonical(player, opponent)
    return f"{discs_text(player, opponent)} X"
