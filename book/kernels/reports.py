"""What reports ask: how well scores are founded, moves of games compared with the book, scores with their boards."""

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
    ldu8,
    moves,
    popc,
    st8,
    st64,
    stack_buf,
    u2i,
)

from .graph import list_children, list_links, prefetch_key
from .imports import mirrored
from .table import canonical, find_row, row_at

HUMAN = U(1)
SOLVED = 1
NONE = -128
PASS = U(64)
GONE = U(0xFFFFFFFFFFFFFFFF)


@kernel("i64(i64,i64)", inline=True)
def place_in(level, empties):
    """Where a table of readings holds ``level`` (from -1; a lower one counts as that) with 0..64 empty squares."""
    if level < -1:
        level = -1
    return (level + 1) * 65 + empties


@kernel("i64(u64,u64)", inline=True)
def link_score(ctx, row):
    """The score of a link to ``row`` for the side that follows it, NONE where the child has none (or ``row`` is -1)."""
    if u2i(row) < 0:
        return NONE
    score = -ldi8(row_at(ctx, row) + U(32))
    if score < -64 or score > 64:
        return NONE
    return score


@kernel("i64(u64,u64,i64,u64,i64,u64,i64)")
def grade_rows(ctx, marks, count, stack, loss, readings, most):
    """Mark the rows on the stack, and all that they depend on, with what is at the ends of their lines.

    ``marks`` is a byte for each of ``count`` rows, 0 where it is not known yet; ``stack`` the number of rows on it,
    then the rows (there is room for 8,191). Lines are followed that lose at most ``loss`` discs at each step.
    ``readings`` holds a byte for every level and number of empties (`place_in`), of positions first, of leaves
    129 * 65 bytes later.
    Answers 1 when the stack is empty, 0 when ``most`` positions were looked at, -1 when a row has no mark.
    """
    links = stack_buf(1024)
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
        at = row_at(ctx, row)
        p = ld64(at)
        o = ld64(at + U(8))
        empties = 64 - popc(p | o)
        human = ldu8(at + U(39)) & HUMAN
        leaf_move = ldu8(at + U(36))
        leaf = ldi8(at + U(37))
        leaf_level = ldi8(at + U(38))
        total = i2u(list_links(ctx, p, o, links))
        if leaf_move > U(64) or leaf < -64:
            leaf = NONE
        best = NONE
        k = U(0)
        while k < total:
            child = ld64(links + (k << U(4)) + U(8))
            if u2i(child) >= 0 and ld64(links + (k << U(4))) == leaf_move:
                leaf = NONE
            score = link_score(ctx, child)
            if score > best:
                best = score
            k += U(1)
        found = 0
        if total == U(0):
            found = SOLVED
        elif best == NONE or human:
            level = ldi8(at + U(35))
            if leaf != NONE and human == U(0) and leaf_level >= 0:
                level = leaf_level
            found = u2i(ldu8(readings + i2u(place_in(level, empties))))
        else:
            if leaf > best:
                best = leaf
            pushed = depth
            k = U(0)
            while k < total:
                child = ld64(links + (k << U(4)) + U(8))
                score = link_score(ctx, child)
                if score != NONE and score >= best - loss:
                    if child >= i2u(count):
                        return -1
                    mark = ldu8(marks + child)
                    found |= u2i(mark)
                    if mark == U(0):
                        depth += U(1)
                        st64(stack + (depth << U(3)), child)
                k += U(1)
            if depth > pushed:
                continue
            if leaf != NONE and leaf >= best - loss:
                found |= u2i(ldu8(readings + i2u(129 * 65 + place_in(leaf_level, empties))))
        st8(marks + row, found)
        depth -= U(1)
    st64(stack, depth)
    return 1


@kernel("void(u64,u64,i64,u64)")
def judge_moves(ctx, pairs, count, out):
    """Compare ``count`` moves, each a canonical position and the one it leads to (32 bytes), with the book.

    ``out`` counts: + 0 positions that it does not know, + 8 moves that it finds as good as the position's score, + 16
    all others.
    """
    children = stack_buf(1024)
    k = U(0)
    while k < i2u(count):
        pair = pairs + (k << U(5))
        if k + U(8) < i2u(count):
            prefetch_key(ctx, ld64(pair + U(256)), ld64(pair + U(264)))
        k += U(1)
        row = find_row(ctx, ld64(pair), ld64(pair + U(8)))
        if row < 0:
            st64(out, ld64(out) + U(1))
            continue
        at = row_at(ctx, i2u(row))
        total = list_children(ctx, ld64(at), ld64(at + U(8)), children)
        legal = moves(ld64(at), ld64(at + U(8)))
        good = False
        # A forced pass is one child.
        count_here = i2u(total) if total >= 0 else U(1)
        j = U(0)
        while j < count_here:
            child = children + (j << U(4))
            j += U(1)
            move = PASS
            if total > 0:
                move = ctz(legal)
                legal = blsr(legal)
            if ld64(child) != ld64(pair + U(16)) or ld64(child + U(8)) != ld64(pair + U(24)):
                continue
            found = find_row(ctx, ld64(child), ld64(child + U(8)))
            score = link_score(ctx, i2u(found))
            if found < 0 and move == ldu8(at + U(36)) and ldi8(at + U(37)) >= -64:
                score = ldi8(at + U(37))
            if score != NONE and score >= ldi8(at + U(32)):
                good = True
        slot = out + U(8) if good else out + U(16)
        st64(slot, ld64(slot) + U(1))


@kernel("i64(u64,u64,i64,u64,u64)")
def list_scores(ctx, boards, count, found, children):
    """What the book says of ``count`` boards in any orientation, 16 bytes each.

    ``found``: 8 bytes each, GONE outside the book: the row, from bit 32 on the best move on that board (64: none), bit
    40 where the side to move has a move at all. ``children`` gets the boards, in that orientation, that the links lead
    to; answers how many.
    """
    key = stack_buf(16)
    linked = children
    k = U(0)
    while k < i2u(count):
        p = ld64(boards + (k << U(4)))
        o = ld64(boards + (k << U(4)) + U(8))
        canonical(p, o, key)
        place = find_row(ctx, ld64(key), ld64(key + U(8)))
        if place < 0:
            st64(found + (k << U(3)), GONE)
            k += U(1)
            continue
        row = i2u(place)
        at = row_at(ctx, row)
        symmetry = canonical_symmetry(p, o)
        legal = moves(p, o)
        passing = legal == U(0)
        best = NONE
        best_move = PASS
        going = not passing or moves(o, p) != U(0)
        while going:
            move = PASS
            other = o
            own = p
            if not passing:
                move = ctz(legal)
                legal = blsr(legal)
                f = flip(move, p, o)
                other = o ^ f
                own = p | f | bit(move)
            going = legal != U(0)
            canonical(other, own, key)
            child = find_row(ctx, ld64(key), ld64(key + U(8)))
            score = link_score(ctx, i2u(child))
            if child >= 0:
                st64(linked, other)
                st64(linked + U(8), own)
                linked += U(16)
            elif mirrored(move, symmetry) == ldu8(at + U(36)) and ldi8(at + U(37)) >= -64:
                score = ldi8(at + U(37))
            if score > best:
                best = score
                best_move = move
        st64(found + (k << U(3)), row | (best_move << U(32)) | ((U(0) if passing else U(1)) << U(40)))
        k += U(1)
    return u2i((linked - children) >> U(4))
