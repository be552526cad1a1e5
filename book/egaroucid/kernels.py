"""Records of Egaroucid's files: reading with every check."""

from desdaemon.book.egaroucid.layout import (
    EGBK_BYTES,
    EGBK_LEAF_LEVEL,
    EGBK_LEAF_MOVE,
    EGBK_LEAF_SCORE,
    EGBK_LEVEL,
    EGBK_LINES,
    EGBK_SCORE,
)
from desdaemon.book.kernels.blocks import no_level
from desdaemon.book.kernels.graph import FAMILIES, family_of, legal_of, link_count, link_row, links_of, prefetch_key
from desdaemon.book.kernels.imports import (
    at_fault,
    check_board,
    half_at,
    packed_opponent,
    packed_player,
    set_word,
    tally_import,
    word_of,
)
from desdaemon.book.kernels.negamax import add_saturated
from desdaemon.book.kernels.records import (
    clamped,
    empties_of,
    flags_of,
    leaf_level_of,
    level_of,
    lower_bound_of,
    margin_at,
    margin_lower,
    margin_upper,
    narrow_count_of,
    opponent_of,
    player_of,
    score_of,
    set_flags,
    set_leaf,
    set_level,
    set_narrow_count,
    set_score,
    upper_bound_of,
)
from desdaemon.book.kernels.table import find_row, insert_row, listed_row, row_at
from desdaemon.book.layout import (
    BAD_LEAF,
    BAD_LEAF_LEVEL,
    BAD_LEAF_SCORE,
    BAD_LEVEL,
    BAD_SCORE,
    EGAROUCID_LEVELS,
    HUMAN,
    HUMAN_LEVEL,
    IMPORT_REASON,
    IMPORT_REPEATED,
    LINES,
    MAX_SCORE,
    NO_MOVE,
    UNDEFINED_MOVE,
    UNDEFINED_SCORE,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    canonical,
    ctz,
    flip,
    i2u,
    ld64,
    ldi8,
    ldu8,
    moves,
    popc,
    st64,
    stack_buf,
    sts64,
    u2i,
)

AHEAD = 12 * EGBK_BYTES
"""Number of bytes between a prefetch of the index and its use."""


@kernel("i64(u64,i64,u64)")
def egbk_check(record, bare, out):
    """Return the fault of the record at ``record``, 0 if it has none; the byte at fault goes to IMPORT_BYTE in ``out``.

    ``bare`` records have no leaf.
    """
    fault = check_board(packed_player(record), packed_opponent(record))
    if fault:
        return at_fault(out, 0, fault)
    score = ldi8(record + U(EGBK_SCORE))
    if score < -MAX_SCORE or score > MAX_SCORE:
        return at_fault(out, EGBK_SCORE, BAD_SCORE)
    if no_level(ldi8(record + U(EGBK_LEVEL))):
        return at_fault(out, EGBK_LEVEL, BAD_LEVEL)
    if bare:
        return 0
    move = ldu8(record + U(EGBK_LEAF_MOVE))
    if move > U(NO_MOVE) and move != U(UNDEFINED_MOVE):
        return at_fault(out, EGBK_LEAF_MOVE, BAD_LEAF)
    score = ldi8(record + U(EGBK_LEAF_SCORE))
    if (score < -MAX_SCORE and score != UNDEFINED_SCORE) or score > MAX_SCORE:
        return at_fault(out, EGBK_LEAF_SCORE, BAD_LEAF_SCORE)
    if no_level(ldi8(record + U(EGBK_LEAF_LEVEL))):
        return at_fault(out, EGBK_LEAF_LEVEL, BAD_LEAF_LEVEL)
    return 0


@kernel("void(u64,u64,u64)", inline=True)
def put_value(to, record, margins):
    """Set score, level, bounds, lines and human mark of the row at ``to`` from a file's ``record``.

    ``margins`` is the address of the leaves' margins, which give the bounds.
    """
    score = ldi8(record + U(EGBK_SCORE))
    level = ldi8(record + U(EGBK_LEVEL))
    set_narrow_count(to, U(LINES), half_at(record + U(EGBK_LINES)))
    set_level(to, level)
    if level == HUMAN_LEVEL:
        set_score(to, score, score, score)
        set_flags(to, U(EGAROUCID_LEVELS | HUMAN))
    else:
        margin = margin_at(margins, level, empties_of(to))
        set_score(to, score, clamped(score + margin_lower(margin)), clamped(score + margin_upper(margin)))
        set_flags(to, U(EGAROUCID_LEVELS))


@kernel("i64(u64,u64,i64,i64,i64,u64,u64)")
def egbk_load(ctx, data, start, count, bare, margins, out):
    """Insert records ``start`` to ``count`` - 1 of those at address ``data``. Returns the number of the record where it
    stopped, ``count`` at the end.

    ``bare`` records have no leaf; ``margins`` is the address of the leaves' margins; ``out`` gets the words from
    `layout.IMPORT_REASON` on. Of records with the same position the value and the leaf of the highest level are kept,
    of equal levels the last.
    """
    k = i2u(start)
    end = i2u(count)
    set_word(out, IMPORT_REASON, U(0))
    while k < end:
        record = data + k * U(EGBK_BYTES)
        ahead = record + U(AHEAD)
        if ahead < data + end * U(EGBK_BYTES):
            prefetch_key(ctx, packed_player(ahead), packed_opponent(ahead))
        fault = egbk_check(record, bare, out)
        p = packed_player(record)
        o = packed_opponent(record)
        answer = 0
        if fault == 0:
            answer = insert_row(ctx, p, o)
            if answer < 0:
                fault = answer
        if fault:
            set_word(out, IMPORT_REASON, i2u(fault))
            return u2i(k)
        to = row_at(ctx, i2u(answer >> 1))
        level = ldi8(record + U(EGBK_LEVEL))
        if answer & 1:
            tally_import(out, p, o, level, moves(p, o), moves(o, p))
        else:
            set_word(out, IMPORT_REPEATED, word_of(out, IMPORT_REPEATED) + U(1))
        if answer & 1 or level >= level_of(to):
            put_value(to, record, margins)
        leaf_level = ldi8(record + U(EGBK_LEAF_LEVEL))
        if bare == 0 and (answer & 1 or leaf_level >= leaf_level_of(to)):
            set_leaf(to, u2i(ldu8(record + U(EGBK_LEAF_MOVE))), ldi8(record + U(EGBK_LEAF_SCORE)), leaf_level)
        k += U(1)
    return count


@kernel("i64(u64,i64,i64,u64,u64)")
def add_passes(ctx, start, end, passes, out):
    """Add each position with a forced pass that a move from rows ``start`` to ``end`` - 1 leads to, if the book has
    the position after the pass.

    The added position gets the score and bounds of the position after the pass with the other sign, and its level,
    lines and human mark. ``passes`` has, for 0..64 empty squares, the number of rows that such a pass can lead to.
    Returns the row where it stopped; ``out`` gets 0 or the answer of `insert_row`.
    """
    key = stack_buf(16)
    row = i2u(start)
    st64(out, U(0))
    while row < i2u(end):
        record = row_at(ctx, row)
        p = player_of(record)
        o = opponent_of(record)
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
            after_row = find_row(ctx, player_of(key), opponent_of(key))
            if after_row < 0:
                continue
            canonical(idle, mover, key)
            answer = insert_row(ctx, player_of(key), opponent_of(key))
            if answer < 0:
                sts64(out, answer)
                return u2i(row)
            if answer & 1:
                source = row_at(ctx, i2u(after_row))
                to = row_at(ctx, i2u(answer >> 1))
                set_narrow_count(to, U(LINES), narrow_count_of(source, U(LINES)))
                set_score(to, -score_of(source), -upper_bound_of(source), -lower_bound_of(source))
                set_level(to, level_of(source))
                set_flags(to, flags_of(source) & U(EGAROUCID_LEVELS | HUMAN))
        row += U(1)
    return end


@kernel("void(u64,u64,i64,i64,u64,u64)")
def count_positions(ctx, order, start, end, out, filters):
    """Write Egaroucid's line counts of the rows ``order[start]`` to ``order[end - 1]`` to ``out``, 64 bits at each
    row's number.

    The counts of their children must be there already. A count is 1 + the sum over the links; a forced pass counts as
    the position after it.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    t = first
    while t < i2u(end):
        family = family_of(ctx, order, first, t, i2u(end), filters, families)
        total = U(1)
        if legal_of(family) == U(0) and link_count(family):
            total = U(0)
        links = links_of(family)
        k = U(0)
        while k < link_count(family):
            total = add_saturated(total, ld64(out + (i2u(link_row(links, k)) << U(3))))
            k += U(1)
        st64(out + (listed_row(order, t) << U(3)), total)
        t += U(1)
