"""The block of words that a search thread works with, and the transposition table it shares with the others."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    DATE,
    LOCAL_TABLE,
    LOCAL_TABLE_EMPTIES,
    LOCAL_TABLE_MASK,
    NO_MOVE,
    PV_TABLE,
    PV_TABLE_MASK,
    SALT,
    TABLE,
    TABLE_MASK,
)

from .bits import U, clz, folded_product, i2u, ld64, st64, u2i

# An entry: two words, four to a bucket. The first is the board's key XORed with the second, so that an entry torn by
# two writers fits no board (Hyatt and Mann, "A lock-less transposition table implementation", ICGA Journal 25(1)).
# The second, from the low byte: lower + 64, upper + 64, best move, second move, cost (log2 of nodes), date, depth,
# selectivity index + 64.
SELECTIVITY_BIAS = 64


@kernel("u64(u64,u64,u64)", inline=True)
def key_of(ctx, p, o):
    """What tells the board apart in the tables, now: clearing a table is no more than another SALT."""
    return folded_product(p ^ U(0x9E3779B97F4A7C15), o ^ U(0xC2B2AE3D27D4EB4F)) ^ ld64(ctx + U(SALT))


@kernel("u64(u64,u64)", inline=True)
def bucket_of(ctx, key):
    return ld64(ctx + U(TABLE)) + ((key & ld64(ctx + U(TABLE_MASK))) << U(6))


@kernel("u64(u64,u64,i64)", inline=True)
def exact_bucket_of(ctx, key, empties):
    """The bucket of a position that is searched to the end, in the thread's own table where it has few empties."""
    if empties <= LOCAL_TABLE_EMPTIES:
        return ld64(ctx + U(LOCAL_TABLE)) + ((key & ld64(ctx + U(LOCAL_TABLE_MASK))) << U(6))
    return bucket_of(ctx, key)


@kernel("u64(u64,u64)", inline=True)
def line_bucket_of(ctx, key):
    return ld64(ctx + U(PV_TABLE)) + ((key & ld64(ctx + U(PV_TABLE_MASK))) << U(6))


@kernel("u64(u64,u64)", inline=True)
def probe(bucket, key):
    """The board's data word, 0 when it is not there."""
    d = ld64(bucket + U(8))
    if ld64(bucket) ^ d == key:
        return d
    d = ld64(bucket + U(24))
    if ld64(bucket + U(16)) ^ d == key:
        return d
    d = ld64(bucket + U(40))
    if ld64(bucket + U(32)) ^ d == key:
        return d
    d = ld64(bucket + U(56))
    if ld64(bucket + U(48)) ^ d == key:
        return d
    return U(0)


@kernel("i64(u64)", inline=True)
def lower_of(d):
    return u2i(d & U(255)) - 64


@kernel("i64(u64)", inline=True)
def upper_of(d):
    return u2i((d >> U(8)) & U(255)) - 64


@kernel("u64(u64)", inline=True)
def move_of(d):
    return (d >> U(16)) & U(255)


@kernel("u64(u64)", inline=True)
def second_move_of(d):
    return (d >> U(24)) & U(255)


@kernel("u64(u64)", inline=True)
def draft_of(d):
    """Depth and selectivity as one number; the comparison of two drafts is `covers`."""
    return d >> U(48)


@kernel("u64(i64,i64)", inline=True)
def make_draft(depth, selectivity):
    return i2u(depth) | (i2u(selectivity + SELECTIVITY_BIAS) << U(8))


@kernel("i64(u64,u64)", inline=True)
def covers(have, need):
    """1 when a result of draft ``have`` may stand for one of draft ``need``: as deep and as sure."""
    if (have & U(255)) >= (need & U(255)) and (have >> U(8)) >= (need >> U(8)):
        return 1
    return 0


@kernel("void(u64,u64,u64)")
def put(bucket, key, d):
    """Write an entry over the same board's, else over the oldest, then cheapest, of the bucket's four."""
    place = bucket
    least = ~U(0)
    other = bucket
    for _ in range(4):
        old = ld64(other + U(8))
        its_key = ld64(other) ^ old
        if its_key == key:
            place = other
            break
        # Date and cost are what decides. The rest breaks ties, by bits of the key that no salt changes at last, so that
        # the places in the bucket, which depend on what was there before a clearing, do not matter.
        rank = (old << U(16)) | ((its_key >> U(16)) & U(0xFFFF))
        if rank < least:
            least = rank
            place = other
        other += U(16)
    st64(place, key ^ d)
    st64(place + U(8), d)


@kernel("u64(i64,i64,u64,u64,u64,u64,u64)", inline=True)
def entry(lower, upper, move, second, cost, date, draft):
    return (
        i2u(lower + 64)
        | (i2u(upper + 64) << U(8))
        | (move << U(16))
        | (second << U(24))
        | (cost << U(32))
        | (date << U(40))
        | (draft << U(48))
    )


@kernel("u64(u64)", inline=True)
def log2_cost(nodes):
    return U(64) - clz(nodes)


@kernel("void(u64,u64,u64,i64,i64,i64,u64,u64,u64,u64)")
def remember(ctx, bucket, key, alpha, beta, best, move, nodes, draft, known):
    """Store that the search of window (alpha, beta) at ``draft`` gave ``best``; ``known`` is the old data word."""
    lower = -64
    upper = 64
    first = U(NO_MOVE)
    second = U(NO_MOVE)
    if known:
        first = move_of(known)
        second = second_move_of(known)
        if draft_of(known) == draft:
            lower = lower_of(known)
            upper = upper_of(known)
    if best > alpha and best > lower:
        lower = best
    if best < beta and best < upper:
        upper = best
    if move != first and (best > alpha or first == U(NO_MOVE)):
        second = first
        first = move
    put(bucket, key, entry(lower, upper, first, second, log2_cost(nodes), ld64(ctx + U(DATE)), draft))


@kernel("void(u64,u64)", inline=True)
def count(ctx, nodes):
    st64(ctx, ld64(ctx) + nodes)
