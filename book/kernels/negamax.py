"""Scores, bounds and counts from the leaves backwards."""

from desdaemon.engine.compiler.jit import kernel
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

from .graph import barren, list_children, prefetch_hash
from .table import (
    GUARD,
    WIDE,
    WIDE_COUNT,
    WIDE_ROOM,
    canonical,
    find_row,
    found_at,
    hash_of,
    prefetch_row,
    probe,
    row_at,
    row_place,
)

NO_SCORE = -127
PASS = U(64)
HUMAN = U(1)
WIDE_FLAG = U(2)
NARROW = U(0xFFFFFFFF)
CHECK_ONLY = 8
BATCH = U(8)
FAMILY = U(2080)
TALLY = U(1064)


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
        place = ldu32(at + U(16))
        # A damaged file that was not checked must not lead outside.
        if place >= ld64(ctx + WIDE_ROOM):
            return U(0)
        return ld64(ld64(ctx + WIDE) + (place << U(5)) + (which << U(3)))
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
        if flags & WIDE_FLAG:
            # What is not written does not cost a page of memory.
            k = U(0)
            same = True
            while k < U(4):
                same = same and count_of(ctx, at, k) == ld64(counts + (k << U(3)))
                k += U(1)
            if same:
                return 1
        place = ldu32(at + U(16))
        if flags & WIDE_FLAG == U(0) or place >= ld64(ctx + WIDE_ROOM):
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
        if ldu32(at + U(16) + (k << U(2))) != ld64(counts + (k << U(3))):
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


@kernel("u64(u64,i64,i64)", inline=True)
def margin_at(margins, level, empties):
    """The address of the margins of ``level`` (from -1; a lower one counts as that) with 0..64 empty squares."""
    if level < -1:
        level = -1
    return margins + i2u((level + 1) * 65 + empties) * U(6)


@kernel("void(u64)", inline=True)
def clear_leaf(at):
    """Leave the record at ``at`` without a leaf."""
    st8(at + U(36), 65)
    st8(at + U(37), NO_SCORE)
    st8(at + U(38), -1)


@kernel("void(u64,u64,u64,u64,u64,u64)")
def gather_children(ctx, order, start, end, layers, out):
    """The children of rows ``order[start..end]``, at most `BATCH`, looked up together: what one look-up waits for is
    asked for in the others' time.

    For each row `FAMILY` bytes at ``out``: how many children, then the moves (0 for a forced pass), then 32 bytes a
    child in the order of the moves: its board, and in the fourth word its row or -1. A layer without rows (see
    `rows_with`) is not looked for.
    """
    guarded = ld64(ctx + GUARD) != U(0)
    family = out
    t = start
    while t < end:
        at = row_at(ctx, ldu32(order + (t << U(2))))
        p = ld64(at)
        o = ld64(at + U(8))
        legal = moves(p, o)
        count = U(0)
        child = family + U(16)
        st64(family + U(8), legal)
        if legal == U(0):
            if moves(o, p):
                canonical(o, p, child)
                h = hash_of(ld64(child), ld64(child + U(8)))
                st64(child + U(16), h)
                prefetch_hash(ctx, h)
                count = U(1)
        elif rows_with(layers, 63 - popc(p | o)):
            while legal != U(0):
                x = ctz(legal)
                legal = blsr(legal)
                f = flip(x, p, o)
                canonical(o ^ f, p | f | bit(x), child)
                h = hash_of(ld64(child), ld64(child + U(8)))
                st64(child + U(16), h)
                prefetch_hash(ctx, h)
                child += U(32)
                count += U(1)
        st64(family, count)
        family += FAMILY
        t += U(1)
    last = family
    family = out
    while family < last and not guarded:
        child = family + U(16)
        stop = child + (ld64(family) << U(5))
        while child < stop:
            slot = probe(ctx, ld64(child + U(16)))
            st64(child + U(24), slot)
            prefetch(slot)
            child += U(32)
        family += FAMILY
    family = out
    while family < last and not guarded:
        child = family + U(16)
        stop = child + (ld64(family) << U(5))
        while child < stop:
            if ld64(child + U(24)) != U(0):
                prefetch_row(ctx, ldu32(ld64(child + U(24))))
            child += U(32)
        family += FAMILY
    family = out
    while family < last:
        child = family + U(16)
        stop = child + (ld64(family) << U(5))
        while child < stop:
            p = ld64(child)
            o = ld64(child + U(8))
            sts64(child + U(24), find_row(ctx, p, o) if guarded else found_at(ctx, ld64(child + U(24)), p, o))
            child += U(32)
        family += FAMILY


@kernel("void(u64,u64,i64,u64,i64)", inline=True)
def tally_record(tally, at, empties, children, finished):
    """Count a record: at ``tally`` four times 65 words, by empty squares, and 256 each by level and score + 128."""
    slot = tally + (i2u(empties) << U(3))
    st64(slot, ld64(slot) + U(1))
    st64(slot + U(520), ld64(slot + U(520)) + children)
    if ldu8(at + U(36)) <= PASS and ldi8(at + U(37)) >= -64:
        st64(slot + U(1040), ld64(slot + U(1040)) + U(1))
    if finished:
        st64(slot + U(1560), ld64(slot + U(1560)) + U(1))
    slot = tally + U(3104) + (i2u(ldi8(at + U(35))) << U(3))
    st64(slot, ld64(slot) + U(1))
    slot = tally + U(5152) + (i2u(ldi8(at + U(32))) << U(3))
    st64(slot, ld64(slot) + U(1))


@kernel("i64(u64,u64,i64,i64,u64,i64,u64)")
def negamax_rows(ctx, order, start, end, margins, rule, stats):
    """Recompute rows ``order[start..end]`` from their leaves and children, which are final; answers where it stopped.

    It stops early only when the wide table is full. ``margins`` holds, for every level and number of empties (see
    `margin_at`), three 16-bit numbers: what to add to a leaf's score for its lower and its upper bound, and whether
    it is exact. ``rule`` 0 is Edax's (the leaf counts), 1 Egaroucid's (only links count; a position without links
    keeps its score, and lines count positions); with CHECK_ONLY nothing is stored. ``stats``: + 0 rows whose score or
    bounds changed (or, checking, are not right), + 8 the address of a byte for each place in ``order``, to be set
    where anything changed, or 0, + 16 where the layers of `place_rows` begin: a layer without rows is not probed,
    + 1064 (`TALLY`) the address of counts to be added to (`tally_record`), or 0. A leaf whose move has become a link is
    dropped. A child without a score is passed over, and a position with neither links nor leaf (its search is still to
    come) keeps its score.
    """
    families = stack_buf(16640)
    counts = stack_buf(32)
    layers = stats + U(16)
    t = i2u(start)
    stop = i2u(end)
    changed = U(0)
    gathered = t
    family = families
    tally = stack_buf(6176)
    tallied = ld64(stats + TALLY) != U(0)
    if tallied:
        k = U(0)
        while k < U(6176):
            st64(tally + k, U(0))
            k += U(8)
    while t < stop:
        if t == gathered:
            gathered += BATCH
            if gathered > stop:
                gathered = stop
            gather_children(ctx, order, t, gathered, layers, families)
            family = families
            k = gathered
            while k < gathered + BATCH and k < stop:
                prefetch(row_place(ctx, ldu32(order + (k << U(2)))))
                k += U(1)
        else:
            family += FAMILY
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
        legal = ld64(family + U(8))
        finished = 1 if legal == U(0) and ld64(family) == U(0) else 0
        children = U(0)
        k = U(0)
        while k < ld64(family):
            move = PASS
            if legal:
                move = ctz(legal)
                legal = blsr(legal)
            row = lds64(family + U(40) + (k << U(5)))
            k += U(1)
            if row < 0:
                continue
            children += U(1)
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
            margin = margin_at(margins, ldi8(at + U(38)), empties)
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
            margin = margin_at(margins, ldi8(at + U(35)), empties)
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
            if tallied:
                tally_record(tally, at, empties, children, finished)
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
        if tallied:
            tally_record(tally, at, empties, children, finished)
        t += U(1)
    atomic_add64(stats, changed)
    if tallied:
        k = U(0)
        while k < U(6176):
            if ld64(tally + k) != U(0):
                atomic_add64(ld64(stats + TALLY) + k, ld64(tally + k))
            k += U(8)
    return u2i(t)


@kernel("void(u64,u64,i64,i64,u64,u64)")
def count_positions(ctx, order, start, end, out, empties):
    """Egaroucid's line counts of rows ``order[start..end]`` at ``out`` (64 bits a row): 1 + the sum over the links, a
    forced pass standing for the position after it. The children's are already there. ``empties``: see `barren`."""
    children = stack_buf(1024)
    t = i2u(start)
    while t < i2u(end):
        row = u2i(ldu32(order + (t << U(2))))
        at = row_at(ctx, i2u(row))
        count = 0
        if barren(ld64(at), ld64(at + U(8)), empties) == 0:
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
