"""Distinct positions: open-addressing sets of canonical boards in memory that the caller owns.

A set is a power of two of slots of two words, (mover, opponent), all zero where it is empty.
"""

from desdaemon.engine.compiler.jit import kernel

from .bits import (
    U,
    bit,
    blsr,
    canonical,
    ctz,
    flip,
    i2u,
    ld64,
    moves,
    prefetch,
    st64,
    stack_buf,
)

FORCED_PASSES_MADE = 2
ENDED_GAMES_DROPPED = 3


@kernel("void(u64,u64,i64)")
def boards_canonical(players, opponents, number):
    """Replace ``number`` boards, words at two addresses, by the smallest of their eight images."""
    board = stack_buf(16)
    for place in range(number):
        at = i2u(place) << U(3)
        canonical(ld64(players + at), ld64(opponents + at), board)
        st64(players + at, ld64(board))
        st64(opponents + at, ld64(board + U(8)))


@kernel("u64(u64,u64,u64)", inline=True)
def positions_slot(player, opponent, mask):
    """Return the first slot of a board in a set of ``mask`` + 1 slots."""
    h = player * U(0x9E3779B97F4A7C15) + opponent
    h = (h ^ (h >> U(32))) * U(0xD6E8FEB86659FD93)
    return (h ^ (h >> U(32))) & mask


@kernel("i64(u64,u64,u64,u64)")
def positions_add(player, opponent, table, mask):
    """Add a canonical board to a set with a free slot. Returns 1 when it is new, else 0."""
    slot = positions_slot(player, opponent, mask)
    while True:
        at = table + (slot << U(4))
        p = ld64(at)
        o = ld64(at + U(8))
        if p == player and o == opponent:
            return 0
        if p | o == U(0):
            st64(at, player)
            st64(at + U(8), opponent)
            return 1
        slot = (slot + U(1)) & mask


@kernel("i64(u64,u64,u64,u64,i64)")
def positions_after(player, opponent, table, mask, definition):
    """Add the boards after each move to a set. Returns the number of new ones. A forced pass is made first."""
    m = moves(player, opponent)
    if m == U(0):
        p = player
        player = opponent
        opponent = p
        m = moves(player, opponent)
    # Prefetch every slot before reading the first, because memory latency dominates.
    found = stack_buf(64 * 16)
    last = found
    while m != U(0):
        x = ctz(m)
        m = blsr(m)
        f = flip(x, player, opponent)
        p = opponent ^ f
        o = player | f | bit(x)
        if definition >= FORCED_PASSES_MADE and moves(p, o) == U(0):
            if moves(o, p) != U(0):
                f = p
                p = o
                o = f
            elif definition == ENDED_GAMES_DROPPED:
                continue
        canonical(p, o, last)
        prefetch(table + (positions_slot(ld64(last), ld64(last + U(8)), mask) << U(4)))
        last += U(16)
    added = 0
    while found < last:
        added += positions_add(ld64(found), ld64(found + U(8)), table, mask)
        found += U(16)
    return added


@kernel("i64(u64,i64,i64,u64,i64,i64)")
def positions_expand(level, first, last, table, mask, definition):
    """Add the successors of the boards in slots ``first`` to ``last`` - 1 of one set to another. Returns the number of
    new ones.
    """
    added = 0
    for slot in range(first, last):
        at = level + (i2u(slot) << U(4))
        p = ld64(at)
        o = ld64(at + U(8))
        if p | o != U(0):
            added += positions_after(p, o, table, i2u(mask), definition)
    return added


@kernel("void(u64,i64,u64,i64)")
def positions_copy(source, slots, table, mask):
    """Add all boards of a set of ``slots`` slots to another set with enough free slots."""
    for slot in range(slots):
        at = source + (i2u(slot) << U(4))
        p = ld64(at)
        o = ld64(at + U(8))
        if p | o != U(0):
            positions_add(p, o, table, i2u(mask))
