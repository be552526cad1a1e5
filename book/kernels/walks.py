"""Walks from positions along links: mark reached rows, choose leaves to grow, find links that a removal loses."""

from desdaemon.book.layout import (
    DEVIATE,
    EGAROUCID_LEVELS,
    ENHANCE,
    EXPAND,
    GONE_BY_HAND,
    KEEPS_LEAF,
    KEPT,
    MAX_SCORE,
    NO_LEVEL,
    NO_SCORE,
    PASS,
    PLAY,
    SELECT_HIGH,
    SELECT_LEAST,
    SELECT_LOW,
    SELECT_MARGINS,
    SELECT_MODE,
    SELECT_TOLERANCE,
    WALK_STACK_WORDS,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    i2u,
    ld64,
    lds64,
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
    is_finished,
    link_count,
    link_move,
    link_row,
    links_of,
)
from .records import (
    empties_of,
    flags_of,
    has_leaf,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    level_of,
    lower_bound_of,
    margin_at,
    margin_lower,
    margin_upper,
    score_of,
    upper_bound_of,
)
from .table import list_row, listed_row, row_at

BOTH = 3
"""Both marks of `reach_rows` and `select_rows`: 1 and 2, one for each side."""
WALKED_SHIFT = 2
"""Bits by which `select_below` shifts the marks that it has followed."""
ROWS_BYTES = 4 * BATCH
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


@kernel("i64(u64,u64,u64,u64,u64,u64,u64)")
def select_row(ctx, row, sides, family, rules, marks, stack):
    """Follow the links of a row that the rules allow, for each mark in the mask ``sides``, the marks with which the row
    was reached. Returns 1 if the rules let its leaf grow for one of them, else 0.

    ``rules`` is the address of the words from `layout.SELECT_MODE` on, ``family`` that of the row's family, ``marks``
    that of a byte for each row. A child that is followed gets the other mark, because the sides change. If the mark is
    new to it, its row goes on the ``stack`` (a word with the number of rows, then the rows), unless ``stack`` is 0. A
    row with fewer than SELECT_LEAST empty squares, or whose game is over, is neither followed nor grown.
    """
    record = row_at(ctx, row)
    mode = lds64(rules + U(SELECT_MODE))
    value = score_of(record)
    leaf = leaf_score_of(record)
    leaf_move = leaf_move_of(record)
    empties = empties_of(record)
    links = links_of(family)
    total = link_count(family)
    if empties < lds64(rules + U(SELECT_LEAST)) or is_finished(family):
        return 0
    growing = False
    side = U(0)
    while side < U(2):
        tolerance = lds64(rules + U(SELECT_TOLERANCE) + (side << U(3)))
        low = lds64(rules + U(SELECT_LOW) + (side << U(3)))
        high = lds64(rules + U(SELECT_HIGH) + (side << U(3)))
        other = i2u(2 - u2i(side))
        if sides & bit(side) == U(0) or (mode == DEVIATE and (value < low or value > high)):
            side += U(1)
            continue
        k = U(0)
        while k < total:
            if link_move(links, k) == leaf_move:
                leaf = NO_SCORE
            child_row = i2u(link_row(links, k))
            k += U(1)
            child = row_at(ctx, child_row)
            score = -score_of(child)
            follow = True
            if mode == DEVIATE:
                follow = value - score <= tolerance and low <= score and score <= high
            elif mode == ENHANCE:
                follow = -upper_bound_of(child) >= lower_bound_of(record)
                follow = follow or -lower_bound_of(child) >= upper_bound_of(record)
            if not follow:
                continue
            marked = ldu8(marks + child_row)
            if marked & other == U(0):
                st8(marks + child_row, u2i(marked | other))
                if stack:
                    st64(stack, ld64(stack) + U(1))
                    st64(stack + (ld64(stack) << U(3)), child_row)
        if leaf >= -MAX_SCORE and leaf_move <= U(PASS):
            if mode == DEVIATE:
                growing = growing or (value - leaf <= tolerance and low <= leaf and leaf <= high)
            elif mode == ENHANCE:
                margin = margin_at(ld64(rules + U(SELECT_MARGINS)), leaf_level_of(record), empties)
                growing = (
                    growing
                    or leaf + margin_lower(margin) >= lower_bound_of(record)
                    or leaf + margin_upper(margin) >= upper_bound_of(record)
                )
            elif mode == PLAY:
                growing = total == U(0)
            else:
                growing = leaf >= value
        side += U(1)
    return 1 if growing else 0


@kernel("i64(u64,u64,u64,i64,i64,u64,u64)")
def select_rows(ctx, order, marks, start, end, rules, filters):
    """Walk rows ``order[end - 1]`` down to ``order[start]``, follow links from the marked rows, and mark the rows to
    grow with EXPAND.

    Mark 1 stands for a row reached with the side to move whose tolerance and window come first in ``rules``, mark 2 for
    the other side. DEVIATE follows and grows moves within the tolerance of the position's score, if both scores are
    inside the window (SELECT_LOW to SELECT_HIGH); ENHANCE moves that may be best given the bounds; PLAY follows all
    links and grows positions without links; EXTEND follows all links and grows leaves as good as the score. Returns the
    number of rows to grow. ``filters`` is the address of the filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    chosen = 0
    t = i2u(end)
    stop = i2u(start)
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
            family = families + (t - first) * U(FAMILY)
            if mark & U(BOTH) and select_row(ctx, row, mark & U(BOTH), family, rules, marks, U(0)):
                add_mark(marks, row, U(EXPAND))
                chosen += 1
    return chosen


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def select_below(ctx, marks, stack, most, rules, filters):
    """Do as `select_rows`, depth first and without an order: for a walk that reaches a small part of the book.

    The ``stack`` holds the number of rows to begin from, then these rows, which are marked. Returns 1 if nothing is
    left, 0 after ``most`` rows, -1 if the stack is full: then `select_rows` can continue from the marks.
    """
    families = stack_buf(FAMILIES)
    rows = stack_buf(ROWS_BYTES)
    while most > 0 and ld64(stack):
        taken = U(0)
        while taken < U(BATCH) and ld64(stack):
            row = ld64(stack + (ld64(stack) << U(3)))
            st64(stack, ld64(stack) - U(1))
            list_row(rows, taken, row)
            taken += U(1)
        gather_children(ctx, rows, U(0), taken, filters, families)
        if ld64(stack) + U(64 * BATCH) >= U(WALK_STACK_WORDS):
            return -1
        k = U(0)
        while k < taken:
            row = listed_row(rows, k)
            mark = ldu8(marks + row)
            sides = mark & U(BOTH) & ~(mark >> U(WALKED_SHIFT))
            add_mark(marks, row, sides << U(WALKED_SHIFT))
            if sides and select_row(ctx, row, sides, families + k * U(FAMILY), rules, marks, stack):
                add_mark(marks, row, U(EXPAND))
            k += U(1)
            most -= 1
    return 1 if ld64(stack) == U(0) else 0


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
