"""Leaves that are not as they should be, and counts of what there is."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    ctz,
    final_score,
    i2u,
    ld64,
    ldi8,
    ldu8,
    moves,
    popc,
    st8,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import barren, list_links
from .table import hash_of, row_at

OPEN = 1
LINKED = 2
ILLEGAL = 3
SURPLUS = 4
NO_LIMIT = 1 << 62


@kernel("i64(u64,u64,u64)")
def leaf_fault(ctx, at, empties):
    """What is wrong with the leaf of the record at ``at``: 0, OPEN (none, though a move is not linked), LINKED (its
    move is a link), ILLEGAL (no legal move), SURPLUS (none or a final score is due). ``empties``: see `barren`."""
    links = stack_buf(1024)
    p = ld64(at)
    o = ld64(at + U(8))
    leaf_move = ldu8(at + U(36))
    score = ldi8(at + U(37))
    if barren(p, o, empties):
        if leaf_move > U(64):
            return SURPLUS if score >= -64 else OPEN
        if leaf_move > U(63) or moves(p, o) & bit(leaf_move & U(63)) == U(0):
            return ILLEGAL
        return OPEN if score < -64 else 0
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


@kernel("i64(u64,i64,i64,u64,i64,u64,u64)")
def list_faults(ctx, start, end, out, room, stats, empties):
    """Note (row, fault) of rows ``start..end`` with a `leaf_fault`, 16 bytes each at ``out``, until ``room`` are
    noted; answers where it stopped, ``stats`` + 0 how many were noted. ``empties``: see `barren`."""
    row = i2u(start)
    noted = U(0)
    while row < i2u(end) and noted < i2u(room):
        fault = leaf_fault(ctx, row_at(ctx, row), empties)
        if fault:
            st64(out + (noted << U(4)), row)
            sts64(out + (noted << U(4)) + U(8), fault)
            noted += U(1)
        row += U(1)
    st64(stats, noted)
    return u2i(row)


@kernel("void(u64,i64,i64,i64,u64)")
def make_up_leaves(ctx, start, end, level, empties):
    """Give rows ``start..end`` that wait for a search a leaf of ``level``, -12..12, that follows from the board: for
    measurements. ``empties``: see `barren`."""
    links = stack_buf(1024)
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        st8(at + U(35), level)
        if leaf_fault(ctx, at, empties) == OPEN:
            p = ld64(at)
            o = ld64(at + U(8))
            move = U(65)
            if barren(p, o, empties):
                move = ctz(moves(p, o))
            else:
                k = i2u(list_links(ctx, p, o, links))
                while k > U(0):
                    k -= U(1)
                    if u2i(ld64(links + (k << U(4)) + U(8))) < 0:
                        move = ld64(links + (k << U(4)))
            score = u2i((hash_of(p, o) >> U(20)) % U(25)) - 12
            if move == U(65):
                score = final_score(p, 64 - popc(p | o))
            st8(at + U(36), u2i(move))
            st8(at + U(37), score)
            st8(at + U(38), level)
        row += U(1)


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


@kernel("void(u64,i64,i64,u64)")
def count_empties(ctx, start, end, out):
    """Count rows ``start..end`` by their 0..64 empty squares, 64 bits each at ``out``."""
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        slot = out + (i2u(64 - popc(ld64(at) | ld64(at + U(8)))) << U(3))
        st64(slot, ld64(slot) + U(1))
        row += U(1)


@kernel("void(u64,u64,i64,u64,i64)", inline=True)
def tally_row(ctx, at, nowhere, out, limit):
    """Count the record at ``at`` by its 0..64 empty squares: at ``out`` four times 65 words, the positions, their links
    to rows below ``limit``, those with a leaf, and finished games. ``nowhere``: nothing can follow it, see `barren`."""
    links = stack_buf(1024)
    slot = out + (i2u(64 - popc(ld64(at) | ld64(at + U(8)))) << U(3))
    linked = U(0)
    total = U(0)
    if nowhere == 0:
        total = i2u(list_links(ctx, ld64(at), ld64(at + U(8)), links))
    k = U(0)
    while k < total:
        found = u2i(ld64(links + (k << U(4)) + U(8)))
        if found >= 0 and found < limit:
            linked += U(1)
        k += U(1)
    st64(slot, ld64(slot) + U(1))
    st64(slot + U(520), ld64(slot + U(520)) + linked)
    if ldu8(at + U(36)) <= U(64) and ldi8(at + U(37)) >= -64:
        st64(slot + U(1040), ld64(slot + U(1040)) + U(1))
    if total == U(0) and nowhere == 0:
        st64(slot + U(1560), ld64(slot + U(1560)) + U(1))


@kernel("void(u64,i64,i64,u64,u64)")
def tally_rows(ctx, start, end, out, empties):
    """`tally_row` of rows ``start..end``. ``empties``: see `barren`."""
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        tally_row(ctx, at, barren(ld64(at), ld64(at + U(8)), empties), out, NO_LIMIT)
        row += U(1)


@kernel("void(u64,u64,i64,i64,u64)")
def tally_listed(ctx, rows, count, limit, out):
    """`tally_row` of ``count`` rows, 64 bits each at ``rows``, with links to rows below ``limit`` only."""
    k = U(0)
    while k < i2u(count):
        tally_row(ctx, row_at(ctx, ld64(rows + (k << U(3)))), 0, out, limit)
        k += U(1)
