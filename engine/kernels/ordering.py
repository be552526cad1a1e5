"""What makes a move worth trying first, as small cheap terms."""

from desdaemon.engine.compiler.jit import kernel

from .bits import CORNERS, INNER_COLUMNS, U, blsr, ctz, popc
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
    """Empty squares next to the discs ``p``: where the other side may come to play."""
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
