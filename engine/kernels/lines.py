"""Lines of play as text, many in one call: a record (`desdaemon.engine.layout`, ``PLAYED_...``) holds a position and
moves, and receives the position after them.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    PLAYED_BYTES,
    PLAYED_CANONICAL_OPPONENT,
    PLAYED_CANONICAL_PLAYER,
    PLAYED_LENGTH,
    PLAYED_OPPONENT,
    PLAYED_OVER,
    PLAYED_PLAYER,
    PLAYED_SYMMETRY,
    PLAYED_TEXT,
)

from .bits import U, bit, canonical_symmetry, flip, i2u, ld64, lds64, ldu8, moves, st64, sts64, symmetric


@kernel("void(u64)")
def play_line(record):
    """Play the moves of the record at address ``record`` and write the results. PLAYED_OVER is set to -1 if there is a
    pair of letters that is no square in lower case or no legal move, or if the number of moves is negative.
    """
    p = ld64(record + U(PLAYED_PLAYER))
    o = ld64(record + U(PLAYED_OPPONENT))
    sts64(record + U(PLAYED_OVER), -1)
    length = lds64(record + U(PLAYED_LENGTH))
    if length < 0:
        return
    for k in range(length):
        letters = record + U(PLAYED_TEXT) + (i2u(k) << U(1))
        file = ldu8(letters) - U(97)
        rank = ldu8(letters + U(1)) - U(49)
        if file > U(7) or rank > U(7):
            return
        square = (rank << U(3)) + file
        if ((p | o) >> square) & U(1):
            return
        flips = flip(square, p, o)
        if flips == U(0):
            return
        p, o = o ^ flips, p | flips | bit(square)
    symmetry = canonical_symmetry(p, o)
    st64(record + U(PLAYED_PLAYER), p)
    st64(record + U(PLAYED_OPPONENT), o)
    st64(record + U(PLAYED_CANONICAL_PLAYER), symmetric(p, symmetry))
    st64(record + U(PLAYED_CANONICAL_OPPONENT), symmetric(o, symmetry))
    sts64(record + U(PLAYED_SYMMETRY), symmetry)
    over = 0
    if moves(p, o) == U(0) and moves(o, p) == U(0):
        over = 1
    sts64(record + U(PLAYED_OVER), over)


@kernel("void(u64,i64)")
def play_lines(records, number):
    """Play the lines of the ``number`` records at address ``records``."""
    for k in range(number):
        play_line(records + i2u(k) * U(PLAYED_BYTES))
