"""The fields of a position's record: every kernel reads and writes them by these functions."""

from desdaemon.book.layout import (
    COUNTS,
    FLAGS,
    LEAF_LEVEL,
    LEAF_MOVE,
    LEAF_SCORE,
    LEVEL,
    LEVELS,
    LOWER,
    MARGIN_BYTES,
    MAX_BOUND,
    MAX_SCORE,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    OPPONENT,
    PASS,
    PLAYER,
    SCORE,
    SQUARES,
    UPPER,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, i2u, ld64, ldi8, ldi16, ldu8, ldu32, popc, st8, st32, st64, u2i


@kernel("u64(u64)", inline=True)
def player_of(record):
    return ld64(record + U(PLAYER))


@kernel("u64(u64)", inline=True)
def opponent_of(record):
    return ld64(record + U(OPPONENT))


@kernel("i64(u64)", inline=True)
def empties_of(record):
    return 64 - popc(ld64(record + U(PLAYER)) | ld64(record + U(OPPONENT)))


@kernel("i64(u64)", inline=True)
def score_of(record):
    return ldi8(record + U(SCORE))


@kernel("i64(u64)", inline=True)
def lower_bound_of(record):
    return ldi8(record + U(LOWER))


@kernel("i64(u64)", inline=True)
def upper_bound_of(record):
    return ldi8(record + U(UPPER))


@kernel("i64(u64)", inline=True)
def level_of(record):
    return ldi8(record + U(LEVEL))


@kernel("u64(u64)", inline=True)
def leaf_move_of(record):
    return ldu8(record + U(LEAF_MOVE))


@kernel("i64(u64)", inline=True)
def leaf_score_of(record):
    return ldi8(record + U(LEAF_SCORE))


@kernel("i64(u64)", inline=True)
def leaf_level_of(record):
    return ldi8(record + U(LEAF_LEVEL))


@kernel("u64(u64)", inline=True)
def flags_of(record):
    return ldu8(record + U(FLAGS))


@kernel("u64(u64,u64)", inline=True)
def narrow_count_of(record, which):
    """Return a path count (WINS .. LINES) as the record stores it; with the flag WIDE it is not the count itself."""
    return ldu32(record + U(COUNTS) + (which << U(2)))


@kernel("void(u64,u64,u64)", inline=True)
def set_narrow_count(record, which, value):
    st32(record + U(COUNTS) + (which << U(2)), u2i(value))


@kernel("i64(u64)", inline=True)
def has_leaf(record):
    """Return 1 if there is a leaf to play, a square or the pass with a score; else 0."""
    return 1 if leaf_move_of(record) <= U(PASS) and leaf_score_of(record) >= -MAX_SCORE else 0


@kernel("void(u64,u64,u64)", inline=True)
def set_board(record, p, o):
    st64(record + U(PLAYER), p)
    st64(record + U(OPPONENT), o)


@kernel("void(u64,i64,i64,i64)", inline=True)
def set_score(record, score, lower, upper):
    st8(record + U(SCORE), score)
    st8(record + U(LOWER), lower)
    st8(record + U(UPPER), upper)


@kernel("void(u64,i64)", inline=True)
def set_level(record, level):
    st8(record + U(LEVEL), level)


@kernel("void(u64,i64,i64,i64)", inline=True)
def set_leaf(record, move, score, level):
    st8(record + U(LEAF_MOVE), move)
    st8(record + U(LEAF_SCORE), score)
    st8(record + U(LEAF_LEVEL), level)


@kernel("void(u64)", inline=True)
def clear_leaf(record):
    set_leaf(record, NO_MOVE, NO_SCORE, NO_LEVEL)


@kernel("void(u64,u64)", inline=True)
def set_flags(record, flags):
    st8(record + U(FLAGS), u2i(flags))


@kernel("void(u64)", inline=True)
def blank_payload(record):
    """Clear score, bounds, level, leaf, flags and counts, as in a new position."""
    st64(record + U(COUNTS), U(0))
    st64(record + U(COUNTS + 8), U(0))
    set_score(record, NO_SCORE, NO_SCORE, -NO_SCORE)
    set_level(record, NO_LEVEL)
    clear_leaf(record)
    set_flags(record, U(0))


@kernel("void(u64,u64)", inline=True)
def copy_payload(to, source):
    """Copy all of a record but its board from ``source`` to ``to``."""
    st64(to + U(COUNTS), ld64(source + U(COUNTS)))
    st64(to + U(COUNTS + 8), ld64(source + U(COUNTS + 8)))
    st64(to + U(SCORE), ld64(source + U(SCORE)))


@kernel("i64(i64)", inline=True)
def clamped(score):
    """Return a score or bound limited to -MAX_BOUND .. MAX_BOUND."""
    if score < -MAX_BOUND:
        return -MAX_BOUND
    if score > MAX_BOUND:
        return MAX_BOUND
    return score


@kernel("i64(i64,i64)", inline=True)
def by_level(level, empties):
    """Return the index in a table by level and by 0 to 64 empty squares; a ``level`` outside the `LEVELS` levels from
    NO_LEVEL on counts as the nearest of them.
    """
    if level < NO_LEVEL:
        level = NO_LEVEL
    if level > NO_LEVEL + LEVELS - 1:
        level = NO_LEVEL + LEVELS - 1
    return (level - NO_LEVEL) * SQUARES + empties


@kernel("u64(u64,i64,i64)", inline=True)
def margin_at(margins, level, empties):
    """Return the address of the margins of ``level`` with 0 to 64 empty squares in the table at ``margins``."""
    return margins + i2u(by_level(level, empties) * MARGIN_BYTES)


@kernel("i64(u64)", inline=True)
def margin_lower(margin):
    """Return what a leaf's lower bound adds to its score, in discs; ``margin`` is an address from `margin_at`."""
    return ldi16(margin)


@kernel("i64(u64)", inline=True)
def margin_upper(margin):
    return ldi16(margin + U(2))


@kernel("i64(u64)", inline=True)
def margin_exact(margin):
    """Return 1 if a leaf with this margin has an exact score, else 0; ``margin`` is an address from `margin_at`."""
    return ldi16(margin + U(4))
