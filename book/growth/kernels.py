"""Walks that choose the leaves to grow."""

from desdaemon.book.kernels.graph import (
    BATCH,
    FAMILIES,
    FAMILY,
    gather_children,
    is_finished,
    link_count,
    link_move,
    link_row,
    links_of,
)
from desdaemon.book.kernels.records import (
    empties_of,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    lower_bound_of,
    margin_at,
    margin_lower,
    margin_upper,
    score_of,
    upper_bound_of,
)
from desdaemon.book.kernels.table import list_row, listed_row, row_at
from desdaemon.book.kernels.walks import BOTH, add_mark, any_marked, batch_below
from desdaemon.book.layout import (
    DEVIATE,
    ENHANCE,
    EXPAND,
    MAX_SCORE,
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
from desdaemon.engine.kernels.bits import U, bit, i2u, ld64, lds64, ldu8, st8, st64, stack_buf, u2i

WALKED_SHIFT = 2
"""Bits by which `select_below` shifts the marks that it has followed."""
ROWS_BYTES = 4 * BATCH


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
