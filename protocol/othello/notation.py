"""Squares, moves, boards and games as text.

Squares are ``A1`` .. ``H8`` in any case, A1 top left. A board is 64 squares A1, B1 .. H8 and then the side to move.
Text that cannot be read raises `BadInput`.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.spelling import plural

from . import rules
from .rules import PASS, flips

BLACK_LETTERS = "xX*bB"
WHITE_LETTERS = "oOwW"
EMPTY_LETTERS = "-._"
SEPARATORS = " \t/|,"

_LOWER_CASE = (*(file + rank for rank in "12345678" for file in "abcdefgh"), "pa")
_SQUARES = {text: square for square, name in enumerate(_LOWER_CASE[:64]) for text in (name, name.upper())}
_DISCS = str.maketrans("012", "-XO")

# Full-width letters, and what is typed as a dash: the minus and the long vowel of Japanese, too.
_PLAIN = {0xFF01 + code: chr(0x21 + code) for code in range(94)} | {0x3000: " ", 0xBD: "1/2"}
_PLAIN |= dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0x30FC), "-")
_PLAIN |= dict.fromkeys((*range(0x200B, 0x200E), 0x2060), "")  # Nothing is seen of them.
# They are compiled when they are first needed, which is after the prompt.
_BETWEEN = r"\b\d{1,3}\s*(?:[.):]+|(?=[a-hA-H][1-8]))|(?<=\w)\s*-+\s*(?=\w)|(?:^| |(?<=\w))--(?= |$)"
_RESULT = r"(?i)(?:^| )\(?(?:[+-]?\d{1,2}|\d{1,2} ?[-:] ?\d{1,2}|1/2(?: ?- ?1/2)?|[bw]\+\w{1,4}|\*)\)?$"

# The longest first, because `pa` begins `pass`.
_PASSES = ("pass", "p@@@", "@@@@", "pa", "ps", "z0")

_TO_MOVE = r"(?i) to (?:move|play)[.:]?$"
_BOARD_EXPECTED = "64 squares (X or * black, O white, - empty), then the side to move (X or O)"

CHESS_VARIANTS = ("othello", "reversi")
"""The names of Othello in GUIs of chess, where White moves first and discs are pawns."""


class Position(NamedTuple):
    """A board: masks of the discs of the side to move and of the other side, and whether Black is to move."""

    player: int
    opponent: int
    black_to_move: bool

    @property
    def black(self) -> int:
        """A mask of Black's discs."""
        return self.player if self.black_to_move else self.opponent

    @property
    def white(self) -> int:
        """A mask of White's discs."""
        return self.opponent if self.black_to_move else self.player

    @property
    def empties(self) -> int:
        """The number of empty squares."""
        return rules.empties(self.player, self.opponent)

    @property
    def moves(self) -> int:
        """A mask of the legal moves."""
        return rules.legal_moves(self.player, self.opponent)

    @property
    def must_pass(self) -> bool:
        """Whether a pass is the only legal move."""
        return rules.must_pass(self.player, self.opponent)

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return rules.is_over(self.player, self.opponent)

    def after(self, move: int) -> Position:
        """Return the position after a move; raises `IllegalMove`."""
        player, opponent = rules.play(self.player, self.opponent, move)
        return Position(player, opponent, not self.black_to_move)


START = Position(*rules.START, True)


def square_text(square: int) -> str:
    """Return a square as text: ``19`` -> ``D3``."""
    return "ABCDEFGH"[square & 7] + "12345678"[square >> 3]


def move_text(move: int) -> str:
    """Return a move in upper case: ``D3``, ``PA`` for a pass."""
    return "PA" if move == PASS else square_text(move)


def parse_move(text: str) -> int:
    """Parse a move in any case: a square, ``P@`` and a square, or a pass as ``pa``, ``ps``, ``pass``, ``--``, ``@@@@``,
    ``P@@@`` or ``Z0``. Raises `BadInput`.
    """
    plain = plain_moves(text).strip()
    if plain == "--":
        return PASS
    move, length = _scan_move(plain, 0)
    if not length or length != len(plain):
        raise BadInput(f"{quoted(text)} is not a move: expected a square such as D3, or PA for a pass")
    return move


def parse_moves(text: str) -> list[int]:
    """Parse moves as programs and people write them: ``f5d6c3``, ``F5 D6, c3``, ``1 f5 d6 2 c3``, ``1. f5-d6 33-31``;
    a result at the end is passed over, letters may be full-width. Raises `BadInput`.
    """
    try:
        return [_SQUARES[text[at : at + 2]] for at in range(0, len(text), 2)]
    except KeyError:
        pass  # Other letters than those of squares are read one by one.
    written, result = split_result(text)
    # Beside moves two dashes may be between them or a pass; passes may be left out.
    plain = "pa" if written == "--" else re.sub(_BETWEEN, " ", written or result)
    moves = []
    at = 0
    while at < len(plain):
        move, length = _SQUARES.get(plain[at : at + 2]), 2
        if move is None:
            if plain[at] in " ,":
                at += 1
                continue
            move, length = _scan_move(plain, at)
            if not length:
                rest = plain[at:].split(" ", 1)[0]
                raise BadInput(f"{quoted(rest)} is not a move: expected squares such as f5d6c3, or pa for a pass")
        moves.append(move)
        at += length
    return moves


def plain_moves(text: str) -> str:
    """Return ``text`` with full-width letters, all dashes and a half as those of ASCII."""
    return text.translate(_PLAIN)


def split_result(text: str) -> tuple[str, str]:
    """Return a text of moves in plain words, and the result at its end, such as ``33-31``, ``+2``, ``1/2-1/2`` or
    ``*``; "" without one.
    """
    words = " ".join(plain_moves(text).split())
    result = re.search(_RESULT, words)
    return (words[: result.start()], result[0]) if result else (words, "")


def first_move(text: str) -> int | None:
    """Return the move with which a text of moves begins, None if it begins with something else."""
    move, length = _scan_move(text.lstrip(), 0)
    return move if length else None


def _scan_move(text: str, at: int) -> tuple[int, int]:
    """Return the move that begins at ``text[at]`` and its length, which is 0 if there is none."""
    lower = text[at : at + 4].lower()
    for spelling in _PASSES:
        if lower.startswith(spelling):
            return PASS, len(spelling)
    prefix = 2 if lower.startswith("p@") else 0
    name = lower[prefix : prefix + 2]
    if len(name) == 2 and name[0] in "abcdefgh" and name[1] in "12345678":
        return 8 * (ord(name[1]) - ord("1")) + ord(name[0]) - ord("a"), prefix + 2
    return PASS, 0


def moves_text(moves: list[int] | tuple[int, ...]) -> str:
    """Return a line of play: ``f5d6c3``, passes as ``pa``."""
    return "".join([_LOWER_CASE[move] for move in moves])


def board_text(position: Position) -> str:
    """Return the 64 squares, a blank and the side to move (``X`` black, ``O`` white)."""
    player, opponent, black_to_move = position
    return f"{discs_text(player, opponent)} X" if black_to_move else f"{discs_text(opponent, player)} O"


def squares_text(position: Position) -> str:
    """Return the 64 squares A1, B1 .. H8: ``X`` black, ``O`` white, ``-`` empty."""
    return discs_text(position.black, position.white)


def discs_text(black: int, white: int) -> str:
    """Return the squares as `squares_text` does, from masks of each side's discs."""
    # Binary digits are read as hexadecimal ones: one sum then has the digit 1 for black and 2 for white squares.
    digits = int(f"{black:b}", 16) + 2 * int(f"{white:b}", 16)
    return f"{digits:064x}"[::-1].translate(_DISCS)


def parse_board(text: str) -> Position:
    """Parse a board with its side to move, as ``X`` or ``Black to move``, or a FEN record (rank 1 first, ``p`` black,
    ``P`` white). Raises `BadInput`.

    Blanks, ``/``, ``|`` and ``,`` between squares are skipped; text after a ``;`` is ignored.
    """
    body = text.split(";", 1)[0].strip()
    if _looks_like_fen(body):
        return _parse_fen(body)
    words = re.sub(_TO_MOVE, "", body.replace("\t", " ")).split()
    side = ""
    if len(words) > 1 and (words[-1].lower() in ("black", "white") or len(words[-1]) == 1):
        side = words.pop()[0]
    symbols = "".join(words).translate({ord(c): None for c in SEPARATORS})
    if not side and len(symbols) == 65:
        symbols, side = symbols[:64], symbols[64]
    for symbol in symbols:
        if symbol not in BLACK_LETTERS + WHITE_LETTERS + EMPTY_LETTERS:
            raise BadInput(f"{quoted(symbol)} in {quoted(text)} is not a square: expected {_BOARD_EXPECTED}")
    if len(symbols) != 64:
        raise BadInput(f"{quoted(text)} has {plural(len(symbols), 'square')}: expected {_BOARD_EXPECTED}")
    if not side or side not in BLACK_LETTERS + WHITE_LETTERS:
        raise BadInput(f"{quoted(text)} has no side to move: expected {_BOARD_EXPECTED}")
    black = sum(1 << square for square, symbol in enumerate(symbols) if symbol in BLACK_LETTERS)
    white = sum(1 << square for square, symbol in enumerate(symbols) if symbol in WHITE_LETTERS)
    if side in BLACK_LETTERS:
        return Position(black, white, True)
    return Position(white, black, False)


def _looks_like_fen(text: str) -> bool:
    first = text.split(" ", 1)[0]
    return first.count("/") >= 7 and any(c in "12345678pP" for c in first)


def _parse_fen(text: str) -> Position:
    fields = text.split()
    ranks = fields[0].split("[", 1)[0].split("/")
    black = white = 0
    if len(ranks) != 8:
        raise BadInput(f"{quoted(text)} has {plural(len(ranks), 'rank')}: expected a FEN record of 8 ranks")
    for rank, squares in enumerate(ranks):
        file = 0
        for symbol in squares:
            if symbol in "12345678":
                file += int(symbol)
            elif symbol in "pP" and file < 8:
                black |= (symbol == "p") << 8 * rank + file
                white |= (symbol == "P") << 8 * rank + file
                file += 1
            else:
                file = 9
                break
        if file != 8:
            raise BadInput(
                f"{quoted(squares)} in {quoted(text)} is not a FEN rank: expected p, P and digits, 8 squares"
            )
    if len(fields) < 2 or fields[1] not in ("b", "w"):
        raise BadInput(f"{quoted(text)} has no side to move: expected b or w after the ranks")
    if fields[1] == "b":
        return Position(black, white, True)
    return Position(white, black, False)


def parse_chess_fen(text: str) -> Position:
    """Return the position of a FEN record of a GUI of chess: ranks 8 to 1, ``P`` for the first mover. Raises
    `BadInput`.
    """
    fields = text.split()
    ranks = fields[0].split("[", 1)[0] if fields else ""
    if not ranks or ranks.count("/") != 7 or fields[1:2] not in (["w"], ["b"]):
        raise BadInput(f"{quoted(text)}: expected eight ranks of P, p and digits, then w or b")
    side = "b" if fields[1] == "w" else "w"
    return parse_board(f"{'/'.join(reversed(ranks.swapcase().split('/')))} {side}")


def board_doubts(position: Position) -> list[str]:
    """Return the reasons why no game can lead to the board, as phrases for a message; [] for an ordinary board."""
    doubts = []
    if (position.player | position.opponent) & rules.CENTRE != rules.CENTRE:
        doubts.append("not all four centre squares hold a disc")
    floating = rules.floating_discs(position.player, position.opponent)
    if floating:
        names = " ".join(square_text(square) for square in rules.squares(floating)[:8])
        doubts.append(f"discs that are not joined to the centre: {names}")
    return doubts


class PlayedLine(NamedTuple):
    """A line of play from the position ``first`` to the position ``last``: ``given`` are its moves as they were given,
    ``moves`` the same moves with missing forced passes inserted.
    """

    first: Position
    given: list[int]
    moves: list[int]
    last: Position

    def positions(self) -> list[Position]:
        """Return the positions before and after each of the given moves."""
        return [*accumulate(self.given, lambda position, move: play_moves(position, [move]).last, initial=self.first)]


def play_moves(position: Position, moves: list[int]) -> PlayedLine:
    """Play ``moves`` from ``position``, with the forced passes that are missing, and without passes after the end of
    the game. Raises `BadInput`.

    The message names the first illegal move and, if there are several moves, its number in the list, counted from 1.
    """
    player, opponent, black = position
    played = []
    for index, move in enumerate(moves):
        turned = flips(player, opponent, move)
        if not turned and rules.must_pass(player, opponent):
            player, opponent, black = opponent, player, not black
            played.append(PASS)
            if move == PASS:
                continue
            turned = flips(player, opponent, move)
        if not turned:
            if move == PASS and index and rules.is_over(player, opponent):
                continue
            raise BadInput(illegal_move(Position(player, opponent, black), move, index + 1 if len(moves) > 1 else 0))
        played.append(move)
        player, opponent, black = opponent ^ turned, player | turned | 1 << move, not black
    return PlayedLine(position, moves, played, Position(player, opponent, black))


def illegal_move(position: Position, move: int, number: int = 0) -> str:
    """Return a line that names an illegal move, with its ``number`` unless 0, and says what is legal in its place."""
    where = f" (move {number})" if number else ""
    if position.over:
        expected = "the game is over"
    elif position.must_pass:
        expected = "expected PA, since a pass is forced"
    else:
        expected = f"expected one of {' '.join(map(square_text, rules.squares(position.moves)))}"
    return f"{move_text(move)}{where} is illegal: {expected}"
