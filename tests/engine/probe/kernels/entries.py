"""The entries of a searcher's tables, compared with searches of another one."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, bit, blsr, ctz, flip, folded_product, ld64, moves, popc, st64
from desdaemon.engine.kernels.context import (
    bucket_of,
    covers,
    draft_of,
    exact_bucket_of,
    key_of,
    line_bucket_of,
    lower_of,
    make_draft,
    probe,
    upper_of,
)
from desdaemon.engine.kernels.interface import search_root
from desdaemon.engine.layout import EXACT, LOCAL_TABLE_EMPTIES, NO_MOVE

_SHARE_SALT = 0xA0761D6478BD642F
"""Makes `check_entries` choose moves independently of the hash keys."""


@kernel("i64(u64,u64,u64,u64)")
def entry_is_wrong(judge, p, o, known):
    """1 when ``judge`` finds a score of (p, o), at least one legal move, outside the exact bounds of an entry."""
    empties = 64 - popc(p | o)
    lower = lower_of(known)
    upper = upper_of(known)
    if lower > -64 and search_root(judge, p, o, lower - 1, lower, empties, EXACT, ~U(0), U(NO_MOVE)) < lower:
        return 1
    if upper < 64 and search_root(judge, p, o, upper, upper + 1, empties, EXACT, ~U(0), U(NO_MOVE)) > upper:
        return 1
    return 0


@kernel("i64(u64,u64,u64,u64)")
def is_new(p, o, seen, mask):
    """Add a board to the set ``seen`` of ``mask`` + 1 slots, (p, o) each, zeros if empty. Returns 1 if it is new."""
    slot = folded_product(p, ~o) & mask
    while True:
        address = seen + (slot << U(4))
        if ld64(address) | ld64(address + U(8)) == U(0):
            st64(address, p)
            st64(address + U(8), o)
            return 1
        if ld64(address) == p and ld64(address + U(8)) == o:
            return 0
        slot = (slot + U(1)) & mask


@kernel("void(u64,u64,u64,u64,i64,u64,u64,u64,u64)")
def check_entries(ctx, judge, p, o, fewest, share, seen, mask, counts):
    """Compare exact table entries of ``ctx`` for (p, o) and later positions with searches of ``judge``.

    The entries are those of the shared table, of that for principal variations and, with few empties, of the thread's
    own. Positions have at least ``fewest`` empties; ``share`` in 256 of the moves of each are followed, chosen by the
    boards' bits. ``seen`` is a set of boards (`is_new`): no position is visited twice, and
    at most half as many as it has slots. ``counts`` are words: positions visited, exact entries,
    wrong ones.
    """
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p):
            check_entries(ctx, judge, o, p, fewest, share, seen, mask, counts)
        return
    if ld64(counts) > mask >> U(1) or is_new(p, o, seen, mask) == 0:
        return
    st64(counts, ld64(counts) + U(1))
    empties = 64 - popc(p | o)
    key = key_of(ctx, p, o)
    for place in range(3):
        if place == 0:
            known = probe(bucket_of(ctx, key), key)
        elif place == 1:
            known = probe(line_bucket_of(ctx, key), key)
        elif empties <= LOCAL_TABLE_EMPTIES:
            known = probe(exact_bucket_of(ctx, key, empties), key)
        else:
            known = U(0)
        if known and covers(draft_of(known), make_draft(empties, EXACT)):
            st64(counts + U(8), ld64(counts + U(8)) + U(1))
            if entry_is_wrong(judge, p, o, known):
                st64(counts + U(16), ld64(counts + U(16)) + U(1))
    if empties <= fewest:
        return
    while legal:
        x = ctz(legal)
        legal = blsr(legal)
        f = flip(x, p, o)
        q = o ^ f
        r = p | f | bit(x)
        if folded_product(q ^ U(_SHARE_SALT), r) & U(255) < share:
            check_entries(ctx, judge, q, r, fewest, share, seen, mask, counts)
