"""A board: a position, with the side to move and the line that led there. A value that never changes."""

from __future__ import annotations

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_text,
    move_text,
    moves_text,
    parse_board,
    parse_move,
    parse_moves,
    play_moves,
    square_text,
)

BLACK, WHITE = "black", "white"
"""The sides, by name."""


class Board:
    """A position of a game. Boards are equal if the discs and the side to move are.

    ``Board()`` is the opening position, ``Board("f5d6c3")`` the position after a line of moves, ``Board("---...---
    X")`` a position: 64 squares A1, B1 .. H8 (``X`` black, ``O`` white, ``-`` empty) and the side to move, or a FEN
    record. Squares are ``"a1"`` .. ``"h8"`` in any case, a pass is ``"pa"``. Raises `BadInput` (a `ValueError`) for
    anything else. In a notebook a board draws itself.
    """

    __slots__ = ("_initial", "_moves", "_position")

    def __init__(self, text: str = "") -> None:
        if not isinstance(text, str):
            raise BadInput(f"{text!r} is not a string: expected moves such as f5d6c3, or a board")
        position, moves = START, list[int]()
        if text.strip():
            try:
                position = parse_board(text)
            except BadInput as error:
                try:
                    moves = parse_moves(text)
                except BadInput:
                    raise error from None
                moves = play_moves(START, moves).moves
        self._set(position, moves)

    def _set(self, initial: Position, moves: list[int]) -> None:
        position = initial
        for move in moves:
            position = position.after(move)
        self._initial, self._moves, self._position = initial, tuple(moves), position

    @classmethod
    def of(cls, board: Board | str) -> Board:
        """Return ``board`` if it is one, else the board that the text describes."""
        return board if isinstance(board, Board) else cls(board)

    @classmethod
    def _at(cls, initial: Position, moves: list[int]) -> Board:
        board = cls.__new__(cls)
        board._set(initial, moves)
        return board

    # The position

    @property
    def position(self) -> Position:
        """The discs of the side to move and of the other side, words with A1 as bit 0, and whether Black moves."""
        return self._position

    @property
    def side(self) -> str:
        """The side to move, `BLACK` or `WHITE`; also if it must pass or the game is over."""
        return BLACK if self._position.black_to_move else WHITE

    @property
    def discs(self) -> tuple[int, int]:
        """The number of Black's and of White's discs."""
        return self._position.black.bit_count(), self._position.white.bit_count()

    @property
    def empties(self) -> int:
        """The number of empty squares."""
        return self._position.empties

    def __getitem__(self, square: str) -> str | None:
        """Return `BLACK`, `WHITE`, or None for an empty square: ``board["d4"]``. Raises `BadInput` for another name."""
        bit = 1 << self._square(square)
        if self._position.black & bit:
            return BLACK
        return WHITE if self._position.white & bit else None

    @staticmethod
    def _square(name: str) -> int:
        square = parse_move(name)
        if square == rules.PASS:
            raise BadInput("a pass is not a square: expected one such as d3")
        return square

    @property
    def text(self) -> str:
        """The 64 squares, a blank and the side to move, as `Board` reads them."""
        return board_text(self._position)

    @property
    def line(self) -> str:
        """The moves since the first board, such as ``f5d6c3``; a pass is ``pa``."""
        return moves_text(self._moves)

    # Moves

    @property
    def legal(self) -> list[str]:
        """The legal moves, by square; ``["pa"]`` if a pass is forced, [] if the game is over."""
        if self._position.must_pass:
            return ["pa"]
        return [square_text(square).lower() for square in rules.squares(self._position.moves)]

    def flips(self, move: str) -> list[str]:
        """Return the squares of the discs that a move turns; [] for an illegal move. Raises `BadInput` for a pass or a
        name that is no square's.
        """
        square = self._square(move)
        turned = rules.flips(self._position.player, self._position.opponent, square)
        return [square_text(square).lower() for square in rules.squares(turned)]

    def play(self, moves: str) -> Board:
        """Return the board after one move or several, such as ``"e3 f4"``; forced passes may be left out. Raises
        `BadInput` for an illegal move or other text.
        """
        return self._at(self._initial, [*self._moves, *play_moves(self._position, parse_moves(moves)).moves])

    def undo(self, plies: int = 1) -> Board:
        """Return the board ``plies`` plies earlier, passes counted; the first board if there are fewer."""
        return self._at(self._initial, list(self._moves[: max(0, len(self._moves) - plies)]))

    @property
    def history(self) -> list[Board]:
        """The boards from the first one to this one."""
        return [self._at(self._initial, list(self._moves[:ply])) for ply in range(len(self._moves) + 1)]

    @property
    def last_move(self) -> str | None:
        """The move that led here; None for the first board of a line."""
        return move_text(self._moves[-1]).lower() if self._moves else None

    # The end

    @property
    def over(self) -> bool:
        """Whether neither side has a move."""
        return self._position.over

    @property
    def result(self) -> int | None:
        """Black's discs minus White's, with the empty squares given to the winner; None before the end of the game."""
        if not self.over:
            return None
        score = rules.final_score(self._position.player, self._position.opponent)
        return score if self._position.black_to_move else -score

    # As a value and a picture

    def mirrored(self, symmetry: int) -> Board:
        """Return board and line under a symmetry 0..7: bit 0 mirrors A-H, bit 1 mirrors 1-8, bit 2 swaps the axes.
        Raises `BadInput` for another number.
        """
        if not 0 <= symmetry < 8:
            raise BadInput(f"symmetry {symmetry}: expected 0 to 7")
        player, opponent, black = self._initial
        image = Position(rules.transform(player, symmetry), rules.transform(opponent, symmetry), black)
        return self._at(image, [rules.transform_move(move, symmetry) for move in self._moves])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Board) and self._position == other._position

    def __hash__(self) -> int:
        return hash(self._position)

    def __repr__(self) -> str:
        if self._initial != START:
            return f"Board({self.text!r})"
        return f"Board({self.line!r})" if self._moves else "Board()"

    def __str__(self) -> str:
        squares = board_text(self._position)
        marked = "".join(
            "." if self._position.moves >> index & 1 else square for index, square in enumerate(squares.split()[0])
        )
        rows = [f"{rank + 1} {' '.join(marked[8 * rank : 8 * rank + 8])}" for rank in range(8)]
        black, white = self.discs
        turn = "over" if self.over else f"{self.side} to move"
        return "\n".join(["  a b c d e f g h", *rows, f"X {black}, O {white}, {turn}"])

    def svg(self) -> str:
        """Return the board as an SVG picture with the legal moves marked."""
        from desdaemon.protocol.othello.diagrams import svg_text

        return svg_text(self._position)

    def _repr_svg_(self) -> str:
        return self.svg()
