"""Walking the book: children, links, the order from the end of the game backwards, and negamax."""

from desdaemon.engine.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    atomic_add64,
    bit,
    blsr,
    ctz,
    flip,
    i2u,
    ld64,
    ldi8,
    ldi16,
    lds64,
    ldu8,
    ldu32,
    moves,
    popc,
    prefetch,
    st8,
    st32,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .table import (
    COUNT,
    WIDE,
    WIDE_COUNT,
    WIDE_ROOM,
    canonical,
    find_row,
    hash_of,
    insert_row,
    place_of,
    row_at,
    segment_of,
)

NO_SCORE = -127
PASS = U(64)
HUMAN = U(1)
WIDE_FLAG = U(2)
NARROW = U(0xFFFFFFFF)
CHECK_ONLY = 8


@kernel("void(u64,u64,u64)", inline=True)
def prefetch_key(ctx, p, o):
    """Ask for the tags that a look-up of (p, o) will read."""
    h = hash_of(p, o)
    segment = segment_of(ctx, h)
    prefetch(ld64(segment) + place_of(h, ld64(segment + U(16))))


@kernel("i64(u64,u64,i64,u64)")
def find_rows(ctx, keys, count, out):
    """The rows (or -1) of ``count`` canonical positions, stored as 64-bit numbers; how many were there."""
    total = i2u(count)
    hits = 0
    k = U(0)
    while k < total and k < U(16):
        at = keys + (k << U(4))
        prefetch_key(ctx, ld64(at), ld64(at + U(8)))
        k += U(1)
    k = U(0)
    while k < total:
        if k + U(16) < total:
            at = keys + ((k + U(16)) << U(4))
            prefetch_key(ctx, ld64(at), ld64(at + U(8)))
        at = keys + (k << U(4))
        row = find_row(ctx, ld64(at), ld64(at + U(8)))
        sts64(out + (k << U(3)), row)
        if row >= 0:
            hits += 1
        k += U(1)
    return hits


@kernel("i64(u64,u64,u64,u64)")
def list_children(ctx, p, o, out):
    """Canonical children of (p, o), 16 bytes each at ``out``, in ascending order of move; -1: a forced pass
    (one child), 0: the game is over."""
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p) == U(0):
            return 0
        canonical(o, p, out)
        prefetch_key(ctx, ld64(out), ld64(out + U(8)))
        return -1
    count = U(0)
    while legal != U(0):
        x = ctz(legal)
        legal = blsr(legal)
        f = flip(x, p, o)
        at = out + (count << U(4))
        canonical(o ^ f, p | f | bit(x), at)
        prefetch_key(ctx, ld64(at), ld64(at + U(8)))
        count += U(1)
    return u2i(count)


@kernel("i64(u64,u64,u64,u64)")
def list_links(ctx, p, o, out):
    """Every legal move (or the pass) of (p, o) with the row of its child (-1: not in the book), 16 bytes each."""
    children = stack_buf(1024)
    count = list_children(ctx, p, o, children)
    if count == -1:
        st64(out, PASS)
        sts64(out + U(8), find_row(ctx, ld64(children), ld64(children + U(8))))
        return 1
    legal = moves(p, o)
    k = U(0)
    while legal != U(0):
        at = children + (k << U(4))
        st64(out + (k << U(4)), ctz(legal))
        sts64(out + (k << U(4)) + U(8), find_row(ctx, ld64(at), ld64(at + U(8))))
        legal = blsr(legal)
        k += U(1)
    return count


@kernel("i64(u64,u64)", inline=True)
def layer_of(p, o):
    """Twice the empty squares, + 1 when the side to move has to pass: children have a smaller layer."""
    twice = (64 - popc(p | o)) * 2
    if moves(p, o) == U(0) and moves(o, p) != U(0):
        return twice + 1
    return twice


@kernel("void(u64,u64,u64)")
def order_rows(ctx, out, layers):
    """All rows by ascending layer as 32-bit numbers at ``out``; where each of the 131 layers begins at ``layers``."""
    count = ld64(ctx + COUNT)
    k = U(0)
    while k < U(131):
        st64(layers + (k << U(3)), U(0))
        k += U(1)
    row = U(0)
    while row < count:
        at = row_at(ctx, row)
        slot = layers + (i2u(layer_of(ld64(at), ld64(at + U(8)))) << U(3))
        st64(slot + U(8), ld64(slot + U(8)) + U(1))
        row += U(1)
    k = U(1)
    while k < U(131):
        slot = layers + (k << U(3))
        st64(slot, ld64(slot) + ld64(slot - U(8)))
        k += U(1)
    row = U(0)
    while row < count:
        at = row_at(ctx, row)
        slot = layers + (i2u(layer_of(ld64(at), ld64(at + U(8)))) << U(3))
        st32(out + (ld64(slot) << U(2)), u2i(row))
        st64(slot, ld64(slot) + U(1))
        row += U(1)
    # Each begin has moved to the next layer's begin: shift them back.
    k = U(130)
    while k > U(0):
        st64(layers + (k << U(3)), ld64(layers + ((k - U(1)) << U(3))))
        k -= U(1)
    st64(layers, U(0))


@kernel("u64(u64,u64)", inline=True)
def add_saturated(a, b):
    """a + b, or 2^64 - 1."""
    total = a + b
    if total < a:
        return U(0xFFFFFFFFFFFFFFFF)
    return total


@kernel("u64(u64,u64,u64)", inline=True)
def count_of(ctx, at, which):
    """Count 0..3 (wins, draws, losses, lines) of the record at ``at``."""
    if ldu8(at + U(39)) & WIDE_FLAG:
        return ld64(ld64(ctx + WIDE) + (ldu32(at + U(16)) << U(5)) + (which << U(3)))
    return ldu32(at + U(16) + (which << U(2)))


@kernel("i64(u64,u64,u64)")
def store_counts(ctx, at, counts):
    """Write four counts into a record, through the wide table where they need it; 0 when that table is full."""
    flags = ldu8(at + U(39))
    k = U(0)
    wide = False
    while k < U(4):
        if ld64(counts + (k << U(3))) > NARROW:
            wide = True
        k += U(1)
    if wide:
        place = ldu32(at + U(16))
        if flags & WIDE_FLAG == U(0):
            place = atomic_add64(ctx + WIDE_COUNT, U(1))
            if place >= ld64(ctx + WIDE_ROOM):
                return 0
        slot = ld64(ctx + WIDE) + (place << U(5))
        k = U(0)
        while k < U(4):
            st64(slot + (k << U(3)), ld64(counts + (k << U(3))))
            k += U(1)
        st32(at + U(16), u2i(place))
        st8(at + U(39), u2i(flags | WIDE_FLAG))
        return 1
    k = U(0)
    while k < U(4):
        st32(at + U(16) + (k << U(2)), u2i(ld64(counts + (k << U(3)))))
        k += U(1)
    if flags & WIDE_FLAG:
        st8(at + U(39), u2i(flags ^ WIDE_FLAG))
    return 1


@kernel("i64(i64,i64)", inline=True)
def larger(a, b):
    """The larger of two."""
    return a if a > b else b


@kernel("i64(u64,i64)", inline=True)
def rows_with(layers, empties):
    """How many rows have so many empty squares (0..60)."""
    at = layers + (i2u(empties) << U(4))
    return u2i(ld64(at + U(16)) - ld64(at))


@kernel("i64(i64)", inline=True)
def clamp(score):
    """Bounds fit a byte; a margin that leaves -127..127 says nothing about scores of at most 64."""
    if score < -127:
        return -127
    if score > 127:
        return 127
    return score


@kernel("void(u64)", inline=True)
def clear_leaf(at):
    """Leave the record at ``at`` without a leaf."""
    st8(at + U(36), 65)
    st8(at + U(37), NO_SCORE)
    st8(at + U(38), -1)


@kernel("i64(u64,u64,i64,i64,u64,i64,u64)")
def negamax_rows(ctx, order, start, end, margins, rule, stats):
    """Recompute rows ``order[start..end]`` from their leaves and children, which are final; answers where it stopped.

    It stops early only when the wide table is full. ``margins`` holds, for (level + 1) * 61 + empties, three 16-bit
    numbers: what to add to a leaf's score for its lower and its upper bound, and whether it is exact. ``rule`` 0 is
    Edax's (the leaf counts), 1 Egaroucid's (only links count; a position without links keeps its score, and
    lines count positions); with CHECK_ONLY nothing is stored. ``stats``: + 0 rows whose score or bounds changed (or,
    checking, are not right), + 8 the address of a byte for each place in ``order``, to be set where anything changed,
    or 0, + 16 the layers of `order_rows`: a layer without rows is not probed. A leaf whose move has become a link is
    dropped. A child without a score is passed over, and a position with neither links nor leaf (its search is still
    to come) keeps its score.
    """
    children = stack_buf(1024)
    counts = stack_buf(32)
    layers = stats + U(16)
    t = i2u(start)
    stop = i2u(end)
    changed = U(0)
    while t < stop:
        if t + U(4) < stop:
            prefetch(row_at(ctx, ldu32(order + ((t + U(4)) << U(2)))))
        at = row_at(ctx, ldu32(order + (t << U(2))))
        p = ld64(at)
        o = ld64(at + U(8))
        empties = 64 - popc(p | o)
        flags = ldu8(at + U(39))
        score = NO_SCORE
        lower = NO_SCORE
        upper = NO_SCORE
        wins = U(0)
        draws = U(0)
        losses = U(0)
        lines = U(0)
        linked = 0
        leaf_linked = False
        leaf_move = ldu8(at + U(36))
        legal = moves(p, o)
        if legal == U(0) or rows_with(layers, empties - 1):
            count = list_children(ctx, p, o, children)
            if count < 0:
                count = 1
                legal = U(0)
            k = U(0)
            while k < i2u(count):
                move = PASS
                if legal:
                    move = ctz(legal)
                    legal = blsr(legal)
                row = find_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
                k += U(1)
                if row < 0:
                    continue
                if move == leaf_move:
                    leaf_linked = True
                child = row_at(ctx, i2u(row))
                if ldi8(child + U(32)) == NO_SCORE:
                    continue
                linked += 1
                score = larger(score, -ldi8(child + U(32)))
                lower = larger(lower, -ldi8(child + U(34)))
                upper = larger(upper, -ldi8(child + U(33)))
                wins = add_saturated(wins, count_of(ctx, child, U(2)))
                draws = add_saturated(draws, count_of(ctx, child, U(1)))
                losses = add_saturated(losses, count_of(ctx, child, U(0)))
                lines = add_saturated(lines, count_of(ctx, child, U(3)))
        own = ldi8(at + U(37))
        if leaf_move > U(65) or own < -64 or leaf_linked:
            own = NO_SCORE
        if rule & 1:
            # A forced pass is no position of its own there.
            if moves(p, o) or moves(o, p) == U(0):
                lines = add_saturated(lines, U(1))
        elif own > NO_SCORE:
            margin = margins + i2u((ldi8(at + U(38)) + 1) * 61 + empties) * U(6)
            score = larger(score, own)
            lower = larger(lower, own + ldi16(margin))
            upper = larger(upper, own + ldi16(margin + U(2)))
            lines = add_saturated(lines, U(1))
            if ldi16(margin + U(4)):
                if own > 0:
                    wins = add_saturated(wins, U(1))
                elif own < 0:
                    losses = add_saturated(losses, U(1))
                else:
                    draws = add_saturated(draws, U(1))
        if linked == 0 and (rule & 1 or own == NO_SCORE):
            score = ldi8(at + U(32))
            margin = margins + i2u((ldi8(at + U(35)) + 1) * 61 + empties) * U(6)
            lower = score
            upper = score
            if score > NO_SCORE:
                lower += ldi16(margin)
                upper += ldi16(margin + U(2))
            else:
                upper = -NO_SCORE
        if flags & HUMAN:
            score = ldi8(at + U(32))
            lower = score
            upper = score
        st64(counts, wins)
        st64(counts + U(8), draws)
        st64(counts + U(16), losses)
        st64(counts + U(24), lines)
        lower = clamp(lower)
        upper = clamp(upper)
        if rule & CHECK_ONLY:
            k = U(0)
            same = ldi8(at + U(32)) == score and ldi8(at + U(33)) == lower and ldi8(at + U(34)) == upper
            while k < U(4):
                same = same and count_of(ctx, at, k) == ld64(counts + (k << U(3)))
                k += U(1)
            if not same:
                changed += U(1)
            t += U(1)
            continue
        flag = U(0)
        if ld64(stats + U(8)) != U(0):
            flag = ld64(stats + U(8)) + t
            k = U(0)
            while k < U(4):
                if count_of(ctx, at, k) != ld64(counts + (k << U(3))):
                    st8(flag, 1)
                k += U(1)
        if store_counts(ctx, at, counts) == 0:
            break
        if leaf_linked:
            clear_leaf(at)
        if ldi8(at + U(32)) != score or ldi8(at + U(33)) != lower or ldi8(at + U(34)) != upper:
            changed += U(1)
            if flag != U(0):
                st8(flag, 1)
            st8(at + U(32), score)
            st8(at + U(33), lower)
            st8(at + U(34), upper)
        t += U(1)
    atomic_add64(stats, changed)
    return u2i(t)


@kernel("i64(u64,u64,u64,i64,i64,i64)")
def reach_rows(ctx, order, marks, start, end, best_only):
    """Hand the marks (a byte a row) of rows ``order[end - 1]`` down to ``order[start]`` on to their children.

    Otherwise (``best_only`` 0) a child gets every mark of its parent. With ``best_only``, mark 1 says that the side
    to move plays only best moves and mark 2 that the other side does. Answers how many rows of the range are
    marked. Children have a smaller layer, so one pass from the opening on reaches everything.
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


DEVIATE = 0
ENHANCE = 1
PLAY = 2
EXTEND = 3
EXPAND = U(64)


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
        total = i2u(list_links(ctx, p, o, links))
        if empties < least or total == U(0):
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
                    margin = margins + i2u((ldi8(at + U(38)) + 1) * 61 + empties) * U(6)
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


OPEN = 1
LINKED = 2
ILLEGAL = 3
SURPLUS = 4


@kernel("i64(u64,u64)")
def leaf_fault(ctx, at):
    """What is wrong with the leaf of the record at ``at``: 0, OPEN (none, though a move is not linked), LINKED (its
    move is a link), ILLEGAL (no legal move), SURPLUS (none or a final score is due)."""
    links = stack_buf(1024)
    p = ld64(at)
    o = ld64(at + U(8))
    leaf_move = ldu8(at + U(36))
    score = ldi8(at + U(37))
    total = i2u(list_links(ctx, p, o, links))
    if total == U(0):
        if leaf_move < U(65):
            return ILLEGAL
        return OPEN if score < -64 else 0
    legal = False
    free = False
    k = U(0)
    while k < total:
        row = u2i(ld64(links + (k << U(4)) + U(8)))
        if ld64(links + (k << U(4))) == leaf_move:
            legal = True
            if row >= 0:
                return LINKED
        if row < 0:
            free = True
        k += U(1)
    if leaf_move > U(64):
        if score >= -64:
            return SURPLUS
        return OPEN if free else 0
    if not legal:
        return ILLEGAL
    return OPEN if score < -64 else 0


@kernel("i64(u64,i64,i64,u64,i64,u64)")
def list_faults(ctx, start, end, out, room, stats):
    """Note (row, fault) of rows ``start..end`` with a `leaf_fault`, 16 bytes each at ``out``, until ``room`` are
    noted; answers where it stopped, ``stats`` + 0 how many were noted."""
    row = i2u(start)
    noted = U(0)
    while row < i2u(end) and noted < i2u(room):
        fault = leaf_fault(ctx, row_at(ctx, row))
        if fault:
            st64(out + (noted << U(4)), row)
            sts64(out + (noted << U(4)) + U(8), fault)
            noted += U(1)
        row += U(1)
    st64(stats, noted)
    return u2i(row)


@kernel("void(u64,u64,i64,i64,u64)")
def count_positions(ctx, order, start, end, out):
    """Egaroucid's line counts of rows ``order[start..end]`` at ``out`` (64 bits a row): 1 + the sum over the links, a
    forced pass standing for the position after it. The children's are already there."""
    children = stack_buf(1024)
    t = i2u(start)
    while t < i2u(end):
        row = u2i(ldu32(order + (t << U(2))))
        at = row_at(ctx, i2u(row))
        count = list_children(ctx, ld64(at), ld64(at + U(8)), children)
        total = U(1)
        passing = count < 0
        if passing:
            count = 1
        k = U(0)
        while k < i2u(count):
            found = find_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
            if found >= 0:
                if passing:
                    total = U(0)
                total = add_saturated(total, ld64(out + (i2u(found) << U(3))))
            k += U(1)
        st64(out + (i2u(row) << U(3)), total)
        t += U(1)


@kernel("void(u64,i64,i64,u64)")
def list_kinds(ctx, start, end, out):
    """A byte for each of the rows ``start..end``: 1 the side to move has to pass, 2 the game is over, 4 the other side
    would have to pass, 0 both have moves."""
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        own = moves(ld64(at), ld64(at + U(8)))
        other = moves(ld64(at + U(8)), ld64(at))
        kind = 0
        if own == U(0):
            kind = 2 if other == U(0) else 1
        elif other == U(0):
            kind = 4
        st8(out + row - i2u(start), kind)
        row += U(1)


@kernel("i64(u64,i64,i64,u64,u64)")
def list_losers(ctx, start, end, keep, out):
    """Set the byte at ``out`` of each row of ``start..end`` that is kept (its byte at ``keep`` is not 0) and has a
    child that is not; how many there are."""
    children = stack_buf(1024)
    row = i2u(start)
    losers = 0
    while row < i2u(end):
        if ldu8(keep + row):
            at = row_at(ctx, row)
            count = list_children(ctx, ld64(at), ld64(at + U(8)), children)
            if count < 0:
                count = 1
            k = U(0)
            while k < i2u(count):
                found = find_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
                k += U(1)
                if found >= 0 and ldu8(keep + i2u(found)) == U(0):
                    st8(out + row, 1)
                    losers += 1
                    k = i2u(count)
        row += U(1)
    return losers


@kernel("void(u64,u64)")
def count_empties(ctx, out):
    """How many rows have 0..64 empty squares, 64 bits each at ``out`` (all 0 before)."""
    row = U(0)
    while row < ld64(ctx + COUNT):
        at = row_at(ctx, row)
        slot = out + (i2u(64 - popc(ld64(at) | ld64(at + U(8)))) << U(3))
        st64(slot, ld64(slot) + U(1))
        row += U(1)


@kernel("i64(u64,i64,i64,u64)")
def insert_children(ctx, start, end, out):
    """Add every child of rows ``start..end``; answers where it stopped, and why at ``out`` (see `insert_row`)."""
    children = stack_buf(1024)
    row = i2u(start)
    st64(out, U(0))
    while row < i2u(end):
        at = row_at(ctx, row)
        count = list_children(ctx, ld64(at), ld64(at + U(8)), children)
        if count < 0:
            count = 1
        k = U(0)
        while k < i2u(count):
            answer = insert_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
            if answer < 0:
                sts64(out, answer)
                return u2i(row)
            k += U(1)
        row += U(1)
    return end


@kernel("void(u64,i64,i64,u64)")
def tally_rows(ctx, start, end, out):
    """Count rows ``start..end`` by their 0..64 empty squares: at ``out`` four times 65 words, the positions, their
    links, those with a leaf, and finished games."""
    links = stack_buf(1024)
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        slot = out + (i2u(64 - popc(ld64(at) | ld64(at + U(8)))) << U(3))
        total = i2u(list_links(ctx, ld64(at), ld64(at + U(8)), links))
        linked = U(0)
        k = U(0)
        while k < total:
            if u2i(ld64(links + (k << U(4)) + U(8))) >= 0:
                linked += U(1)
            k += U(1)
        st64(slot, ld64(slot) + U(1))
        st64(slot + U(520), ld64(slot + U(520)) + linked)
        if ldu8(at + U(36)) <= U(64) and ldi8(at + U(37)) >= -64:
            st64(slot + U(1040), ld64(slot + U(1040)) + U(1))
        if total == U(0):
            st64(slot + U(1560), ld64(slot + U(1560)) + U(1))
        row += U(1)


@kernel("i64(u64,u64,u64,i64,u64,i64,u64)")
def replay_game(p, o, played, count, out, least, stats):
    """The canonical positions of a game from (p, o) on, 16 bytes each at ``out``, the first one included.

    ``played`` holds ``count`` squares, a byte each (64: a pass); forced passes that are left out are put in. It ends
    before positions of fewer than ``least`` empty squares. ``stats``: + 0 the number of positions. Answers the number
    (from 0) of an illegal move, before which it ends, or -1.
    """
    at = out
    canonical(p, o, at)
    k = U(0)
    illegal = -1
    while k < i2u(count):
        move = ldu8(played + k)
        legal = moves(p, o)
        if legal == U(0) and moves(o, p):
            p, o = o, p
            legal = moves(p, o)
            at += U(16)
            canonical(p, o, at)
            if move == PASS:
                k += U(1)
                continue
        if move > U(63) or (legal >> (move & U(63))) & U(1) == U(0):
            illegal = u2i(k)
            break
        if 64 - popc(p | o) <= least:
            break
        f = flip(move, p, o)
        p, o = o ^ f, p | f | bit(move)
        at += U(16)
        canonical(p, o, at)
        k += U(1)
    st64(stats, ((at - out) >> U(4)) + U(1))
    return illegal
