"""Grades: how good the scores and leaves below a position are."""

from desdaemon.book.layout import (
    EGAROUCID_LEVELS,
    HUMAN,
    LEVELS,
    MAX_SCORE,
    SOLVED,
    SQUARES,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    i2u,
    ld64,
    ldu8,
    st8,
    st64,
    stack_buf,
    u2i,
)

from .graph import MOST_LINKS, link_move, link_row, list_links
from .records import (
    by_level,
    empties_of,
    flags_of,
    has_leaf,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    level_of,
    opponent_of,
    player_of,
    score_of,
)
from .table import row_at

NONE = -128
LEAVES = LEVELS * SQUARES
"""Offset in bytes of the readings of leaves behind those of positions."""


@kernel("i64(u64,i64)", inline=True)
def link_score(ctx, row):
    """Return the score of a link to ``row`` for the side that follows it; NONE without a score or if ``row`` is -1."""
    if row < 0:
        return NONE
    score = -score_of(row_at(ctx, i2u(row)))
    if score < -MAX_SCORE or score > MAX_SCORE:
        return NONE
    return score


@kernel("i64(u64,u64,i64,u64,i64,u64,i64)")
def grade_rows(ctx, marks, count, stack, loss, readings, most):
    """Mark the rows on the stack, and all they depend on, with the kinds of their lines' ends (SOLVED, READ, GUESSED).

    ``marks`` holds a byte for each of ``count`` rows, 0 if unknown; ``stack`` the number of rows on it, then the rows
    (at most 8,191). Lines lose at most ``loss`` discs at each step. ``readings`` has four tables of kinds by
    level and empties (`by_level`), LEAVES bytes each: for positions, for leaves, and for positions and leaves with
    Egaroucid's levels. Returns 1 if the stack is empty, 0 after ``most`` positions, -1 if a row is not below ``count``.
    """
    links = stack_buf(MOST_LINKS)
    depth = ld64(stack)
    while depth > U(0):
        if most <= 0:
            st64(stack, depth)
            return 0
        most -= 1
        row = ld64(stack + (depth << U(3)))
        if row >= i2u(count):
            return -1
        if ldu8(marks + row):
            depth -= U(1)
            continue
        record = row_at(ctx, row)
        empties = empties_of(record)
        human = flags_of(record) & U(HUMAN)
        scale = readings
        if flags_of(record) & U(EGAROUCID_LEVELS):
            scale += U(2 * LEAVES)
        leaf_move = leaf_move_of(record)
        leaf = leaf_score_of(record) if has_leaf(record) else NONE
        leaf_level = leaf_level_of(record)
        total = i2u(list_links(ctx, player_of(record), opponent_of(record), links))
        best = NONE
        k = U(0)
        while k < total:
            child = link_row(links, k)
            if child >= 0 and link_move(links, k) == leaf_move:
                leaf = NONE
            score = link_score(ctx, child)
            if score > best:
                best = score
            k += U(1)
        kind = 0
        if total == U(0):
            kind = SOLVED
        elif best == NONE or human:
            level = level_of(record)
            if leaf != NONE and human == U(0) and leaf_level >= 0:
                level = leaf_level
            kind = u2i(ldu8(scale + i2u(by_level(level, empties))))
        else:
            if leaf > best:
                best = leaf
            pushed = depth
            k = U(0)
            while k < total:
                child = link_row(links, k)
                score = link_score(ctx, child)
                if score != NONE and score >= best - loss:
                    if child >= count:
                        return -1
                    mark = ldu8(marks + i2u(child))
                    kind |= u2i(mark)
                    if mark == U(0):
                        depth += U(1)
                        st64(stack + (depth << U(3)), i2u(child))
                k += U(1)
            if depth > pushed:
                continue
            if leaf != NONE and leaf >= best - loss:
                kind |= u2i(ldu8(scale + i2u(LEAVES + by_level(leaf_level, empties))))
        st8(marks + row, kind)
        depth -= U(1)
    st64(stack, depth)
    return 1
