"""Walks from positions along links: mark reached rows, find links that a removal loses."""

from desdaemon.book.layout import (
    EGAROUCID_LEVELS,
    GONE_BY_HAND,
    KEEPS_LEAF,
    KEPT,
    MAX_SCORE,
    NO_LEVEL,
    NO_SCORE,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    i2u,
    ldu8,
    st8,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import (
    BATCH,
    FAMILIES,
    FAMILY,
    family_of,
    gather_children,
    link_count,
    link_move,
    link_row,
    links_of,
)
from .records import (
    flags_of,
    has_leaf,
    leaf_score_of,
    level_of,
    score_of,
)
from .table import listed_row, row_at

BOTH = 3
"""Both marks of `reach_rows` and `select_rows`: 1 and 2, one for each side."""
NOTE = 40
"""Bytes of a note of `list_lost`: row, move, score, level and number of remaining links, 64 bits each."""
NOTE_MOVE = 8
NOTE_SCORE = 16
NOTE_LEVEL = 24
NOTE_LINKS = 32


@kernel("u64(u64,u64)", inline=True)
def batch_below(start, t):
    """Return the first place of the batch that ends before place ``t``, on a walk down to ``start``."""
    if t < start + U(BATCH):
        return start
    return t - U(BATCH)


@kernel("i64(u64,u64,u64,u64)", inline=True)
def any_marked(order, marks, start, end):
    """Return 1 if one of the rows ``order[start]`` to ``order[end - 1]`` has a mark, else 0."""
    while start < end:
        if ldu8(marks + listed_row(order, start)):
            return 1
        start += U(1)
    return 0


@kernel("void(u64,u64,u64)", inline=True)
def add_mark(marks, row, given):
    st8(marks + row, u2i(ldu8(marks + row) | given))


@kernel("i64(u64,u64,u64,i64,i64,i64,u64)")
def reach_rows(ctx, order, marks, start, end, best_only, filters):
    """Pass the marks (a byte for each row) of rows ``order[end - 1]`` down to ``order[start]`` on to their children.

    Without ``best_only`` a child gets every mark of its parent. With it, mark 1 says that the side to move plays only
    best moves, mark 2 that the other side does. Children have a smaller layer, so one pass from the opening on reaches
    everything. Returns the number of marked rows in the range. ``filters`` is the address of the
    filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    t = i2u(end)
    stop = i2u(start)
    marked = 0
    while t > stop:
        first = batch_below(stop, t)
        if any_marked(order, marks, first, t) == 0:
            t = first
            continue
        gather_children(ctx, order, first, t, filters, families)
        while t > first:
            t -= U(1)
            row = listed_row(order, t)
            mark = ldu8(marks + row)
            if mark == U(0):
                continue
            marked += 1
            record = row_at(ctx, row)
            family = families + (t - first) * U(FAMILY)
            links = links_of(family)
            k = U(0)
            while k < link_count(family):
                child = i2u(link_row(links, k))
                given = mark
                if best_only:
                    given = (mark & U(2)) >> U(1)
                    if mark & U(1) and -score_of(row_at(ctx, child)) >= score_of(record):
                        given |= U(2)
                add_mark(marks, child, given)
                k += U(1)
    return marked


@kernel("i64(u64,i64,i64,u64,u64,u64)")
def list_lost(ctx, start, end, keep, out, filters):
    """Note each kept row of ``start`` to ``end`` - 1 (its byte at ``keep`` is KEPT) that has a link to a removed row.

    A note has `NOTE` bytes at ``out``: the row; move, score for the mover and level of the best link that it loses; the
    number of links that it keeps. Links without a score, or to a row GONE_BY_HAND, are passed over; if no other is
    lost, the move is KEEPS_LEAF and the score NO_SCORE. The move is KEEPS_LEAF too if the row's leaf is at least as
    good. The level is the lower of row and child. Returns the number of notes. ``filters`` is the address of the
    filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    row = first
    number = U(0)
    while row < i2u(end):
        family = family_of(ctx, U(0), first, row, i2u(end), filters, families)
        record = row_at(ctx, row)
        links = links_of(family)
        staying = 0
        best = NO_SCORE
        best_move = U(KEEPS_LEAF)
        level = 0
        k = U(0)
        while k < link_count(family):
            move = link_move(links, k)
            child_row = i2u(link_row(links, k))
            k += U(1)
            state = ldu8(keep + child_row)
            if state == U(KEPT):
                staying += 1
            if state == U(KEPT) or state == U(GONE_BY_HAND):
                continue
            child = row_at(ctx, child_row)
            score = -score_of(child)
            if score > best and score >= -MAX_SCORE and score <= MAX_SCORE:
                best = score
                best_move = move
                level = level_of(child)
                if (flags_of(child) ^ flags_of(record)) & U(EGAROUCID_LEVELS):
                    level = NO_LEVEL
        if i2u(staying) < link_count(family) and ldu8(keep + row) == U(KEPT):
            if has_leaf(record) and leaf_score_of(record) >= best:
                best_move = U(KEEPS_LEAF)
            own = level_of(record)
            note = out + number * U(NOTE)
            st64(note, row)
            st64(note + U(NOTE_MOVE), best_move)
            sts64(note + U(NOTE_SCORE), best)
            sts64(note + U(NOTE_LEVEL), own if own < level else level)
            sts64(note + U(NOTE_LINKS), staying)
            number += U(1)
        row += U(1)
    return u2i(number)
