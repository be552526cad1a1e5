"""The fields of a position's record, by name: every kernel reads and writes them through these."""

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
def player_of(at):
    return ld64(at + U(PLAYER))


@kernel("u64(u64)", inline=True)
def opponent_of(at):
    return ld64(at + U(OPPONENT))


@kernel("i64(u64)", inline=True)
def empties_of(at):
    return 64 - popc(ld64(at + U(PLAYER)) | ld64(at + U(OPPONENT)))


@kernel("i64(u64)", inline=True)
def score_of(at):
    return ldi8(at + U(SCORE))


@kernel("i64(u64)", inline=True)
def lower_bound_of(at):
    return ldi8(at + U(LOWER))


@kernel("i64(u64)", inline=True)
def upper_bound_of(at):
    return ldi8(at + U(UPPER))


@kernel("i64(u64)", inline=True)
def level_of(at):
    return ldi8(at + U(LEVEL))


@kernel("u64(u64)", inline=True)
def leaf_move_of(at):
    return ldu8(at + U(LEAF_MOVE))


@kernel("i64(u64)", inline=True)
def leaf_score_of(at):
    return ldi8(at + U(LEAF_SCORE))


@kernel("i64(u64)", inline=True)
def leaf_level_of(at):
    return ldi8(at + U(LEAF_LEVEL))


@kernel("u64(u64)", inline=True)
def flags_of(at):
    return ldu8(at + U(FLAGS))


@kernel("u64(u64,u64)", inline=True)
def narrow_count_of(at, which):
    """Return the count WINS .. LINES as the record stores it; with the flag WIDE it is not the count itself."""
    return ldu32(at + U(COUNTS) + (which << U(2)))


@kernel("void(u64,u64,u64)", inline=True)
def set_narrow_count(at, which, value):
    st32(at + U(COUNTS) + (which << U(2)), u2i(value))


@kernel("i64(u64)", inline=True)
def has_leaf(at):
    """Whether there is a leaf to play: a square or the pass, with a score."""
    return 1 if leaf_move_of(at) <= U(PASS) and leaf_score_of(at) >= -MAX_SCORE else 0


@kernel("void(u64,u64,u64)", inline=True)
def set_board(at, p, o):
    st64(at + U(PLAYER), p)
    st64(at + U(OPPONENT), o)


@kernel("void(u64,i64,i64,i64)", inline=True)
def set_score(at, score, lower, upper):
    st8(at + U(SCORE), score)
    st8(at + U(LOWER), lower)
    st8(at + U(UPPER), upper)


@kernel("void(u64,i64)", inline=True)
def set_level(at, level):
    st8(at + U(LEVEL), level)


@kernel("void(u64,i64,i64,i64)", inline=True)
def set_leaf(at, move, score, level):
    st8(at + U(LEAF_MOVE), move)
    st8(at + U(LEAF_SCORE), score)
    st8(at + U(LEAF_LEVEL), level)


@kernel("void(u64)", inline=True)
def clear_leaf(at):
    set_leaf(at, NO_MOVE, NO_SCORE, NO_LEVEL)


@kernel("void(u64,u64)", inline=True)
def set_flags(at, flags):
    st8(at + U(FLAGS), u2i(flags))


@kernel("void(u64)", inline=True)
def blank_payload(at):
    """Clear score, bounds, leaf and counts: the state of a new position."""
    st64(at + U(COUNTS), U(0))
    st64(at + U(COUNTS + 8), U(0))
    set_score(at, NO_SCORE, NO_SCORE, -NO_SCORE)
    set_level(at, NO_LEVEL)
    clear_leaf(at)
    set_flags(at, U(0))


@kernel("void(u64,u64)", inline=True)
def copy_payload(to, source):
    """Copy everything of a record but its board."""
    st64(to + U(COUNTS), ld64(source + U(COUNTS)))
    st64(to + U(COUNTS + 8), ld64(source + U(COUNTS + 8)))
    st64(to + U(SCORE), ld64(source + U(SCORE)))


@kernel("i64(i64)", inline=True)
def clamped(score):
    """Limit a score or bound to -MAX_BOUND .. MAX_BOUND."""
    if score < -MAX_BOUND:
        return -MAX_BOUND
    if score > MAX_BOUND:
        return MAX_BOUND
    return score


@kernel("i64(i64,i64)", inline=True)
def by_level(level, empties):
    """Return the index of ``level`` (at least NO_LEVEL) and 0 to 64 empty squares in a table of `LEVELS` rows."""
    if level < NO_LEVEL:
        level = NO_LEVEL
    if level > NO_LEVEL + LEVELS - 1:
        level = NO_LEVEL + LEVELS - 1
    return (level - NO_LEVEL) * SQUARES + empties


@kernel("u64(u64,i64,i64)", inline=True)
def margin_at(margins, level, empties):
    """Return the address of the margins of ``level`` with 0 to 64 empty squares."""
    return margins + i2u(by_level(level, empties) * MARGIN_BYTES)


@kernel("i64(u64)", inline=True)
def margin_lower(margin):
    """Return the difference of a leaf's lower bound from its score."""
    return ldi16(margin)


@kernel("i64(u64)", inline=True)
def margin_upper(margin):
    return ldi16(margin + U(2))


@kernel("i64(u64)", inline=True)
def margin_exact(margin):
    """Whether the leaf's search was exact."""
    return ldi16(margin + U(4))
