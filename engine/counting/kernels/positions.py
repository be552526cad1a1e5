"""Sets of distinct canonical boards: hash tables with open addressing in memory of the caller.

A set is a power of two of slots of two words, (mover, opponent), both 0 in an empty slot.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
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


@kernel("u64(u64,u64,u64)", inline=True)
def positions_slot(player, opponent, mask):
    """Return the index of the slot where a board is looked for first, in a set of ``mask`` + 1 slots."""
    h = player * U(0x9E3779B97F4A7C15) + opponent
    h = (h ^ (h >> U(32))) * U(0xD6E8FEB86659FD93)
    return (h ^ (h >> U(32))) & mask


@kernel("i64(u64,u64,u64,u64)")
def positions_add(player, opponent, table, mask):
    """Add a canonical board to the set of ``mask`` + 1 slots at ``table``, which must have a free slot.

    Returns 1 if the board is new, else 0.
    """
    slot = positions_slot(player, opponent, mask)
    while True:
        address = table + (slot << U(4))
        p = ld64(address)
        o = ld64(address + U(8))
        if p == player and o == opponent:
            return 0
        if p | o == U(0):
            st64(address, player)
            st64(address + U(8), opponent)
            return 1
        slot = (slot + U(1)) & mask


@kernel("i64(u64,u64,u64,u64,i64)")
def positions_after(player, opponent, table, mask, definition):
    """Add the boards after each move, made canonical, to the set of ``mask`` + 1 slots at ``table``, which must have
    room; the player passes first if it must. Returns the number of boards that are new to the set.

    For ``definition`` see `counting.count_positions`.
    """
    m = moves(player, opponent)
    if m == U(0):
        p = player
        player = opponent
        opponent = p
        m = moves(player, opponent)
    # Prefetch every slot before reading the first, because memory latency dominates.
    boards = stack_buf(64 * 16)
    last = boards
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
    while boards < last:
        added += positions_add(ld64(boards), ld64(boards + U(8)), table, mask)
        boards += U(16)
    return added


@kernel("i64(u64,i64,i64,u64,i64,i64)")
def positions_expand(level, first, last, table, mask, definition):
    """Apply `positions_after` to the boards in slots ``first`` to ``last`` - 1 of the set at ``level``; it adds the
    next boards to the set of ``mask`` + 1 slots at ``table``. Returns the number of boards that are new to that set.
    """
    added = 0
    for slot in range(first, last):
        address = level + (i2u(slot) << U(4))
        p = ld64(address)
        o = ld64(address + U(8))
        if p | o != U(0):
            added += positions_after(p, o, table, i2u(mask), definition)
    return added


@kernel("void(u64,i64,u64,i64)")
def positions_copy(source, slots, table, mask):
    """Add all boards of the set of ``slots`` slots at ``source`` to the set of ``mask`` + 1 slots at ``table``, which
    must have room.
    """
    for slot in range(slots):
        address = source + (i2u(slot) << U(4))
        p = ld64(address)
        o = ld64(address + U(8))
        if p | o != U(0):
            positions_add(p, o, table, i2u(mask))
