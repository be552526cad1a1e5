"""The rules of Othello on 64-bit bitboards, in pure Python.

A position is a pair ``(player, opponent)`` of unsigned 64-bit words, A1 = bit 0, B1 = bit 1, H8 = bit 63; ``player`` is
the side to move. Squares are 0..63. Scores are disc differences for ``player``, empty squares counted for the winner.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from .scores import MoverScore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FULL = 0xFFFF_FFFF_FFFF_FFFF
PASS = 64
"""The move number of a forced pass."""

START = (0x0000_0008_1000_0000, 0x0000_0010_0800_0000)
"""The opening position: Black, to move, on E4 and D5, White on D4 and E5."""

CENTRE = START[0] | START[1]

CORNERS = 0x8100_0000_0000_0081
A_FILE, H_FILE = 0x0101_0101_0101_0101, 0x8080_8080_8080_8080
MOST_MOVES = 34
"""Length of arrays for legal moves; no known position has more than 33."""

NOT_A, NOT_H = FULL ^ A_FILE, FULL ^ H_FILE
"""All squares except those of file A; all except those of file H."""

# The shift of a step (negative: to the right), and the squares it may land on: a line must not wrap round an edge.
_STEPS = (
    (1, NOT_A),
    (-1, NOT_H),
    (8, FULL),
    (-8, FULL),
    (9, NOT_A),
    (-9, NOT_H),
    (7, NOT_H),
    (-7, NOT_A),
)


def _step(bits: int, shift: int, mask: int) -> int:
    return (bits << shift if shift > 0 else bits >> -shift) & mask


class _Rays(dict[int, tuple[tuple[tuple[int, int], ...], ...]]):
    """A cache of the rays along which a move on one square may turn discs.

    A key is a mask of the opponent's discs on ``beside``: the square's neighbours that have a square behind them. The
    value, made at the first look-up, has a ray for each of these discs: the squares behind the disc, nearest first,
    each as its mask and the mask of the squares between it and the move.
    """

    def __init__(self, square: int) -> None:
        self._rays = []
        self.beside = 0
        for shift, mask in _STEPS:
            neighbour = between = _step(1 << square & FULL, shift, mask)
            ray = []
            while square_bit := _step(between, shift, mask) & ~between:
                ray.append((square_bit, between))
                between |= square_bit
            if ray:
                self._rays.append((neighbour, tuple(ray)))
                self.beside |= neighbour

    def __missing__(self, discs: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        self[discs] = rays = tuple(ray for neighbour, ray in self._rays if neighbour & discs)
        return rays


_RAYS = [(1 << square, rays.beside, rays) for square, rays in enumerate(map(_Rays, range(65)))]
"""Each square's mask, ``beside`` and rays; the last entry, for a `PASS`, has no rays."""


class IllegalMove(ValueError):
    """A move that is illegal in its position."""


def _moves_by_direction(player: int, opponent: int) -> Iterator[int]:
    """Yield for each direction a mask of the moves that turn discs in it."""
    empty = ~(player | opponent) & FULL
    for shift, mask in _STEPS:
        # Runs of one to six discs: steps of one find two of them, steps of two the others.
        between = opponent & mask
        if shift > 0:
            line = (player << shift) & between
            line |= (line << shift) & between
            pair = between & (between << shift)
            line |= (line << 2 * shift) & pair
            line |= (line << 2 * shift) & pair
            yield (line << shift) & mask & empty
        else:
            line = (player >> -shift) & between
            line |= (line >> -shift) & between
            pair = between & (between >> -shift)
            line |= (line >> -2 * shift) & pair
            line |= (line >> -2 * shift) & pair
            yield (line >> -shift) & mask & empty


def legal_moves(player: int, opponent: int) -> int:
    """Return a mask of the legal moves; 0 if the side to move has to pass or the game is over."""
    moves = 0
    for some in _moves_by_direction(player, opponent):
        moves |= some
    return moves


def can_move(player: int, opponent: int, within: int = FULL) -> bool:
    """Return whether the side to move has a legal move on a square of the mask ``within``, for a fraction of the cost
    of `legal_moves`.
    """
    return any(moves & within for moves in _moves_by_direction(player, opponent))


def flips(player: int, opponent: int, square: int) -> int:
    """Return a mask of the discs that a move on ``square`` turns; 0 if the move is illegal, and for a `PASS`."""
    square_bit, beside, rays = _RAYS[square]
    if (player | opponent) & square_bit:
        return 0
    turned = 0
    for ray in rays[opponent & beside]:
        for end, between in ray:
            if not opponent & end:
                if player & end:
                    turned |= between
                break
    return turned


def play(player: int, opponent: int, move: int) -> tuple[int, int]:
    """Return the position after ``move`` (0..63 or `PASS`), seen from the other side. Raises `IllegalMove`."""
    if move == PASS:
        if not must_pass(player, opponent):
            raise IllegalMove("a pass is allowed only when it is forced")
        return opponent, player
    turned = flips(player, opponent, move) if 0 <= move < 64 else 0
    if not turned:
        raise IllegalMove(f"square {move} turns no disc")
    return opponent ^ turned, player | turned | 1 << move


def must_pass(player: int, opponent: int) -> bool:
    """Return whether only the other side has a legal move."""
    return not can_move(player, opponent) and can_move(opponent, player)


def is_over(player: int, opponent: int) -> bool:
    """Return whether neither side has a move."""
    return not (can_move(player, opponent) or can_move(opponent, player))


def empties(player: int, opponent: int) -> int:
    """Return the number of empty squares."""
    return 64 - (player | opponent).bit_count()


def final_score(player: int, opponent: int) -> MoverScore:
    """Return the disc difference for ``player``, empty squares counted for the winner."""
    difference = player.bit_count() - opponent.bit_count()
    if difference > 0:
        return MoverScore(difference + empties(player, opponent))
    if difference < 0:
        return MoverScore(difference - empties(player, opponent))
    return MoverScore(0)


def squares(mask: int) -> list[int]:
    """Return the squares of a mask in ascending order."""
    listed = []
    while mask:
        lowest = mask & -mask
        listed.append(lowest.bit_length() - 1)
        mask ^= lowest
    return listed


_TWICE = 1 << 64 | 1
_SQUARE_SWAPS = (
    (7, 0x00AA_00AA_00AA_00AA * _TWICE),
    (14, 0x0000_CCCC_0000_CCCC * _TWICE),
    (28, 0x0000_0000_F0F0_F0F0 * _TWICE),
)


def _transpose(bits: int) -> int:
    """Mirror a mask at the diagonal A1-H8, or two masks that lie side by side in one number."""
    for shift, mask in _SQUARE_SWAPS:
        swap = (bits ^ bits >> shift) & mask
        bits ^= swap ^ swap << shift
    return bits


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""A table for `bytes.translate` that mirrors the files of ranks, each a byte."""


def _mirror_images(pair: int) -> tuple[bytes, bytes, bytes, bytes]:
    """Return two masks, side by side in one number, under symmetries 0 to 3, as bytes that compare as numbers do."""
    ranks = pair.to_bytes(16, "big")
    mirrored = ranks[7::-1] + ranks[:7:-1]
    return ranks, ranks.translate(_REVERSED), mirrored, mirrored.translate(_REVERSED)


def transform(bits: int, symmetry: int) -> int:
    """Return a mask under symmetry 0..7: bit 0 mirrors A-H, then bit 1 mirrors 1-8, then bit 2 transposes."""
    bits = int.from_bytes(_mirror_images(bits)[symmetry & 3], "big")
    return _transpose(bits) if symmetry & 4 else bits


def transform_move(move: int, symmetry: int) -> int:
    """Return the image of a square under a symmetry of `transform`; a `PASS` stays a `PASS`."""
    if move >= 64:
        return move
    file, rank = move & 7, move >> 3
    if symmetry & 1:
        file = 7 - file
    if symmetry & 2:
        rank = 7 - rank
    if symmetry & 4:
        file, rank = rank, file
    return 8 * rank + file


INVERSE_SYMMETRY = (0, 1, 2, 3, 4, 6, 5, 7)
"""``transform(transform(b, s), INVERSE_SYMMETRY[s]) == b``."""


@cache
def move_images(symmetry: int) -> bytes:
    """Return a table for `bytes.translate` that maps moves to their images under a symmetry."""
    return bytes(transform_move(move, symmetry) for move in range(256))


def canonical(player: int, opponent: int) -> tuple[int, int]:
    """Return the smallest ``(player, opponent)`` of the eight symmetric positions, compared as unsigned pairs."""
    return canonical_with_symmetry(player, opponent)[:2]


@lru_cache(4096)
def canonical_with_symmetry(player: int, opponent: int) -> tuple[int, int, int]:
    """Return the canonical pair and the symmetry that maps the given position to it."""
    pair = player << 64 | opponent
    # To mirror files and transpose is to transpose and mirror ranks.
    plain, files, ranks, both = _mirror_images(_transpose(pair))
    images = (*_mirror_images(pair), plain, ranks, files, both)
    least = min(images)
    return int.from_bytes(least[:8], "big"), int.from_bytes(least[8:], "big"), images.index(least)


def mirror_equal_moves(
    player: int,
    opponent: int,
    moves: int,
    play: Callable[[int, int, int], tuple[int, int]] = play,
    canonical: Callable[[int, int], tuple[int, int, int]] = canonical_with_symmetry,
) -> list[dict[int, int]]:
    """Group the moves of the mask ``moves`` that lead to the same position, mirror images counted as the same.

    A group maps each move to the symmetry that maps the position after it to its canonical one. ``play`` and
    ``canonical`` may be replaced by faster functions with the same results.
    """
    groups: dict[tuple[int, int], dict[int, int]] = {}
    for move in squares(moves):
        own, other, symmetry = canonical(*play(player, opponent, move))
        groups.setdefault((own, other), {})[move] = symmetry
    return list(groups.values())


def mirrored_line(line: tuple[int, ...], symmetry: int, other: int) -> tuple[int, ...]:
    """Return a line turned from one orientation of a position into another. ``symmetry`` maps the first orientation to
    the canonical position, ``other`` the second.
    """
    if symmetry == other:
        return line
    return tuple(bytes(line).translate(move_images(symmetry)).translate(move_images(INVERSE_SYMMETRY[other])))


def floating_discs(player: int, opponent: int) -> int:
    """Return a mask of discs that no chain of neighbours joins to the four centre squares; no game has such discs."""
    discs = player | opponent
    joined = discs & CENTRE
    while True:
        grown = joined
        for shift, mask in _STEPS:
            grown |= _step(joined, shift, mask) & discs
        if grown == joined:
            return discs & ~joined
        joined = grown
