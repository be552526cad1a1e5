"""Many boards in numpy arrays: games replayed side by side, and keys of positions, the same for mirror images.

Boards are arrays of uint64, A1 = bit 0, the side to move first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from desdaemon.protocol.othello import rules

Boards: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[Any]

NO_SQUARE = 255
"""Fills the row of a game's squares after its last move."""

_STEPS = (
    (1, rules.NOT_A),
    (-1, rules.NOT_H),
    (8, rules.FULL),
    (-8, rules.FULL),
    (9, rules.NOT_A),
    (-9, rules.NOT_H),
    (7, rules.NOT_H),
    (-7, rules.NOT_A),
)
_AT_A_TIME = 1 << 16
_SQUARE_IMAGES = np.array([list(rules.move_images(which)) for which in range(8)], np.uint8)
_WHICH = np.arange(8, dtype=np.uint8)
_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
_SQUARE_SWAPS = ((7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0))


def legal_moves(players: Boards, opponents: Boards) -> Boards:
    """Return masks of the legal moves."""
    words: Any = rules.legal_moves
    moves: Boards = words(players, opponents)
    return moves


def flips(players: Boards, opponents: Boards, squares: Numbers) -> Boards:
    """Return masks of the discs that moves on ``squares`` (0..63) turn; 0 for an illegal move."""
    moves = np.uint64(1) << squares.astype(np.uint64)
    turned = np.zeros_like(players)
    for shift, mask in _STEPS:
        between = opponents & np.uint64(mask)
        line = _shifted(moves, shift) & between
        for _ in range(5):
            line |= _shifted(line, shift) & between
        turned |= np.where(_shifted(line, shift) & np.uint64(mask) & players, line, np.uint64(0))
    turned[moves & (players | opponents) != 0] = 0
    return turned


def _shifted(boards: Boards, shift: int) -> Boards:
    return boards << np.uint64(shift) if shift > 0 else boards >> np.uint64(-shift)


def _images(boards: Boards) -> list[Boards]:
    """Return the images under the symmetries 0..7 of `rules.transform`."""
    mirrored = _REVERSED[np.ascontiguousarray(boards).view(np.uint8)].view(np.uint64)
    images = [boards, mirrored, boards.byteswap(), mirrored.byteswap()]
    for image in images[:4]:
        turned = image.copy()
        for shift, mask in _SQUARE_SWAPS:
            swap = (turned ^ (turned >> np.uint64(shift))) & np.uint64(mask)
            turned ^= swap ^ (swap << np.uint64(shift))
        images.append(turned)
    return images


def _smallest(players: Boards, opponents: Boards, marks: Numbers) -> tuple[Boards, Boards, Numbers]:
    """Return the smallest (player, opponent, mark) of the eight images of each board.

    ``marks[which]`` are the marks of the images under the symmetry ``which``.
    """
    least = players, opponents, np.broadcast_to(marks[0], players.shape)
    images = zip(_images(players), _images(opponents), marks, strict=True)
    for player, opponent, mark in images:
        smaller = (player < least[0]) | (
            (player == least[0]) & ((opponent < least[1]) | ((opponent == least[1]) & (mark < least[2])))
        )
        least = (
            np.where(smaller, player, least[0]),
            np.where(smaller, opponent, least[1]),
            np.where(smaller, mark, least[2]),
        )
    return least


def keys_of_moves(players: Boards, opponents: Boards, squares: Numbers) -> tuple[Boards, Numbers]:
    """Return for each move the key of its position, and the move's square in the canonical position (the smallest if
    symmetries give several). Mirrored moves have the same key and the same square.
    """
    keys, found = np.empty(len(players), np.uint64), np.empty(len(players), np.uint8)
    # The images of all boards together would take much memory.
    for start in range(0, len(players), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        player, opponent, found[part] = _smallest(players[part], opponents[part], _SQUARE_IMAGES[:, squares[part]])
        keys[part] = _key(player, opponent)
    return keys, found


def keys_of(players: Boards, opponents: Boards) -> tuple[Boards, Numbers]:
    """Return the key of each position, the same for its mirror images, and the symmetry that makes it canonical."""
    player, opponent, which = _smallest(players, opponents, _WHICH)
    return _key(player, opponent), which


def _key(players: Boards, opponents: Boards) -> Boards:
    """Return a hash of each canonical board. It need only tell positions with the same number of discs apart."""
    word = players * np.uint64(0x9E3779B97F4A7C15) + opponents
    for factor in (0xD6E8FEB86659FD93, 0x9FB21C651E98DF25):
        word = (word ^ (word >> np.uint64(32))) * np.uint64(factor)
    return word ^ (word >> np.uint64(29))


class Moves(NamedTuple):
    """Moves of different games from boards with the same number of discs: numbers of the games, boards, squares, and
    whether White moves.
    """

    discs: int
    games: Numbers
    players: Boards
    opponents: Boards
    squares: Numbers
    white: npt.NDArray[np.bool_]


class Replay:
    """Games that are replayed together: boards as they stand, whether White is to move, and which games are legal.

    `moves` does the replay: until all of its moves are taken, ``legal`` and `results` are not final.
    """

    def __init__(self, players: Boards, opponents: Boards, white: npt.NDArray[np.bool_], squares: Numbers) -> None:
        """Each argument has an item for each game: the first board's discs of the side to move (``players``) and of the
        other side, whether White moves first, and a row of ``squares``: the moves without passes, 0 = A1, filled up
        with `NO_SQUARE`.
        """
        self.players, self.opponents, self.white = players.copy(), opponents.copy(), white.copy()
        self.legal = np.ones(len(players), np.bool_)
        self._squares = squares
        self._played = np.zeros(len(players), np.uint8)

    def moves(self) -> Iterator[Moves]:
        """Yield the moves from boards of 0 discs, of 1, and so on to 63. A game takes part until its end or first
        illegal move.

        The boards advance meanwhile, so this can be used once.
        """
        for discs in range(64):
            last = self._squares.shape[1] - 1
            squares = self._squares[np.arange(len(self.players)), np.minimum(self._played, last)]
            squares[self._played > last] = NO_SQUARE
            games = np.flatnonzero(
                (np.bitwise_count(self.players | self.opponents) == discs) & (squares != NO_SQUARE) & self.legal
            )
            played, squares, turned = self._turned(games, squares[games])
            self.legal[games[~played]] = False
            games, squares, turned = games[played], squares[played], turned[played]
            players, opponents = self.players[games], self.opponents[games]
            yield Moves(discs, games, players, opponents, squares, self.white[games])
            placed = turned | (np.uint64(1) << squares.astype(np.uint64))
            self.players[games], self.opponents[games] = opponents & ~turned, players | placed
            self.white[games] ^= True
            self._played[games] += 1

    def _turned(self, games: Numbers, squares: Numbers) -> tuple[npt.NDArray[np.bool_], Numbers, Boards]:
        """Make the forced passes before the moves of ``games`` on ``squares``; return which moves are legal, the
        squares (0 for one above 63), and the discs turned.
        """
        inside = squares < 64
        squares = np.where(inside, squares, 0).astype(np.uint8)
        stuck = games[legal_moves(self.players[games], self.opponents[games]) == 0]
        self.players[stuck], self.opponents[stuck] = self.opponents[stuck], self.players[stuck]
        self.white[stuck] ^= True
        turned = flips(self.players[games], self.opponents[games], squares)
        return (turned != 0) & inside, squares, turned

    def results(self) -> tuple[npt.NDArray[np.bool_], Numbers]:
        """Return which games are over, and Black's score on each board as it stands, in discs, empty squares counted
        for the winner.
        """
        over = legal_moves(self.players, self.opponents) | legal_moves(self.opponents, self.players)
        player, opponent = (np.bitwise_count(side).astype(np.int16) for side in (self.players, self.opponents))
        score = player - opponent
        score += np.sign(score) * (64 - player - opponent)
        return over == 0, np.where(self.white, -score, score).astype(np.int16)
