"""Records of Egaroucid's files and lines of Edax's text form: reading them with every check."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    canonical_symmetry,
    ctz,
    flip,
    i2u,
    ld64,
    ldi8,
    lds64,
    ldu8,
    ldu32,
    moves,
    popc,
    st8,
    st32,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .dat import half_at, word_at
from .graph import prefetch_key
from .table import canonical, find_row, insert_row, row_at

CENTRE = U(0x0000001818000000)

RECORD = U(25)
HUMAN_LEVEL = 70
UNDEFINED = -126
AHEAD = U(12 * 25)

OVERLAP = 1
CENTRE_EMPTY = 2
NOT_CANONICAL = 3
BAD_VALUE = 4
BAD_LEVEL = 5
BAD_LEAF = 6
BAD_LEAF_VALUE = 7
BAD_LEAF_LEVEL = 8

EGBK_LEAST = U(24)
EGBK_LEVELS = U(32)
EGBK_PASSES = U(32 + 61 * 8)

NO_SCORE = -127
FIRST = U(1)
SECOND = U(2)
BLANK = U(32)
COMMA = U(44)
MINUS = U(45)
NEWLINE = U(10)
RETURN = U(13)

TEXT_LEAST = U(16)
TEXT_LEVELS = U(24)


@kernel("i64(i64)", inline=True)
def bad_level(level):
    """Whether a level is neither -1..60 nor a human's."""
    return 1 if (level < -1 or level > 60) and level != HUMAN_LEVEL else 0


@kernel("i64(u64,i64,u64)")
def egbk_check(at, bare, out):
    """What is wrong with the record at ``at`` (0: nothing); the byte in the record at ``out``."""
    key = stack_buf(16)
    p = word_at(at)
    o = word_at(at + U(8))
    st64(out, U(0))
    if p & o:
        return OVERLAP
    if (p | o) & CENTRE != CENTRE:
        return CENTRE_EMPTY
    canonical(p, o, key)
    if ld64(key) != p or ld64(key + U(8)) != o:
        return NOT_CANONICAL
    st64(out, U(16))
    score = ldi8(at + U(16))
    if score < -64 or score > 64:
        return BAD_VALUE
    st64(out, U(17))
    if bad_level(ldi8(at + U(17))):
        return BAD_LEVEL
    if bare:
        return 0
    st64(out, U(23))
    move = ldu8(at + U(23))
    if move > U(65) and move != U(125):
        return BAD_LEAF
    st64(out, U(22))
    score = ldi8(at + U(22))
    if (score < -64 and score != UNDEFINED) or score > 64:
        return BAD_LEAF_VALUE
    st64(out, U(24))
    if bad_level(ldi8(at + U(24))):
        return BAD_LEAF_LEVEL
    return 0


@kernel("void(u64,u64)", inline=True)
def put_value(to, at):
    """Score, bounds, level, lines and the human mark of the row at ``to`` from the record at ``at``."""
    score = ldi8(at + U(16))
    level = ldi8(at + U(17))
    st32(to + U(28), u2i(half_at(at + U(18))))
    st8(to + U(32), score)
    st8(to + U(33), score)
    st8(to + U(34), score)
    st8(to + U(35), level)
    st8(to + U(39), 1 if level == HUMAN_LEVEL else 0)


@kernel("i64(u64,u64,i64,i64,i64,u64)")
def egbk_load(ctx, data, start, count, bare, out):
    """Insert records ``start..count`` of 25 bytes at ``data``; answers where it stopped. ``bare``: without leaves.

    ``out``: + 0 why (0: the end; -1, -2: see `insert_row`; else what is wrong), + 8 at which byte of the record, + 16
    repeated positions, which take the value and the leaf of the higher level, of equal ones the later; + 24 the fewest
    empty squares; from + 32 on unfinished positions by level 0..60; then, by empty squares 0..64, those after which
    the other side would have to pass.
    """
    k = i2u(start)
    end = i2u(count)
    st64(out, U(0))
    while k < end:
        at = data + k * RECORD
        ahead = at + AHEAD
        if ahead < data + end * RECORD:
            prefetch_key(ctx, word_at(ahead), word_at(ahead + U(8)))
        wrong = egbk_check(at, bare, out + U(8))
        if wrong:
            sts64(out, wrong)
            return u2i(k)
        p = word_at(at)
        o = word_at(at + U(8))
        answer = insert_row(ctx, p, o)
        if answer < 0:
            sts64(out, answer)
            return u2i(k)
        to = row_at(ctx, i2u(answer >> 1))
        level = ldi8(at + U(17))
        if answer & 1:
            empties = 64 - popc(p | o)
            if empties < u2i(ld64(out + EGBK_LEAST)):
                sts64(out + EGBK_LEAST, empties)
            passing = moves(o, p) == U(0)
            idle = moves(p, o) == U(0)
            if passing and not idle:
                slot = out + EGBK_PASSES + (i2u(empties) << U(3))
                st64(slot, ld64(slot) + U(1))
            if not (passing and idle) and 0 <= level <= 60:
                slot = out + EGBK_LEVELS + (i2u(level) << U(3))
                st64(slot, ld64(slot) + U(1))
        else:
            st64(out + U(16), ld64(out + U(16)) + U(1))
        if answer & 1 or level >= ldi8(to + U(35)):
            put_value(to, at)
        if bare == 0 and (answer & 1 or ldi8(at + U(24)) >= ldi8(to + U(38))):
            st8(to + U(36), u2i(ldu8(at + U(23))))
            st8(to + U(37), ldi8(at + U(22)))
            st8(to + U(38), ldi8(at + U(24)))
        k += U(1)
    return count


@kernel("i64(u64,i64,i64,u64,u64)")
def add_passes(ctx, start, end, passes, out):
    """Add the forced passes that a move from rows ``start..end`` leads to and whose next position is there, which gives
    them its value with the other sign; answers where it stopped, and why at ``out`` (see `insert_row`).

    ``passes``: how many rows with 0..64 empty squares such a pass can lead to.
    """
    key = stack_buf(16)
    row = i2u(start)
    st64(out, U(0))
    while row < i2u(end):
        at = row_at(ctx, row)
        p = ld64(at)
        o = ld64(at + U(8))
        free = 64 - popc(p | o)
        legal = U(0)
        if free > 0 and ld64(passes + (i2u(free - 1) << U(3))):
            legal = moves(p, o)
        while legal:
            x = ctz(legal)
            legal = blsr(legal)
            f = flip(x, p, o)
            idle = o ^ f
            mover = p | f | bit(x)
            if moves(idle, mover) or moves(mover, idle) == U(0):
                continue
            canonical(mover, idle, key)
            found = find_row(ctx, ld64(key), ld64(key + U(8)))
            if found < 0:
                continue
            canonical(idle, mover, key)
            answer = insert_row(ctx, ld64(key), ld64(key + U(8)))
            if answer < 0:
                sts64(out, answer)
                return u2i(row)
            if answer & 1:
                source = row_at(ctx, i2u(found))
                to = row_at(ctx, i2u(answer >> 1))
                score = -ldi8(source + U(32))
                st32(to + U(28), u2i(ldu32(source + U(28))))
                st8(to + U(32), score)
                st8(to + U(33), score)
                st8(to + U(34), score)
                st8(to + U(35), ldi8(source + U(35)))
                st8(to + U(39), u2i(ldu8(source + U(39)) & U(1)))
        row += U(1)
    return end


@kernel("u64(u64,i64)", inline=True)
def mirrored(move, symmetry):
    """Where a square goes under a symmetry 0..7 (see `record.mirror_move`)."""
    if move > U(63):
        return move
    if symmetry & 1:
        move ^= U(7)
    if symmetry & 2:
        move ^= U(56)
    if symmetry & 4:
        move = ((move & U(7)) << U(3)) | (move >> U(3))
    return move


@kernel("i64(u64,u64)", inline=True)
def number_at(at, out):
    """The number of one to three digits, perhaps behind a minus, at ``at``; where it ends at ``out``; 1000 for none."""
    sign = 1
    if ldu8(at) == MINUS:
        sign = -1
        at += U(1)
    value = 0
    digits = 0
    while digits < 4 and U(48) <= ldu8(at) <= U(57):
        value = value * 10 + u2i(ldu8(at)) - 48
        digits += 1
        at += U(1)
    st64(out, at)
    if digits == 0 or digits == 4:
        return 1000
    return sign * value


@kernel("i64(u64,u64)", inline=True)
def end_score(p, o):
    """The score of a finished game for ``p``; the empties go to the winner."""
    own = popc(p)
    other = popc(o)
    if own > other:
        return 64 - 2 * other
    if own < other:
        return 2 * own - 64
    return 0


@kernel("i64(u64,u64,i64,i64)", inline=True)
def fits(p, o, move, score):
    """Whether a leaf (64: a pass, 65: none) and its score can be those of the position."""
    legal = moves(p, o)
    if move == 65:
        if score == NO_SCORE:
            return 1
        return 1 if legal == U(0) and moves(o, p) == U(0) and score == end_score(p, o) else 0
    if score < -64 or score > 64:
        return 0
    if move == 64:
        return 1 if legal == U(0) and moves(o, p) != U(0) else 0
    return 1 if legal & bit(i2u(move)) else 0


@kernel("i64(u64,u64)", inline=True)
def move_at(at, out):
    """The move written at ``at``: 0..63, 64 (PA), 65 (--), 66 for anything else; where it ends at ``out``."""
    first = ldu8(at)
    second = ldu8(at + U(1))
    st64(out, at + U(2))
    if first == MINUS and second == MINUS:
        return 65
    column = first & U(0xDF)
    if first >= U(65) and U(65) <= column <= U(72) and U(49) <= second <= U(56):
        return u2i(column) - 65 + 8 * (u2i(second) - 49)
    if first == U(80) and second == U(65):
        return 64
    return 66


@kernel("i64(u64,u64,u64,u64)")
def text_line(here, end, discs, to):
    """Read the line at ``here``; where it ends, 0 when it is unusual, wrong or too near ``end``.

    ``to``: the canonical board, then level, leaf move on that board, leaf score (64 bits each).
    """
    # A well-formed line has at most 79 characters; what is read of others ends a little later.
    if here + U(96) > end:
        return 0
    p = U(0)
    o = U(0)
    strange = False
    k = U(0)
    while k < U(64):
        disc = ldu8(discs + ldu8(here + k))
        p |= (disc & U(1) & ~(disc >> U(1))) << k
        o |= ((disc >> U(1)) & ~disc & U(1)) << k
        if disc == U(0):
            strange = True
        k += U(1)
    side = ldu8(discs + ldu8(here + U(65)))
    if strange or ldu8(here + U(64)) != BLANK or ldu8(here + U(66)) != COMMA or (side != FIRST and side != SECOND):
        return 0
    if side == SECOND:
        p, o = o, p
    level = number_at(here + U(67), to)
    comma = ldu8(ld64(to)) == COMMA
    move = move_at(ld64(to) + U(1), to)
    comma = comma and ldu8(ld64(to)) == COMMA
    score = number_at(ld64(to) + U(1), to)
    after = ld64(to)
    if ldu8(after) == RETURN:
        after += U(1)
    good = comma and ldu8(after) == NEWLINE and 0 <= level <= 60 and (p | o) & CENTRE == CENTRE
    if not good or move > 65 or fits(p, o, move, score) == 0:
        return 0
    canonical(p, o, to)
    sts64(to + U(16), level)
    st64(to + U(24), mirrored(i2u(move), canonical_symmetry(p, o)))
    sts64(to + U(32), score)
    return u2i(after + U(1))


@kernel("i64(u64,u64,i64,i64,u64,u64)")
def text_load(ctx, data, start, size, discs, out):
    """Insert the positions of the whole lines in ``size`` bytes, from byte ``start`` on; answers where it stopped.

    ``discs``: for every byte, 1 a disc of the first side, 2 of the second, 3 an empty square, 0 none. ``out``: + 0 why
    (0: a line that is unusual, wrong, or near the end; -1, -2: see `insert_row`), + 8 repeated positions, which are
    dropped, + 16 the fewest empty squares, from + 24 on unfinished positions by level 0..60.
    """
    # Some lines are read before the first of them is inserted, so that memory has time to come.
    batch = stack_buf(1536)
    here = data + i2u(start)
    end = data + i2u(size)
    st64(out, U(0))
    while True:
        count = U(0)
        odd = False
        while count < U(32) and not odd:
            to = batch + count * U(48)
            after = text_line(here, end, discs, to)
            if after:
                prefetch_key(ctx, ld64(to), ld64(to + U(8)))
                st64(to + U(40), here)
                here = i2u(after)
                count += U(1)
            else:
                odd = True
        k = U(0)
        while k < count:
            source = batch + k * U(48)
            p = ld64(source)
            o = ld64(source + U(8))
            level = lds64(source + U(16))
            score = lds64(source + U(32))
            answer = insert_row(ctx, p, o)
            if answer < 0:
                sts64(out, answer)
                return u2i(ld64(source + U(40)) - data)
            k += U(1)
            if answer & 1 == 0:
                st64(out + U(8), ld64(out + U(8)) + U(1))
                continue
            row = row_at(ctx, i2u(answer >> 1))
            st8(row + U(35), level)
            st8(row + U(36), u2i(ld64(source + U(24))))
            st8(row + U(37), score)
            st8(row + U(38), level if score != NO_SCORE else -1)
            empties = 64 - popc(p | o)
            if empties < u2i(ld64(out + TEXT_LEAST)):
                sts64(out + TEXT_LEAST, empties)
            if moves(p, o) or moves(o, p):
                slot = out + TEXT_LEVELS + (i2u(level) << U(3))
                st64(slot, ld64(slot) + U(1))
        if odd:
            return u2i(here - data)
