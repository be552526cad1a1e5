"""The context of a search thread, the transposition table, and the words by which the threads of a team communicate."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    BEST,
    BUSY_WAYS,
    BUSY_WORDS,
    CHECK_AT,
    DATE,
    EPOCH_SEEN,
    HOOK,
    HOOK_TURN,
    INFINITE,
    JOB,
    LEAVE,
    LOCAL_TABLE,
    LOCAL_TABLE_EMPTIES,
    LOCAL_TABLE_MASK,
    NO_MOVE,
    NODE_LIMIT,
    NODES,
    PATH,
    PATH_BYTES,
    PATH_LENGTH,
    PV_TABLE,
    PV_TABLE_MASK,
    SALT,
    SELECTIVITY_BIAS,
    SPINS,
    STOP,
    TABLE,
    TABLE_MASK,
    TEAM,
    TEAM_BUSY,
    TEAM_CLAIMED,
    TEAM_EPOCH,
    TEAM_NODE_LIMIT,
    TEAM_NODES,
    TEAM_OPEN,
    TEAM_PORTION,
    TEAM_SCORE,
    THREAD,
    UNWIND,
    UNWIND_ALL,
)

from .bits import (
    U,
    agreed64,
    atomic_add64,
    call_hook,
    clz,
    exchange64,
    folded_product,
    i2u,
    ld64,
    lds64,
    poll64,
    post64,
    st64,
    sts64,
    u2i,
)

# An entry: two words, four to a bucket. The first is the board's key XORed with the second, so that an entry torn by
# two writers fits no board (Hyatt and Mann, "A lock-less transposition table implementation", ICGA Journal 25(1)).
# The second, from the low byte: lower + 64, upper + 64, best move, second move, cost (log2 of nodes), date, depth,
# selectivity index + 64.
#
# Why no order of memory is needed, on ARM no more than on x86-64 (docs/kernels.md has all of it). `probe` and `put`
# access each word once, whole, by `poll64` and `post64`: what a thread reads at a place is a word that some `put` wrote
# there, or the first zero. The two words of an entry may be of different writes, in any combination, however old. Let
# them be the first word of a write of (key a, data d) and the second of one of (key b, data e). A reader takes e for
# the board of key a ^ d ^ e. Where d == e that is key a, whose result d == e is: stale at worst, and a result of a
# board is true for ever. Where d != e it is a board of neither write, but by a collision of 64 bits, as two boards may
# have one key anyhow: a == b does not help, for a ^ d ^ e != a then. A reader uses no word but the one it compared
# (`probe` returns it), so it does not matter what becomes of the entry afterwards. `put` chooses its place by words
# that may be torn: that decides what is forgotten. Two that write one place at once leave a torn entry: forgotten too.
# Moves from the table are only tried if they are legal. A new SALT is written before the threads of the next search
# begin, which orders it.


@kernel("u64(u64,u64,u64)", inline=True)
def key_of(ctx, p, o):
    """Return the hash key of a board for the tables. It depends on SALT: a new SALT clears the tables at once."""
    return folded_product(p ^ U(0x9E3779B97F4A7C15), o ^ U(0xC2B2AE3D27D4EB4F)) ^ ld64(ctx + U(SALT))


@kernel("u64(u64,u64)", inline=True)
def bucket_of(ctx, key):
    return ld64(ctx + U(TABLE)) + ((key & ld64(ctx + U(TABLE_MASK))) << U(6))


@kernel("u64(u64,u64,i64)", inline=True)
def exact_bucket_of(ctx, key, empties):
    """Return the bucket of a position that is searched to the end: in the thread's own table if it has few empties."""
    if empties <= LOCAL_TABLE_EMPTIES:
        return ld64(ctx + U(LOCAL_TABLE)) + ((key & ld64(ctx + U(LOCAL_TABLE_MASK))) << U(6))
    return bucket_of(ctx, key)


@kernel("u64(u64,u64)", inline=True)
def line_bucket_of(ctx, key):
    return ld64(ctx + U(PV_TABLE)) + ((key & ld64(ctx + U(PV_TABLE_MASK))) << U(6))


@kernel("u64(u64,u64)", inline=True)
def probe(bucket, key):
    """Return the data word of a board, 0 when it is not in the bucket."""
    d = poll64(bucket + U(8))
    if poll64(bucket) ^ d == key:
        return d
    d = poll64(bucket + U(24))
    if poll64(bucket + U(16)) ^ d == key:
        return d
    d = poll64(bucket + U(40))
    if poll64(bucket + U(32)) ^ d == key:
        return d
    d = poll64(bucket + U(56))
    if poll64(bucket + U(48)) ^ d == key:
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
    """Return depth and selectivity as one number; compare drafts by `covers`."""
    return d >> U(48)


@kernel("u64(i64,i64)", inline=True)
def make_draft(depth, selectivity):
    return i2u(depth) | (i2u(selectivity + SELECTIVITY_BIAS) << U(8))


@kernel("i64(u64,u64)", inline=True)
def covers(have, need):
    """1 when a result of draft ``have`` may be used if ``need`` is required: at least as deep, and as reliable."""
    if (have & U(255)) >= (need & U(255)) and (have >> U(8)) >= (need >> U(8)):
        return 1
    return 0


@kernel("void(u64,u64,u64)")
def put(bucket, key, d):
    """Write an entry in place of the same board's, else of the oldest, then cheapest, of the bucket's four."""
    place = bucket
    least = ~U(0)
    other = bucket
    for _ in range(4):
        old = poll64(other + U(8))
        its_key = poll64(other) ^ old
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
    post64(place, key ^ d)
    post64(place + U(8), d)


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


SECOND_PLACE = 0x5851F42D4C957F2D
"""XORed with a board's key it gives the key of the board's second place in the bucket, for results of a lower draft
than the first's.

Its low bits are not 0, so a board that has such a key itself is in another bucket.
"""


@kernel("u64(u64,u64,u64,u64)", inline=True)
def second_result(bucket, key, known, draft):
    """Return the data word at the second place of a board; ``known`` is the one at its first.

    0 if there is none that covers ``draft``, or if the first has exactly this draft.
    """
    if draft_of(known) != draft:
        other = probe(bucket, key ^ U(SECOND_PLACE))
        if other and covers(draft_of(other), draft):
            return other
    return U(0)


@kernel("void(u64,u64,u64,i64,i64,i64,u64,u64,u64,u64)")
def remember(ctx, bucket, key, alpha, beta, best, move, nodes, draft, known):
    """Store ``best``, the result of a search of window (alpha, beta) at ``draft``; ``known`` is the old data word.

    If ``known`` is of a higher draft it stays, moves included, and the new result goes to the board's second place: so
    a reduced search does not overwrite the deeper result of its board, and other threads find the reduced one.
    """
    lower = -64
    upper = 64
    first = U(NO_MOVE)
    second = U(NO_MOVE)
    if known:
        first = move_of(known)
        second = second_move_of(known)
        if draft_of(known) != draft and covers(draft_of(known), draft):
            key ^= U(SECOND_PLACE)
            known = probe(bucket, key)
        if known and draft_of(known) == draft:
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


# Sharing: what threads that search together tell each other.
#
# All threads of a team search the same root with the same table (`interface.lead_root`, `interface.help_team`). They
# part because a thread that comes to a move whose position another is searching leaves it for later: T. Kerrigan's
# Simplified ABDADA, after J.-C. Weill, "The ABDADA distributed minimax search algorithm", ICCA Journal 19(1), 1996. A
# node is shared from the depth `SHARE_FROM` of the context on. Five things are added:
#
# - at a node that is expected to fail high the threads do not part: they search one move together, for the moves after
#   it are likely not to be needed (`midgame.try_moves`);
# - at a node that is expected to fail low the team's first threads part at the first move already: all its moves have
#   to be searched, and threads that go down the first together part at small nodes below, time and again;
# - a thread that comes to a node where another has tried ProbCut in vain does not try it again: the table has lost the
#   reduced searches to the search that followed (`midgame.search`);
# - before each later move of a shared node the thread looks whether the table has the node's result by now;
# - a thread that finishes a shared node raises the team's epoch. The others, when they see a new epoch, look up the
#   shared nodes they are in, and return to the one next to the root that is done.
#
# A thread returns by its word UNWIND, as it does for a stop: what the nodes in between return is neither compared nor
# stored.

ANSWERED = 128
"""Stored at BEST instead of a move when a node returns a result that another thread has stored: there is nothing left
to store.
"""


@kernel("void(u64)")
def stop_all(ctx):
    """End the search of all threads."""
    post64(ld64(ctx + U(STOP)), U(1))
    st64(ctx + U(UNWIND), U(UNWIND_ALL))


@kernel("void(u64)")
def checkpoint(ctx):
    """Called after `CHECK_AT` nodes: draw more nodes of the limit or stop, or end a virtual turn."""
    if ld64(ctx + U(NODES)) >= ld64(ctx + U(NODE_LIMIT)):
        team = ld64(ctx + U(TEAM))
        if team == U(0):
            stop_all(ctx)
            return
        portion = ld64(team + U(TEAM_PORTION))
        limit = ld64(team + U(TEAM_NODE_LIMIT))
        drawn = atomic_add64(team + U(TEAM_NODES), portion)
        if drawn >= limit:
            stop_all(ctx)
            return
        if portion > limit - drawn:
            portion = limit - drawn
        st64(ctx + U(NODE_LIMIT), ld64(ctx + U(NODES)) + portion)
    st64(ctx + U(CHECK_AT), ld64(ctx + U(NODE_LIMIT)))
    if ld64(ctx + U(HOOK)) and ld64(ctx + U(SPINS)) == U(0):
        call_hook(ld64(ctx + U(HOOK)), HOOK_TURN, ld64(ctx + U(THREAD)))


@kernel("i64(u64,u64,u64,i64,i64)")
def table_answer(bucket, key, draft, alpha, beta):
    """Return the table's score for a node of window (alpha, beta); INFINITE if it does not decide or has no move."""
    known = probe(bucket, key)
    if known == U(0) or covers(draft_of(known), draft) == 0 or move_of(known) == U(NO_MOVE):
        return INFINITE
    lower = lower_of(known)
    upper = upper_of(known)
    other = second_result(bucket, key, known, draft)
    if other:
        if lower_of(other) > lower:
            lower = lower_of(other)
        if upper_of(other) < upper:
            upper = upper_of(other)
    if lower >= beta or lower == upper:
        return lower
    if upper <= alpha:
        return upper
    return INFINITE


@kernel("u64(u64,u64,u64,u64,i64,i64)")
def enter_node(ctx, bucket, key, draft, alpha, beta):
    """Put a shared node on the thread's path. Returns its level."""
    level = ld64(ctx + U(PATH_LENGTH))
    place = ctx + U(PATH) + level * U(PATH_BYTES)
    st64(place, bucket)
    st64(place + U(8), key)
    st64(place + U(16), draft)
    sts64(place + U(24), alpha)
    sts64(place + U(32), beta)
    level += U(1)
    st64(ctx + U(PATH_LENGTH), level)
    return level


@kernel("void(u64)", inline=True)
def leave_node(ctx):
    """Take the last node off the thread's path."""
    st64(ctx + U(PATH_LENGTH), ld64(ctx + U(PATH_LENGTH)) - U(1))


@kernel("i64(u64,u64)")
def path_answer(ctx, level):
    """`table_answer` for the node of that level of the path; if it decides, BEST becomes ANSWERED."""
    place = ctx + U(PATH) + (level - U(1)) * U(PATH_BYTES)
    alpha = lds64(place + U(24))
    score = table_answer(ld64(place), ld64(place + U(8)), ld64(place + U(16)), alpha, lds64(place + U(32)))
    if score != INFINITE:
        st64(ctx + U(BEST), U(ANSWERED))
    return score


@kernel("void(u64)")
def check_team(ctx):
    """Set UNWIND if the search is over, a node of the thread's path is finished, or the thread must leave."""
    team = ld64(ctx + U(TEAM))
    if poll64(ctx + U(LEAVE)):
        st64(ctx + U(UNWIND), U(UNWIND_ALL))
        return
    if poll64(team + U(TEAM_EPOCH)) == ld64(ctx + U(EPOCH_SEEN)):
        return
    # Read again, in order: who has seen an epoch does not look again, and must see what was stored before it was
    # raised, the closing of the search above all.
    st64(ctx + U(EPOCH_SEEN), agreed64(team + U(TEAM_EPOCH)))
    if poll64(team + U(TEAM_OPEN)) != ld64(ctx + U(JOB)):
        st64(ctx + U(UNWIND), U(UNWIND_ALL))
        return
    level = U(0)
    place = ctx + U(PATH)
    while level < ld64(ctx + U(PATH_LENGTH)):
        level += U(1)
        alpha = lds64(place + U(24))
        if table_answer(ld64(place), ld64(place + U(8)), ld64(place + U(16)), alpha, lds64(place + U(32))) != INFINITE:
            st64(ctx + U(UNWIND), level)
            return
        place += U(PATH_BYTES)


@kernel("void(u64)")
def announce(ctx):
    """Mark a shared node, whose result is stored, as finished, so that other threads inside it return."""
    atomic_add64(ld64(ctx + U(TEAM)) + U(TEAM_EPOCH), U(1))


@kernel("u64(u64,i64,u64)", inline=True)
def search_sign(key, alpha, draft):
    """Return a number that identifies the search of a board with a window from ``alpha`` for a node of ``draft``."""
    return key ^ i2u(alpha + 64) ^ (draft << U(8))


@kernel("u64(u64,i64,u64)", inline=True)
def probcut_sign(key, alpha, draft):
    """Return a number that identifies a node in which ProbCut has failed; different from `search_sign`."""
    return ~search_sign(key, alpha, draft)


@kernel("u64(u64,u64)", inline=True)
def busy_group(ctx, sign):
    """Return the address of the words in which ``sign`` may be marked."""
    return ld64(ctx + U(TEAM)) + U(TEAM_BUSY) + ((sign & U(BUSY_WORDS // BUSY_WAYS - 1)) << U(5))


@kernel("i64(u64,u64)")
def is_busy(ctx, sign):
    """1 when a thread is searching the position that ``sign`` identifies."""
    place = busy_group(ctx, sign)
    for _ in range(BUSY_WAYS):
        if poll64(place) == sign:
            return 1
        place += U(8)
    return 0


@kernel("u64(u64,u64)")
def mark_busy(ctx, sign):
    """Mark the position that ``sign`` identifies as being searched by this thread. Returns the mark's address, for
    `unmark`.
    """
    group = busy_group(ctx, sign)
    place = group
    for _ in range(BUSY_WAYS):
        if poll64(place) == U(0):
            break
        place += U(8)
    if place == group + U(8 * BUSY_WAYS):
        place = group
    post64(place, sign)
    return place


@kernel("void(u64,u64)", inline=True)
def unmark(place, sign):
    """Remove a mark, unless it was overwritten by another."""
    if poll64(place) == sign:
        post64(place, U(0))


@kernel("void(u64,i64)")
def claim(ctx, score):
    """Called by a thread back at the root: if it is the first, ``score`` and BEST become the result."""
    team = ld64(ctx + U(TEAM))
    if ld64(ctx + U(UNWIND)):
        return
    if atomic_add64(team + U(TEAM_CLAIMED), U(1)) == U(0):
        sts64(team + U(TEAM_SCORE), score)
        st64(team + U(TEAM_SCORE + 8), ld64(ctx + U(BEST)))
        close_search(team)


@kernel("void(u64)")
def close_search(team):
    """Let no more threads enter the search, and make the helpers leave it."""
    exchange64(team + U(TEAM_OPEN), U(0))
    atomic_add64(team + U(TEAM_EPOCH), U(1))
