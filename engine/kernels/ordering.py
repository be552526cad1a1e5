"""The order in which moves are tried: a rank for each, the sum of small cheap terms; the greatest rank goes first.

The weights of the terms were chosen by node counts of the test problems (docs/performance.md, "What else was tried").
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.protocol.othello.rules import CORNERS

from .bits import INNER_COLUMNS, U, blsr, ctz, popc
from .emit import lookup8, lookup64

QUADRANTS = (0x000000000F0F0F0F, 0x00000000F0F0F0F0, 0x0F0F0F0F00000000, 0xF0F0F0F000000000)
quadrant = lookup64("quadrant", [QUADRANTS[((s & 7) >> 2) + 2 * (s >> 5)] for s in range(64)])
"""The 16 squares around a square's corner."""

# Ranks of the ten kinds of squares: corners first, X-squares last.
_RANKS = ((18, 4, 16, 12), (4, 2, 6, 8), (16, 6, 14, 10), (12, 8, 10, 0))
square_rank = lookup8("square_rank", [_RANKS[min(s >> 3, 7 - (s >> 3))][min(s & 7, 7 - (s & 7))] for s in range(64)])


@kernel("u64(u64)", inline=True)
def odd_quadrants(empty):
    """All squares of the quadrants with an odd number of empties."""
    odd = U(0)
    while empty:
        odd ^= quadrant(ctz(empty))
        empty = blsr(empty)
    return odd


@kernel("i64(u64)", inline=True)
def weighted_mobility(moves_):
    """Moves, corners counted twice."""
    return popc(moves_) + popc(moves_ & U(CORNERS))


@kernel("i64(u64,u64)", inline=True)
def potential_mobility(p, empty):
    """Empty squares next to the discs ``p``, where the other side may be able to move later."""
    inner = p & U(INNER_COLUMNS)
    across = (inner << U(1)) | (inner >> U(1))
    wide = p | across
    return popc((across | (wide << U(8)) | (wide >> U(8))) & empty)


@kernel("i64(u64)", inline=True)
def corner_stability(p):
    """Corners of ``p``, and its C-squares beside them."""
    corners = p & U(CORNERS)
    beside = ((corners << U(1)) | (corners >> U(1)) | (corners << U(8)) | (corners >> U(8))) & p
    return popc(corners) + popc(beside & U(0x4281000000008142))


# Ranks of the table's moves, beyond what the terms of any other move add up to.
FIRST_TABLE_MOVE = 1 << 24
SECOND_TABLE_MOVE = 1 << 23
SECOND_TABLE_MOVE_SEARCHED = 1 << 29
"""In `search_rank`, whose value may outweigh the other two."""

# Weights of the terms, as shifts. What the opponent may do counts from the most that there can be.
_MOST_MOVES = 40
_SOLVER_MOBILITY, _EXACT_MOBILITY, _MOBILITY = 12, 11, 8
_SOLVER_CORNERS, _EXACT_CORNERS, _CORNERS = 9, 9, 6
_POTENTIAL_MOBILITY = 4
_ODD_QUADRANT = 1 << 5
_VALUE = 9
_IN_TABLE = 1 << 10


@kernel("i64(u64,u64,u64,u64,u64,u64)", inline=True)
def solver_rank(x, here, odd, opponent_moves, r, empty):
    """The rank of the move ``x`` (bit ``here``) in the exact solver.

    ``r`` are the mover's discs after it, ``odd`` the squares of odd quadrants, ``empty`` the empty squares before it.
    """
    rank = (_MOST_MOVES - weighted_mobility(opponent_moves)) << _SOLVER_MOBILITY
    rank += corner_stability(r) << _SOLVER_CORNERS
    rank += (_MOST_MOVES - potential_mobility(r, empty ^ here)) << _POTENTIAL_MOBILITY
    if odd & here:
        rank += _ODD_QUADRANT
    rank += square_rank(x)
    return rank


@kernel("i64(u64,u64,u64,u64,u64,u64,i64)", inline=True)
def search_rank(x, here, odd, opponent_moves, r, empty, to_the_end):
    """The rank of a move in the general search, without the term of `looked_at`."""
    mobility = _MOST_MOVES - weighted_mobility(opponent_moves)
    edge = corner_stability(r)
    potential = (_MOST_MOVES - potential_mobility(r, empty ^ here)) << _POTENTIAL_MOBILITY
    if to_the_end:
        rank = (mobility << _EXACT_MOBILITY) + (edge << _EXACT_CORNERS) + potential + square_rank(x)
        if odd & here:
            rank += _ODD_QUADRANT
        return rank
    return (mobility << _MOBILITY) + (edge << _CORNERS) + potential + square_rank(x)


@kernel("i64(i64,u64)", inline=True)
def looked_at(value, known):
    """The term of a shallow search: ``value`` in discs for the mover; ``known`` is the table entry of the child."""
    rank = (64 + value) << _VALUE
    if known:
        rank += _IN_TABLE
    return rank
