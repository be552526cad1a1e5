"""The general search: negascout over the evaluation, and the upper part of the search to the end of the game.

``ctx`` is the address of the thread's context, ``p`` and ``o`` are the discs of the mover and of the opponent.
``depth`` is in plies; a search whose depth equals the empties reads to the end, and is exact if its selectivity index
is EXACT. ``side`` (0 or 1) is the mover's side in the ``features``, an address. Scores are discs for the mover; a pass
costs no depth.

The steps of a null-window node (`search`; an open-window node, `pv_search`, has 1, 3, 4, 5, 9 and 10):

1. Count the node, limit the depth to the empties.
2. Stability: an upper bound from discs that cannot be turned any more.
3. Moves; a pass searches the other side, the end of the game has its score.
4. Transposition table: the bound of the deepest result, or of a shallower one that suffices, may decide; otherwise it
   gives the two best moves.
5. Node limit, stop, and in a shared search whether the node is still needed.
6. Enhanced transposition cutoff (ETC): the table knows a child to be bad enough for the other side.
7. ProbCut: a reduced search whose result lies far enough outside the window; in a shared search not if another thread
   has tried it in vain.
8. Internal iteration: a large node of a search to the end is searched at a lower selectivity first, with the same
   window, so that the table has moves for it and for the nodes below.
9. Moves in turn (`try_moves`): the table's first move, then the others by rank; each with a null window, opened if it
   fails inside an open window. Moves that another thread searches wait until the end, except at a node expected to
   fail high. At a node expected to fail low, the first `PART_AT_ONCE` threads of the team leave even the first move
   for later while another searches it; in an open window none does.
10. Store the result, unless the thread unwinds, and tell the team.

The nodes of `kernels.endgame` have the same numbers for their steps.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    ALL_NODE,
    BEST,
    CHECK_AT,
    CUT_NODE,
    EXACT,
    EXPECTED,
    INFINITE,
    NEVER_SHARED,
    NO_MOVE,
    NODES,
    OFF_ETC,
    OFF_EVALUATION,
    PROBCUT_DEPTHS,
    PROBCUT_FACTORS,
    PROBCUT_ONE_BITS,
    PROBCUT_ROW,
    PROBCUT_TABLE,
    PROBCUT_UNIT_BITS,
    PV_NODE,
    SAMPLED,
    SAMPLES,
    SHARE_FROM,
    STOP,
    SWITCHED_OFF,
    THREAD,
    UNWIND,
    UNWIND_ALL,
)

from .bits import (
    U,
    bit,
    blsr,
    ctz,
    final_score,
    flip,
    folded_product,
    i2u,
    ld64,
    ldi16,
    moves,
    poll64,
    prefetch,
    st64,
    stack_buf,
    u2i,
)
from .context import (
    ANSWERED,
    announce,
    bucket_of,
    check_team,
    checkpoint,
    count,
    covers,
    draft_of,
    enter_node,
    is_busy,
    key_of,
    leave_node,
    line_bucket_of,
    lower_of,
    make_draft,
    mark_busy,
    move_of,
    path_answer,
    probcut_sign,
    probe,
    remember,
    search_sign,
    second_move_of,
    second_result,
    unmark,
    upper_of,
)
from .endgame import solve
from .evaluate import FEATURE_BYTES, evaluate, update_features
from .ordering import (
    CORNER_STABILITY,
    EXACT_CORNERS,
    EXACT_MOBILITY,
    MOBILITY,
    RANKED_BYTES,
    SECOND_TABLE_MOVE_SEARCHED,
    looked_at,
    odd_quadrants,
    rank_moves,
    rank_of,
    square_of,
    turned_by,
)
from .stability import stability_bound, stability_threshold

SOLVE_TO = 12
"""Most empties at which the exact solver's lower half (`kernels.endgame`) takes over."""

LOOK_1_FROM, LOOK_2_FROM = 20, 26
"""Least depths at which moves are ordered by searches of 1 and of 2 plies instead of the evaluation."""

LOOK_SELECTIVITY = 0
"""Selectivity index of the searches that order moves: the lowest, so that deeper results of the same boards stay in the
table. These searches are shorter than `PROBCUT_FROM`, so nothing is cut in them (docs/notes/two-places.md).
"""

CHECK_TEAM_FROM = 5
"""Least depth at which a thread of a shared search checks whether its node is still needed."""

ANNOUNCE_FROM = 8
"""Least depth of nodes whose end is announced to the team; shallower ones end soon."""

PART_AT_ONCE = 4
"""Number of the team's first threads that leave the first move of a node expected to fail low to the thread that
searches it, and go on to the next moves; the other threads join it (docs/notes/threads.md).
"""

ROOT, PART_OF_ROOT, INNER = 0, 1, 2
"""Kinds of open-window nodes: the root with all its moves; the root with some left out, whose result is not stored; a
node below the root.
"""

ITERATED = ((EXACT, 21, 4), (4, 22, 2), (2, 24, 0))
"""Internal iteration of searches to the end: their selectivity index, the least depth, and the index at which a node is
searched first. Indices: 5 is 100 %, 4 99 %, 2 95 %, 0 73 % (docs/notes/internal-iteration.md).
"""

PROBCUT_FROM = 3

STAND_IN_SELECTIVITY = 1
"""Highest selectivity index (87 %) of the reduced search that ProbCut tries for a search to the end."""

_PROBCUT_ROW_BYTES = 2 * PROBCUT_ROW
_PROBCUT_MARGINS = 2 * PROBCUT_DEPTHS * _PROBCUT_ROW_BYTES
_PROBCUT_BY_EMPTIES = _PROBCUT_MARGINS + 2 * 2 * PROBCUT_FACTORS
_HALF = 1 << (PROBCUT_UNIT_BITS - 1)
_ALMOST_ONE = (1 << (2 * PROBCUT_UNIT_BITS)) - 1


@kernel("i64(u64,u64,u64,i64,u64,i64,u64)")
def search_one(ctx, p, o, alpha, side, empties, features):
    """Search one ply: return the best static score of the mover's moves, or the first above ``alpha``.

    If the mover has to pass, the opponent's moves are searched: returns the least score for the mover, or the first of
    at most ``alpha``. A finished game has its final score.
    """
    count(ctx, U(1))
    legal = moves(p, o)
    below = stack_buf(FEATURE_BYTES)
    if legal == U(0):
        legal = moves(o, p)
        if legal == U(0):
            return final_score(p, empties)
        best = INFINITE
        while legal:
            x = ctz(legal)
            legal = blsr(legal)
            update_features(features, below, x, flip(x, o, p), side ^ U(1))
            count(ctx, U(1))
            score = evaluate(ctx, below, side, empties - 1)
            if score < best:
                best = score
                if best <= alpha:
                    break
        return best
    best = -INFINITE
    while legal:
        x = ctz(legal)
        legal = blsr(legal)
        update_features(features, below, x, flip(x, p, o), side)
        count(ctx, U(1))
        score = -evaluate(ctx, below, side ^ U(1), empties - 1)
        if score > best:
            best = score
            if best > alpha:
                break
    return best


@kernel("i64(u64,u64,u64,i64,i64,i64,u64,i64,u64)")
def null_window(ctx, p, o, alpha, depth, selectivity, side, empties, features):
    """Return the score of a search of any depth with the window (alpha, alpha + 1), by the function for that depth.
    With at most SOLVE_TO empties a search to the end is exact, whatever its selectivity.
    """
    if depth >= empties and empties <= SOLVE_TO:
        empty = ~(p | o)
        return solve(ctx, p, o, alpha, empty, odd_quadrants(empty), empties)
    if depth >= 2:
        return search(ctx, p, o, alpha, depth, selectivity, side, empties, features)
    if depth == 1:
        return search_one(ctx, p, o, alpha, side, empties, features)
    count(ctx, U(1))
    return evaluate(ctx, features, side, empties)


@kernel("void(u64,u64,u64,i64,i64,i64,i64)")
def sample(reservoir, p, o, alpha, depth, selectivity, empties):
    """Record a node where ProbCut is tried. All nodes of a class (one depth, to the end of the game or not) have the
    same probability to be kept.

    ``reservoir`` is the address of 2 * PROBCUT_DEPTHS classes: by depth, first those of searches that end before the
    game does, then those of searches to the end. A class is the number of its nodes so far, and SAMPLED slots of p, o,
    alpha, selectivity index. Method R of Vitter, "Random sampling with a reservoir", ACM TOMS 11(1), with random
    numbers made from the boards.
    """
    group = reservoir + i2u(depth) * U(8 + 32 * SAMPLED)
    if depth == empties:
        group += U(PROBCUT_DEPTHS * (8 + 32 * SAMPLED))
    seen = ld64(group) + U(1)
    st64(group, seen)
    slot = seen - U(1)
    if seen > U(SAMPLED):
        slot = ((folded_product(p ^ seen, o ^ U(0x9E3779B97F4A7C15)) >> U(32)) * seen) >> U(32)
    if slot < U(SAMPLED):
        place = group + U(8) + (slot << U(5))
        st64(place, p)
        st64(place + U(8), o)
        st64(place + U(16), i2u(alpha))
        st64(place + U(24), i2u(selectivity))


@kernel("i64(u64,u64,u64,i64,i64,i64,u64,i64,u64)")
def probcut(ctx, p, o, alpha, depth, selectivity, side, empties, features):
    """Return ``alpha + 1`` if a reduced search makes a fail high likely enough, ``alpha`` if a fail low, else INFINITE.

    Multi-ProbCut: Buro, "Experiments with Multi-ProbCut and a new high-quality evaluation function for Othello", 1997.
    A reduced search is tried only if the evaluation misses the window's end by no more than a margin of its own. The
    reduced search has the selectivity index of the search that it replaces, up to STAND_IN_SELECTIVITY. For a higher
    index it has STAND_IN_SELECTIVITY to the end, where the margin matters more; before the end, where errors add up,
    the next lower index. `engine.probcut.table` describes the table at PROBCUT_TABLE. The result means nothing if
    UNWIND is set on return.
    """
    reservoir = ld64(ctx + U(SAMPLES))
    if reservoir:
        sample(reservoir, p, o, alpha, depth, selectivity, empties)
    errors = ld64(ctx + U(PROBCUT_TABLE))
    row = errors + i2u(depth * _PROBCUT_ROW_BYTES)
    factor = errors + i2u(_PROBCUT_MARGINS + selectivity * 2)
    if depth == empties:
        row += U(PROBCUT_DEPTHS * _PROBCUT_ROW_BYTES)
        factor += U(PROBCUT_FACTORS * 2)
        confidence = ldi16(factor)
    else:
        confidence = (ldi16(factor) * ldi16(errors + i2u(_PROBCUT_BY_EMPTIES + empties * 2))) >> PROBCUT_ONE_BITS
    margin = (ldi16(row) * confidence) >> PROBCUT_UNIT_BITS
    rough = (ldi16(row + U(2)) * confidence + _ALMOST_ONE) >> (2 * PROBCUT_UNIT_BITS)
    bias = ldi16(row + U(4))
    shallow = ldi16(row + U(6))
    if selectivity > STAND_IN_SELECTIVITY:
        selectivity = STAND_IN_SELECTIVITY if depth == empties else selectivity - 1
    count(ctx, U(1))
    value = evaluate(ctx, features, side, empties)
    beta = alpha + 1
    shared = i2u(depth) >= ld64(ctx + U(SHARE_FROM))
    above = beta + ((margin + bias + _HALF) >> PROBCUT_UNIT_BITS)
    if value >= beta - rough and above < 64:
        if shared:
            st64(ctx + U(EXPECTED), U(CUT_NODE))
        if null_window(ctx, p, o, above - 1, shallow, selectivity, side, empties, features) >= above:
            return beta
    below = alpha - ((margin - bias + _HALF) >> PROBCUT_UNIT_BITS)
    if value <= alpha + rough and below > -64:
        if shared:
            st64(ctx + U(EXPECTED), U(ALL_NODE))
        if null_window(ctx, p, o, below, shallow, selectivity, side, empties, features) <= below:
            return alpha
    return INFINITE


@kernel("u64(u64,u64,u64,u64,u64,i64,u64,i64,u64,u64)")
def order_moves(ctx, p, o, legal, second, depth, side, empties, features, pairs):
    """Write the pairs of words (key << 8 | square, flips) of the moves ``legal`` to the address ``pairs``, unsorted;
    the greatest key is the most promising. ``second`` is the table's second move or NO_MOVE.

    Returns the number of moves, 0 if a move takes the opponent's last disc.
    """
    below = stack_buf(FEATURE_BYTES)
    ranked = stack_buf(RANKED_BYTES)
    to_the_end = depth >= empties
    odd = odd_quadrants(~(p | o)) if to_the_end else U(0)
    mobility_shift = U(EXACT_MOBILITY) if to_the_end else U(MOBILITY)
    corner_shift = U(EXACT_CORNERS) if to_the_end else U(CORNER_STABILITY)
    look = depth >= 3 and (depth > SOLVE_TO or not to_the_end)
    if ld64(ctx + U(SWITCHED_OFF)) & U(OFF_EVALUATION):
        look = False
    n = rank_moves(p, o, legal, odd, U(NO_MOVE), U(NO_MOVE), mobility_shift, corner_shift, ranked)
    i = U(0)
    while i < n:
        ranked_key = ld64(ranked + (i << U(3)))
        x = square_of(ranked_key)
        f = turned_by(ranked, i)
        if x == second:
            key = SECOND_TABLE_MOVE_SEARCHED
        else:
            key = u2i(rank_of(ranked_key))
            if look:
                q = o ^ f
                r = p | f | bit(x)
                child_key = key_of(ctx, q, r)
                prefetch(bucket_of(ctx, child_key))
                update_features(features, below, x, f, side)
                if depth >= LOOK_2_FROM:
                    value = -pv_search(ctx, q, r, -64, 64, 2, LOOK_SELECTIVITY, side ^ U(1), empties - 1, below)
                elif depth >= LOOK_1_FROM:
                    value = -search_one(ctx, q, r, INFINITE, side ^ U(1), empties - 1, below)
                else:
                    count(ctx, U(1))
                    value = -evaluate(ctx, below, side ^ U(1), empties - 1)
                key += looked_at(value, probe(bucket_of(ctx, child_key), child_key))
        st64(pairs + (i << U(4)), (i2u(key) << U(8)) | x)
        st64(pairs + (i << U(4)) + U(8), f)
        i += U(1)
    return n


@kernel("u64(u64,u64)")
def take_best(pairs, n):
    """Swap the pair with the greatest key of the ``n`` at ``pairs`` with the last of them; return its square."""
    j = U(0)
    top = U(0)
    i = U(0)
    while i < n:
        word = ld64(pairs + (i << U(4)))
        if word > top:
            top = word
            j = i
        i += U(1)
    last = pairs + ((n - U(1)) << U(4))
    chosen = pairs + (j << U(4))
    f = ld64(chosen + U(8))
    st64(chosen, ld64(last))
    st64(chosen + U(8), ld64(last + U(8)))
    st64(last, top)
    st64(last + U(8), f)
    return top & U(63)


@kernel("i64(u64,u64,u64,u64,i64,u64)")
def transposition_cutoff(ctx, p, o, legal, alpha, below):
    """Return a lower bound above ``alpha`` if the table has one for a move of ``legal``, else -INFINITE (ETC).

    ``below`` is the draft that the entry of the position after the move must cover.
    """
    keys = stack_buf(272)
    end = keys
    while legal:
        x = ctz(legal)
        legal = blsr(legal)
        f = flip(x, p, o)
        key = key_of(ctx, o ^ f, p | f | bit(x))
        prefetch(bucket_of(ctx, key))
        st64(end, key)
        end += U(8)
    while keys < end:
        key = ld64(keys)
        data = probe(bucket_of(ctx, key), key)
        if data and covers(draft_of(data), below):
            score = -upper_of(data)
            if score > alpha:
                return score
        keys += U(8)
    return -INFINITE


@kernel("u64(u64,i64)", inline=True)
def _must_return(ctx, depth):
    """Check the node limit, the stop word and, in a shared search from `CHECK_TEAM_FROM` plies on, the team. Return
    UNWIND, which these checks may set: 0 if the search of the node goes on, else the thread has to leave the node.
    """
    if ld64(ctx + U(NODES)) >= ld64(ctx + U(CHECK_AT)):
        checkpoint(ctx)
    if poll64(ld64(ctx + U(STOP))):
        st64(ctx + U(UNWIND), U(UNWIND_ALL))
    if depth >= CHECK_TEAM_FROM and ld64(ctx + U(SHARE_FROM)) != U(NEVER_SHARED):
        check_team(ctx)
    return ld64(ctx + U(UNWIND))


@kernel("i64(u64,u64,u64,i64,i64,i64,i64,u64,i64,u64,u64,u64,u64,u64,u64)", inline=True)
def try_moves(ctx, p, o, alpha, beta, depth, selectivity, side, empties, features, legal, first, second, level, kind):
    """Return the best score of the moves ``legal`` (at least one), or the first to reach ``beta``; BEST is the move.

    ``first`` and ``second`` are the moves to try first, or NO_MOVE. ``kind`` (PV_NODE, CUT_NODE or ALL_NODE) matters in
    a shared search only. ``level`` is the node's number on the thread's path (`context.enter_node`), 0 if it is not on
    it. If it is, the score may be one that another thread has stored: BEST is then ANSWERED. If UNWIND is set on
    return, the score is the best of the finished moves, -INFINITE if no move is finished.
    """
    pairs = stack_buf(544)
    later = stack_buf(544)
    below = stack_buf(FEATURE_BYTES)
    waiting = U(0)
    resumed = U(0)
    n = U(0)
    if first != U(NO_MOVE) and legal & bit(first):
        f = flip(first, p, o)
        if f == o:
            st64(ctx + U(BEST), first)
            return 64
        st64(pairs, first)
        st64(pairs + U(8), f)
        n = U(1)
        legal ^= bit(first)
    shared = i2u(depth) >= ld64(ctx + U(SHARE_FROM))
    draft = make_draft(depth, selectivity)
    best = -INFINITE
    best_move = U(NO_MOVE)
    low = alpha
    while n or legal or resumed < waiting:
        if level:
            # Another thread may have finished the node meanwhile.
            score = path_answer(ctx, level)
            if score != INFINITE:
                best = score
                best_move = ld64(ctx + U(BEST))
                break
        if n == U(0) and legal:
            n = order_moves(ctx, p, o, legal, second, depth, side, empties, features, pairs)
            if n == U(0):
                best = 64
                best_move = wiping_move(p, o, legal)
                break
            legal = U(0)
        fresh = n > U(0)
        if fresh:
            x = take_best(pairs, n)
            n -= U(1)
            f = ld64(pairs + (n << U(4)) + U(8))
        else:
            x = ld64(later + (resumed << U(4)))
            f = ld64(later + (resumed << U(4)) + U(8))
            resumed += U(1)
        q = o ^ f
        r = p | f | bit(x)
        sign = U(0)
        mark = U(0)
        if shared and (best != -INFINITE or (kind == U(ALL_NODE) and ld64(ctx + U(THREAD)) < U(PART_AT_ONCE))):
            sign = search_sign(key_of(ctx, q, r), low, draft)
            if fresh and kind != U(CUT_NODE) and is_busy(ctx, sign):
                st64(later + (waiting << U(4)), x)
                st64(later + (waiting << U(4)) + U(8), f)
                waiting += U(1)
                continue
            mark = mark_busy(ctx, sign)
        update_features(features, below, x, f, side)
        if shared:
            st64(ctx + U(EXPECTED), U(ALL_NODE) if kind == U(CUT_NODE) else U(CUT_NODE))
        other = side ^ U(1)
        if best == -INFINITE and beta > alpha + 1:
            score = -pv_search(ctx, q, r, -beta, -low, depth - 1, selectivity, other, empties - 1, below)
        else:
            score = -null_window(ctx, q, r, -low - 1, depth - 1, selectivity, other, empties - 1, below)
            if mark:
                unmark(mark, sign)
            if score > low and score < beta and ld64(ctx + U(UNWIND)) == U(0):
                score = -pv_search(ctx, q, r, -beta, -low, depth - 1, selectivity, other, empties - 1, below)
        unwind = ld64(ctx + U(UNWIND))
        if unwind:
            if level == U(0) or unwind != level:
                break
            # Another thread has finished the node. If the table has lost its result, the move is searched again.
            st64(ctx + U(UNWIND), U(0))
            if fresh:
                st64(later + (waiting << U(4)), x)
                st64(later + (waiting << U(4)) + U(8), f)
                waiting += U(1)
            else:
                resumed -= U(1)
            continue
        if score > best:
            best = score
            best_move = x
            if score > low:
                low = score
            if score >= beta:
                break
    st64(ctx + U(BEST), best_move)
    return best


@kernel("i64(i64,i64,i64)", inline=True)
def iterated_selectivity(depth, selectivity, empties):
    """Return the selectivity index of the search that precedes a node's search at index ``selectivity`` (internal
    iteration, `ITERATED`); -1 if none does. Only a search to the end (``depth`` equals ``empties``) may have one.
    """
    if depth == empties:
        for index, fewest, lower in ITERATED:
            if selectivity == index and depth >= fewest:
                return lower
    return -1


@kernel("i64(u64,u64,u64,i64,i64,i64,u64,i64,u64)")
def search(ctx, p, o, alpha, depth, selectivity, side, empties, features):
    """Return the score of a node of two plies or more with the window (alpha, alpha + 1), by the steps in the docstring
    of `kernels.midgame`. The score means nothing if UNWIND is set on return.
    """
    # 1
    kind = ld64(ctx + U(EXPECTED))
    count(ctx, U(1))
    if depth > empties:
        depth = empties
    key = key_of(ctx, p, o)
    bucket = bucket_of(ctx, key)
    prefetch(bucket)
    # 2
    if alpha >= stability_threshold(i2u(empties)):
        score = stability_bound(ctx, p, o)
        if score <= alpha:
            return score
    # 3
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p) == U(0):
            return final_score(p, empties)
        st64(ctx + U(EXPECTED), U(CUT_NODE + ALL_NODE) - kind)
        return -search(ctx, o, p, -alpha - 1, depth, selectivity, side ^ U(1), empties, features)
    # 4
    data = probe(bucket, key)
    draft = make_draft(depth, selectivity)
    first = U(NO_MOVE)
    second = U(NO_MOVE)
    if data:
        if covers(draft_of(data), draft):
            score = lower_of(data)
            if score > alpha:
                return score
            score = upper_of(data)
            if score <= alpha:
                return score
            other = second_result(bucket, key, data, draft)
            if other:
                score = lower_of(other)
                if score > alpha:
                    return score
                score = upper_of(other)
                if score <= alpha:
                    return score
        first = move_of(data)
        second = second_move_of(data)
    # 5
    if _must_return(ctx, depth):
        return alpha
    nodes_before = ld64(ctx + U(NODES))
    # 6
    if depth > 3 and ld64(ctx + U(SWITCHED_OFF)) & U(OFF_ETC) == U(0):
        score = transposition_cutoff(ctx, p, o, legal, alpha, make_draft(depth - 1, selectivity))
        if score != -INFINITE:
            return score
    beta = alpha + 1
    shared = i2u(depth) >= ld64(ctx + U(SHARE_FROM))
    level = U(0)
    if shared:
        level = enter_node(ctx, bucket, key, draft, alpha, beta)
    # 7
    sign = probcut_sign(key, alpha, draft)
    tried = U(0)
    if selectivity < EXACT and depth >= PROBCUT_FROM and (level == U(0) or is_busy(ctx, sign) == 0):
        score = probcut(ctx, p, o, alpha, depth, selectivity, side, empties, features)
        unwind = ld64(ctx + U(UNWIND))
        if level and unwind == level:
            # Another thread has finished the node: `try_moves` finds its result.
            st64(ctx + U(UNWIND), U(0))
        elif score != INFINITE or unwind:
            if level:
                leave_node(ctx)
            return score
        elif level:
            tried = mark_busy(ctx, sign)
    # 8
    easier = iterated_selectivity(depth, selectivity, empties)
    if easier >= 0 and (data == U(0) or covers(draft_of(data), draft) == 0):
        st64(ctx + U(EXPECTED), kind)
        search(ctx, p, o, alpha, depth, easier, side, empties, features)
        # A thread that returns to a node above leaves `try_moves` at its first move.
        if level and ld64(ctx + U(UNWIND)) == level:
            st64(ctx + U(UNWIND), U(0))
        data = probe(bucket, key)
        if data:
            first = move_of(data)
            second = second_move_of(data)
    # 9
    best = try_moves(
        ctx, p, o, alpha, beta, depth, selectivity, side, empties, features, legal, first, second, level, kind
    )
    if tried:
        unmark(tried, sign)
    if level:
        leave_node(ctx)
    # 10
    best_move = ld64(ctx + U(BEST))
    if ld64(ctx + U(UNWIND)) or best_move == U(ANSWERED):
        return best
    nodes = ld64(ctx + U(NODES)) - nodes_before
    remember(ctx, bucket, key, alpha, beta, best, best_move, nodes, draft, data)
    if shared and depth >= ANNOUNCE_FROM:
        announce(ctx)
    return best


@kernel("i64(u64,u64,u64,i64,i64,i64,i64,u64,i64,u64)")
def pv_search(ctx, p, o, alpha, beta, depth, selectivity, side, empties, features):
    """Return the score of an open-window node of any depth, by the steps in the docstring of `kernels.midgame`. The
    score means nothing if UNWIND is set on return.
    """
    # 1
    count(ctx, U(1))
    if depth > empties:
        depth = empties
    if depth == 0:
        if empties == 0:
            return final_score(p, 0)
        return evaluate(ctx, features, side, empties)
    # 3
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p) == U(0):
            return final_score(p, empties)
        return -pv_search(ctx, o, p, -beta, -alpha, depth, selectivity, side ^ U(1), empties, features)
    # 4
    key = key_of(ctx, p, o)
    bucket = bucket_of(ctx, key)
    draft = make_draft(depth, selectivity)
    data = probe(bucket, key)
    first = U(NO_MOVE)
    second = U(NO_MOVE)
    if data:
        if covers(draft_of(data), draft):
            lower = lower_of(data)
            upper = upper_of(data)
            if lower >= beta or lower == upper:
                return lower
            if upper <= alpha:
                return upper
            other = second_result(bucket, key, data, draft)
            if other:
                lower = lower_of(other)
                upper = upper_of(other)
                if lower >= beta or lower == upper:
                    return lower
                if upper <= alpha:
                    return upper
        first = move_of(data)
        second = second_move_of(data)
    else:
        line = probe(line_bucket_of(ctx, key), key)
        if line:
            first = move_of(line)
            second = second_move_of(line)
    return pv_moves(ctx, p, o, alpha, beta, depth, selectivity, side, empties, features, legal, first, second, U(INNER))


@kernel("i64(u64,u64,u64,i64,i64,i64,i64,u64,i64,u64,u64,u64,u64,u64)")
def pv_moves(ctx, p, o, alpha, beta, depth, selectivity, side, empties, features, legal, first, second, place):
    """Return the best score of the moves ``legal``, at least one, of an open-window node, or the first that reaches
    ``beta``; the move is left at BEST. ``place`` is ROOT, PART_OF_ROOT or INNER.

    The result is stored in the tables, but not for PART_OF_ROOT, nor if UNWIND is set on return or BEST is ANSWERED. If
    UNWIND is set, the score is as `try_moves` says.
    """
    # 5
    if _must_return(ctx, depth):
        st64(ctx + U(BEST), U(NO_MOVE))
        return -INFINITE
    nodes_before = ld64(ctx + U(NODES))
    key = key_of(ctx, p, o)
    bucket = bucket_of(ctx, key)
    draft = make_draft(depth, selectivity)
    level = U(0)
    if place == U(INNER) and i2u(depth) >= ld64(ctx + U(SHARE_FROM)):
        level = enter_node(ctx, bucket, key, draft, alpha, beta)
    # 9
    best = try_moves(
        ctx, p, o, alpha, beta, depth, selectivity, side, empties, features, legal, first, second, level, U(PV_NODE)
    )
    if level:
        leave_node(ctx)
    # 10
    best_move = ld64(ctx + U(BEST))
    if ld64(ctx + U(UNWIND)) or best_move == U(ANSWERED):
        return best
    if place != U(PART_OF_ROOT):
        nodes = ld64(ctx + U(NODES)) - nodes_before
        remember(ctx, bucket, key, alpha, beta, best, best_move, nodes, draft, probe(bucket, key))
        bucket = line_bucket_of(ctx, key)
        remember(ctx, bucket, key, alpha, beta, best, best_move, nodes, draft, probe(bucket, key))
        if level and depth >= ANNOUNCE_FROM:
            announce(ctx)
    return best


@kernel("u64(u64,u64,u64)")
def wiping_move(p, o, legal):
    """Return the first of the moves ``legal`` that takes the last disc of ``o``; NO_MOVE if none does."""
    while legal:
        x = ctz(legal)
        if flip(x, p, o) == o:
            return x
        legal = blsr(legal)
    return U(NO_MOVE)
