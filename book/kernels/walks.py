"""What is reached from some positions, and what is to be grown or loses a link."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    i2u,
    ld64,
    ldi8,
    ldi16,
    lds64,
    ldu8,
    ldu32,
    popc,
    st8,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import barren, list_children, list_links
from .negamax import margin_at
from .table import find_row, row_at

NO_SCORE = -127
PASS = U(64)
EXPAND = U(64)


@kernel("i64(u64,u64,u64,i64,i64,i64,u64)")
def reach_rows(ctx, order, marks, start, end, best_only, empties):
    """Hand the marks (a byte a row) of rows ``order[end - 1]`` down to ``order[start]`` on to their children.

    Otherwise (``best_only`` 0) a child gets every mark of its parent. With ``best_only``, mark 1 says that the side
    to move plays only best moves and mark 2 that the other side does. Answers how many rows of the range are
    marked. Children have a smaller layer, so one pass from the opening on reaches everything. ``empties``: see
    `barren`.
    """
    children = stack_buf(1024)
    t = i2u(end)
    stop = i2u(start)
    marked = 0
    while t > stop:
        t -= U(1)
        row = u2i(ldu32(order + (t << U(2))))
        mark = ldu8(marks + i2u(row))
        if mark == U(0):
            continue
        marked += 1
        at = row_at(ctx, i2u(row))
        if barren(ld64(at), ld64(at + U(8)), empties):
            continue
        count = list_children(ctx, ld64(at), ld64(at + U(8)), children)
        if count < 0:
            count = 1
        k = U(0)
        while k < i2u(count):
            found = find_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
            k += U(1)
            if found < 0:
                continue
            given = mark
            if best_only:
                given = (mark & U(2)) >> U(1)
                if mark & U(1) and -ldi8(row_at(ctx, i2u(found)) + U(32)) >= ldi8(at + U(32)):
                    given |= U(2)
            st8(marks + i2u(found), u2i(ldu8(marks + i2u(found)) | given))
    return marked


@kernel("i64(u64,u64,u64,i64,i64,u64)")
def select_rows(ctx, order, marks, start, end, rules):
    """Walk rows ``order[end - 1]`` down to ``order[start]`` from the marked ones and mark with EXPAND what to grow.

    Mark 1: reached with the first side to move, mark 2: with the other. ``rules`` (64-bit words): the mode; the
    tolerance, the lowest and the highest score for either side to move (six words); the least empties; the address
    of `negamax_rows`' margins. DEVIATE follows and grows what is within the tolerance of the position's score and
    inside the window; ENHANCE what may be best given the bounds; PLAY follows everything and grows positions
    without links; EXTEND grows leaves that are as good as the score. Answers how many are to grow.
    """
    links = stack_buf(1024)
    mode = lds64(rules)
    least = lds64(rules + U(56))
    margins = ld64(rules + U(64))
    chosen = 0
    t = i2u(end)
    stop = i2u(start)
    while t > stop:
        t -= U(1)
        row = u2i(ldu32(order + (t << U(2))))
        mark = ldu8(marks + i2u(row))
        if mark == U(0):
            continue
        at = row_at(ctx, i2u(row))
        p = ld64(at)
        o = ld64(at + U(8))
        empties = 64 - popc(p | o)
        value = ldi8(at + U(32))
        leaf = ldi8(at + U(37))
        leaf_move = ldu8(at + U(36))
        if empties < least:
            continue
        total = i2u(list_links(ctx, p, o, links))
        if total == U(0):
            continue
        growing = False
        linked = 0
        side = U(0)
        while side < U(2):
            if mark & bit(side) == U(0):
                side += U(1)
                continue
            tolerance = lds64(rules + U(8) + (side << U(3)))
            low = lds64(rules + U(24) + (side << U(3)))
            high = lds64(rules + U(40) + (side << U(3)))
            other = i2u(2 - u2i(side))
            if mode == 0 and (value < low or value > high):
                side += U(1)
                continue
            k = U(0)
            while k < total:
                found = u2i(ld64(links + (k << U(4)) + U(8)))
                if found >= 0:
                    linked += 1
                    if ld64(links + (k << U(4))) == leaf_move:
                        leaf = NO_SCORE
                    child = row_at(ctx, i2u(found))
                    score = -ldi8(child + U(32))
                    follow = True
                    if mode == 0:
                        follow = value - score <= tolerance and low <= score and score <= high
                    elif mode == 1:
                        follow = -ldi8(child + U(34)) >= ldi8(at + U(33)) or -ldi8(child + U(33)) >= ldi8(at + U(34))
                    if follow:
                        st8(marks + i2u(found), u2i(ldu8(marks + i2u(found)) | other))
                k += U(1)
            if leaf >= -64 and leaf_move <= PASS:
                if mode == 0:
                    growing = growing or (value - leaf <= tolerance and low <= leaf and leaf <= high)
                elif mode == 1:
                    margin = margin_at(margins, ldi8(at + U(38)), empties)
                    lower = leaf + ldi16(margin)
                    upper = leaf + ldi16(margin + U(2))
                    growing = growing or lower >= ldi8(at + U(33)) or upper >= ldi8(at + U(34))
                elif mode == 2:
                    growing = linked == 0
                else:
                    growing = leaf >= value
            side += U(1)
        if growing:
            st8(marks + i2u(row), u2i(mark | EXPAND))
            chosen += 1
    return chosen


@kernel("i64(u64,i64,i64,u64,u64,u64)")
def list_lost(ctx, start, end, keep, out, empties):
    """Note each row of ``start..end`` that is kept (its byte at ``keep`` is not 0) and has a link to one that is not,
    32 bytes at ``out``: the row, and move, score and level of the best of the links it loses (a move of 255 where
    that is not better than its leaf). Answers how many. ``empties``: see `barren`."""
    links = stack_buf(1024)
    row = i2u(start)
    noted = U(0)
    while row < i2u(end):
        at = row_at(ctx, row)
        total = U(0)
        if ldu8(keep + row) and barren(ld64(at), ld64(at + U(8)), empties) == 0:
            total = i2u(list_links(ctx, ld64(at), ld64(at + U(8)), links))
        lost = False
        best = NO_SCORE
        move = U(255)
        level = 0
        k = U(0)
        while k < total:
            found = u2i(ld64(links + (k << U(4)) + U(8)))
            if found >= 0 and ldu8(keep + i2u(found)) == U(0):
                lost = True
                child = row_at(ctx, i2u(found))
                score = -ldi8(child + U(32))
                if score > best and score >= -64 and score <= 64:
                    best = score
                    move = ld64(links + (k << U(4)))
                    level = ldi8(child + U(35))
            k += U(1)
        if lost:
            if ldu8(at + U(36)) <= PASS and ldi8(at + U(37)) >= -64 and ldi8(at + U(37)) >= best:
                move = U(255)
            own = ldi8(at + U(35))
            note = out + (noted << U(5))
            st64(note, row)
            st64(note + U(8), move)
            sts64(note + U(16), best)
            sts64(note + U(24), own if own < level else level)
            noted += U(1)
        row += U(1)
    return u2i(noted)
