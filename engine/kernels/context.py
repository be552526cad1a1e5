"""The context of a search thread, the transposition table, and the words by which a team's threads communicate.

In the kernels of the search ``ctx`` is the address of a thread's context (`engine.layout`); ``p`` and ``o`` are the
discs of the mover and of the opponent; ``alpha`` and ``beta``, the window, are discs for the mover.
"""

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

# An entry is two words; a bucket has four. The first word is the board's key XORed with the second, so that an entry
# torn by two writers fits no board (Hyatt and Mann, "A lock-less transposition table implementation", ICGA Journal
# 25(1)). The second, from the low byte: lower + 64, upper + 64, best move, second move, cost (log2 of nodes), date,
# depth, selectivity index + 64.
#
# No memory order is needed, on ARM no more than on x86-64 (docs/kernels.md). `probe` and `put` access each word once
# and whole, by `poll64` and `post64`, so a thread reads words that some `put` wrote there, or zeros. The two words of
# an entry may come from different writes: the first from (key a, data d), the second from (key b, data e). A reader
# takes e for the result of the board with key a ^ d ^ e. If d == e that is key a and its true result, if an old one.
# If d != e it is the key of neither write, but for a collision of 64 bits, which any two boards may have. A reader uses
# only the word that it has compared (`probe` returns it). `put` may choose a place by torn words, and two writers of
# one place may leave a torn entry: both only decide what is forgotten. Moves from the table are tried if they are
# legal. A new SALT is written before the threads of the next search begin, which orders it.


@kernel("u64(u64,u64,u64)", inline=True)
def key_of(ctx, p, o):
    """Return the hash key of a board for the tables. It depends on SALT: a new SALT empties the tables at once."""
    return folded_product(p ^ U(0x9E3779B97F4A7C15), o ^ U(0xC2B2AE3D27D4EB4F)) ^ ld64(ctx + U(SALT))


@kernel("u64(u64,u64)", inline=True)
def bucket_of(ctx, key):
    return ld64(ctx + U(TABLE)) + ((key & ld64(ctx + U(TABLE_MASK))) << U(6))


@kernel("u64(u64,u64,i64)", inline=True)
def exact_bucket_of(ctx, key, empties):
    """Return the address of the bucket for a position searched to the end: with at most LOCAL_TABLE_EMPTIES empties in
    the thread's own table, else in the common one.
    """
    if empties <= LOCAL_TABLE_EMPTIES:
        return ld64(ctx + U(LOCAL_TABLE)) + ((key & ld64(ctx + U(LOCAL_TABLE_MASK))) << U(6))
    return bucket_of(ctx, key)


@kernel("u64(u64,u64)", inline=True)
def line_bucket_of(ctx, key):
    return ld64(ctx + U(PV_TABLE)) + ((key & ld64(ctx + U(PV_TABLE_MASK))) << U(6))


@kernel("u64(u64,u64)", inline=True)
def probe(bucket, key):
    """Return the data word of the board with this ``key``; 0 if the bucket does not have it."""
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
    """Return depth and selectivity of the data word ``d`` as one number (see `make_draft`), for `covers`."""
    return d >> U(48)


@kernel("u64(i64,i64)", inline=True)
def make_draft(depth, selectivity):
    return i2u(depth) | (i2u(selectivity + SELECTIVITY_BIAS) << U(8))


@kernel("i64(u64,u64)", inline=True)
def covers(have, need):
    """Return 1 if a result of draft ``have`` is at least as deep and as reliable as ``need`` demands, else 0."""
    if (have & U(255)) >= (need & U(255)) and (have >> U(8)) >= (need >> U(8)):
        return 1
    return 0


@kernel("void(u64,u64,u64)")
def put(bucket, key, d):
    """Write the data word ``d`` for the board of ``key`` into a bucket, over the board's old entry if there is one.
    Otherwise the entry with the oldest date is overwritten; among several of that date the cheapest.
    """
    place = bucket
    least = ~U(0)
    other = bucket
    # Dates begin again: those above the new entry's are the oldest.
    after = ((d >> U(40)) + U(1)) << U(56)
    for _ in range(4):
        old = poll64(other + U(8))
        its_key = poll64(other) ^ old
        if its_key == key:
            place = other
            break
        # Date and cost decide. Moves, bounds and bits of the key break ties, the lowest of them those that no salt
        # changes, because places in the bucket depend on what stood there before a clearing.
        rank = ((old << U(16)) - after) | ((its_key >> U(16)) & U(0xFFFF))
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
"""A board's key XORed with this is the key of its second entry in the bucket, for a result of lower draft than the
first entry's.

Its low bits are not 0, so a board that has this key as its own has another bucket.
"""


@kernel("u64(u64,u64,u64,u64)", inline=True)
def second_result(bucket, key, data, draft):
    """Return the data word of the board's second entry, which holds a result of another draft, if it covers ``draft``;
    else 0. ``data`` is the data word of the first entry: if its draft is ``draft``, the result is 0.
    """
    if draft_of(data) != draft:
        other = probe(bucket, key ^ U(SECOND_PLACE))
        if other and covers(draft_of(other), draft):
            return other
    return U(0)


@kernel("void(u64,u64,u64,i64,i64,i64,u64,u64,u64,u64)")
def remember(ctx, bucket, key, alpha, beta, best, move, nodes, draft, data):
    """Store the result of a search of ``nodes`` nodes with the window (alpha, beta) at ``draft``: the score ``best``
    and its ``move``. ``data`` is the data word that the bucket had for the board, 0 for none.

    Bounds of an old result of the same draft are kept if they are narrower. The old move stays the first if ``best`` is
    at most ``alpha``, else it becomes the second. An entry of another draft that covers this one stays, moves included,
    and the new result becomes the board's second entry. So a reduced search does not overwrite the deeper result of its
    board, and other threads find the reduced one.
    """
    lower = -64
    upper = 64
    first = U(NO_MOVE)
    second = U(NO_MOVE)
    if data:
        first = move_of(data)
        second = second_move_of(data)
        if draft_of(data) != draft and covers(draft_of(data), draft):
            key ^= U(SECOND_PLACE)
            data = probe(bucket, key)
        if data and draft_of(data) == draft:
            lower = lower_of(data)
            upper = upper_of(data)
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


# How the threads of a team share a search.
#
# All search the same root with the same table (`interface.lead_root`, `interface.help_team`). They part because a
# thread leaves a move for later if another is searching the position after it: T. Kerrigan's Simplified ABDADA, after
# J.-C. Weill, "The ABDADA distributed minimax search algorithm", ICCA Journal 19(1), 1996. Nodes of at least the depth
# `SHARE_FROM` are shared. Five things are added:
#
# - At a node expected to fail high the threads do not part but search one move together: the moves after it are
#   probably not needed (`midgame.try_moves`).
# - At a node expected to fail low the team's first threads part at the first move already: all moves have to be
#   searched, and threads that search the first together would part again and again at small nodes below it.
# - A thread does not try ProbCut at a node where another has tried it in vain: the search that followed has overwritten
#   the reduced searches in the table (`midgame.search`).
# - Before each later move of a shared node a thread looks up whether the table has the node's result by now.
# - A thread that finishes a shared node raises the team's epoch. Threads that see a new epoch look up the shared nodes
#   they are in, and return to the finished one that is nearest to the root.
#
# A thread returns by its word UNWIND, as for a stop: results of the nodes in between are neither compared nor stored.

ANSWERED = 128
"""Stands at BEST, instead of a move, if the node's result is one that another thread has stored."""


@kernel("void(u64)")
def stop_all(ctx):
    """Tell all threads to end their search: set the stop word and this thread's UNWIND."""
    post64(ld64(ctx + U(STOP)), U(1))
    st64(ctx + U(UNWIND), U(UNWIND_ALL))


@kernel("void(u64)")
def checkpoint(ctx):
    """Draw another portion of the team's nodes if the thread has used up its own. If none is left, or there is no team,
    stop all threads; else a virtual thread's turn ends. Called when the thread has counted `CHECK_AT` nodes.
    """
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
    """Return a score from the table that decides a node: an exact one, or a bound outside the window (alpha, beta).

    Returns INFINITE if the bucket has no such score that covers ``draft``, or if the board's entry has no move.
    """
    data = probe(bucket, key)
    if data == U(0) or covers(draft_of(data), draft) == 0 or move_of(data) == U(NO_MOVE):
        return INFINITE
    lower = lower_of(data)
    upper = upper_of(data)
    other = second_result(bucket, key, data, draft)
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
    """Put a shared node on the thread's path. Returns its number there, counted from 1."""
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
    """Return `table_answer` for node number ``level`` (from 1) of the thread's path. If that is a score, not INFINITE,
    also set BEST to ANSWERED.
    """
    place = ctx + U(PATH) + (level - U(1)) * U(PATH_BYTES)
    alpha = lds64(place + U(24))
    score = table_answer(ld64(place), ld64(place + U(8)), ld64(place + U(16)), alpha, lds64(place + U(32)))
    if score != INFINITE:
        st64(ctx + U(BEST), U(ANSWERED))
    return score


@kernel("void(u64)")
def check_team(ctx):
    """Set UNWIND to UNWIND_ALL if the search is over or the thread must leave. Else, if a thread has called `announce`
    since the last check, set it to the number of the first node on the thread's path that the table now answers.
    """
    team = ld64(ctx + U(TEAM))
    if poll64(ctx + U(LEAVE)):
        st64(ctx + U(UNWIND), U(UNWIND_ALL))
        return
    if poll64(team + U(TEAM_EPOCH)) == ld64(ctx + U(EPOCH_SEEN)):
        return
    # Read again, in sequential order: a thread that has seen an epoch does not look again, so it must see everything
    # that was stored before the epoch was raised, above all that the search is closed.
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
    """Tell other threads that a shared node's result is stored, so that they leave it."""
    atomic_add64(ld64(ctx + U(TEAM)) + U(TEAM_EPOCH), U(1))


@kernel("u64(u64,i64,u64)", inline=True)
def search_sign(key, alpha, draft):
    """Return a number that identifies a search: the board by its ``key``, the window by its lower end ``alpha``, depth
    and selectivity by ``draft``.
    """
    return key ^ i2u(alpha + 64) ^ (draft << U(8))


@kernel("u64(u64,i64,u64)", inline=True)
def probcut_sign(key, alpha, draft):
    """Return a number by which a thread marks that ProbCut failed to cut in a search. The arguments are those of
    `search_sign`, whose number for the same search is another.
    """
    return ~search_sign(key, alpha, draft)


@kernel("u64(u64,u64)", inline=True)
def busy_group(ctx, sign):
    """Return the address of the `BUSY_WAYS` words in which ``sign`` may be marked."""
    return ld64(ctx + U(TEAM)) + U(TEAM_BUSY) + ((sign & U(BUSY_WORDS // BUSY_WAYS - 1)) << U(5))


@kernel("i64(u64,u64)")
def is_busy(ctx, sign):
    """Return 1 if a thread has marked ``sign`` (`mark_busy`), else 0."""
    place = busy_group(ctx, sign)
    for _ in range(BUSY_WAYS):
        if poll64(place) == sign:
            return 1
        place += U(8)
    return 0


@kernel("u64(u64,u64)")
def mark_busy(ctx, sign):
    """Mark the search, or the vain try of ProbCut, with the number ``sign`` as this thread's; return the address of the
    mark for `unmark`. If its group of words is full, an older mark is overwritten.
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
    """Remove the mark of ``sign`` at ``place`` unless another has overwritten it."""
    if poll64(place) == sign:
        post64(place, U(0))


@kernel("void(u64,i64)")
def claim(ctx, score):
    """Make ``score`` and BEST the search's result and close the search, if this thread is the first to finish it.

    Does nothing if UNWIND is set.
    """
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
