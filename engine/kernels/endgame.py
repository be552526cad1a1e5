"""The exact solver's lower half: null-window searches to the end of the game, with up to about 12 empties.

``ctx`` is the address of the thread's context, ``p`` and ``o`` are the discs of the side to move and of the other.
Scores are final disc differences for the side to move; ``alpha`` asks "more than alpha?" (the window is [alpha, alpha +
1]); all searches are fail-soft. ``empty`` is the mask of empty squares, ``odd`` that of quadrants with an odd number of
them. 1 to 4 empties are written out; with 5 moves are ordered by quadrant parity, from 6 on by the opponent's mobility.
With 6 there is a small table of bounds, above that a transposition table, from `ETC_FROM` on enhanced transposition
cutoff. The numbers in `solve_with_table` are those of the steps in `kernels.midgame`.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    EXACT,
    INFINITE,
    LOCAL_TABLE,
    NO_MOVE,
    NODES,
    OFF_ETC,
    SIX_BOUNDS,
    SIX_BOUNDS_NUMBER,
    STOP,
    SWITCHED_OFF,
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
    i2u,
    last_flips,
    ld64,
    moves,
    neighbours,
    poll64,
    popc,
    prefetch,
    st64,
    stack_buf,
    u2i,
)
from .context import (
    count,
    covers,
    draft_of,
    exact_bucket_of,
    key_of,
    lower_of,
    make_draft,
    move_of,
    probe,
    remember,
    second_move_of,
    upper_of,
)
from .ordering import (
    RANKED_BYTES,
    SOLVER_CORNERS,
    SOLVER_MOBILITY,
    quadrant,
    rank_by_mobility,
    rank_moves,
    replies_to,
    row_of,
    square_of,
    take_greatest,
    turned_by,
)
from .stability import stability_bound, stability_threshold

ETC_FROM = 9
POLL_FROM = 9
"""Least empties of nodes that read the stop word."""
_CORNERS_AND_REST = 0xFFBDFFFFFFFFBDFF


@kernel("i64(u64,i64,u64)", inline=True)
def solve1(p, alpha, x):
    """Return the score of a board whose only empty square is ``x``, an upper bound if it is at most ``alpha``. Turned
    discs are only counted, no board is made.
    """
    score = 2 * popc(p) - 62
    turned = last_flips(x, p)
    if turned:
        return score + turned
    if score <= 0:
        score -= 2
        if score > alpha:
            score -= last_flips(x, ~p)
    elif score > alpha:
        turned = last_flips(x, ~p)
        if turned:
            score -= turned + 2
    return score


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def solve2(ctx, p, o, alpha, x1, x2):
    nodes = 1
    if neighbours(x1) & o:
        f = flip(x1, p, o)
        if f:
            nodes = 2
            best = -solve1(o ^ f, -alpha - 1, x2)
            if best <= alpha and neighbours(x2) & o:
                f = flip(x2, p, o)
                if f:
                    nodes = 3
                    score = -solve1(o ^ f, -alpha - 1, x1)
                    if score > best:
                        best = score
            count(ctx, i2u(nodes))
            return best
    if neighbours(x2) & o:
        f = flip(x2, p, o)
        if f:
            count(ctx, U(2))
            return -solve1(o ^ f, -alpha - 1, x1)
    if neighbours(x1) & p:
        f = flip(x1, o, p)
        if f:
            nodes = 2
            best = solve1(p ^ f, alpha, x2)
            if best > alpha and neighbours(x2) & p:
                f = flip(x2, o, p)
                if f:
                    nodes = 3
                    score = solve1(p ^ f, alpha, x1)
                    if score < best:
                        best = score
            count(ctx, i2u(nodes))
            return best
    if neighbours(x2) & p:
        f = flip(x2, o, p)
        if f:
            count(ctx, U(2))
            return solve1(p ^ f, alpha, x1)
    count(ctx, U(1))
    return final_score(p, 2)


@kernel("i64(u64,u64,u64,i64,u64,u64,u64)", inline=True)
def _best_of_three(ctx, p, o, alpha, x1, x2, x3):
    """Return the best score of the moves on three empty squares, or the first above ``alpha``; -INFINITE if no
    move is legal.
    """
    best = -INFINITE
    if neighbours(x1) & o:
        f = flip(x1, p, o)
        if f:
            best = -solve2(ctx, o ^ f, p | f | bit(x1), -alpha - 1, x2, x3)
            if best > alpha:
                return best
    if neighbours(x2) & o:
        f = flip(x2, p, o)
        if f:
            score = -solve2(ctx, o ^ f, p | f | bit(x2), -alpha - 1, x1, x3)
            if score > alpha:
                return score
            if score > best:
                best = score
    if neighbours(x3) & o:
        f = flip(x3, p, o)
        if f:
            score = -solve2(ctx, o ^ f, p | f | bit(x3), -alpha - 1, x1, x2)
            if score > best:
                best = score
    return best


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def solve3(ctx, p, o, alpha, empty, odd):
    count(ctx, U(1))
    # One or all of three squares are in odd quadrants: after the first of these the other squares are alike.
    first = empty & odd
    x1 = ctz(first)
    rest = empty ^ bit(x1)
    x2 = ctz(rest)
    x3 = ctz(blsr(rest))
    best = _best_of_three(ctx, p, o, alpha, x1, x2, x3)
    if best != -INFINITE:
        return best
    best = _best_of_three(ctx, o, p, -alpha - 1, x1, x2, x3)
    if best != -INFINITE:
        return -best
    return final_score(p, 3)


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def solve4(ctx, p, o, alpha, empty, odd):
    count(ctx, U(1))
    if alpha >= stability_threshold(U(4)):
        score = stability_bound(ctx, p, o)
        if score <= alpha:
            return score
    for passed in range(2):
        best = -INFINITE
        left = empty
        while left:
            # Chosen without a branch, because it is unpredictable.
            first = left & odd
            if first == U(0):
                first = left
            x = ctz(first)
            here = bit(x)
            left ^= here
            if neighbours(x) & o:
                f = flip(x, p, o)
                if f:
                    score = -solve3(ctx, o ^ f, p | f | here, -alpha - 1, empty ^ here, odd ^ quadrant(x))
                    if score > alpha:
                        return -score if passed else score
                    if score > best:
                        best = score
        if best != -INFINITE:
            return -best if passed else best
        p, o = o, p
        alpha = -alpha - 1
    return final_score(p, 4)


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def solve5(ctx, p, o, alpha, legal, odd):
    """Return the score with 5 empties, given the mover's ``legal`` moves: those in odd quadrants are tried first, among
    them and among the others X-squares last.
    """
    count(ctx, U(1))
    if alpha >= stability_threshold(U(5)):
        score = stability_bound(ctx, p, o)
        if score <= alpha:
            return score
    if legal == U(0):
        legal = moves(o, p)
        if legal == U(0):
            return final_score(p, 5)
        return -solve5(ctx, o, p, -alpha - 1, legal, odd)
    best = -INFINITE
    while legal:
        # Chosen without a branch, because it is unpredictable.
        first = legal & odd & U(_CORNERS_AND_REST)
        if first == U(0):
            first = legal & odd
        if first == U(0):
            first = legal & U(_CORNERS_AND_REST)
        if first == U(0):
            first = legal
        x = ctz(first)
        here = bit(x)
        legal ^= here
        f = flip(x, p, o)
        q = o ^ f
        r = p | f | here
        score = -solve4(ctx, q, r, -alpha - 1, ~(q | r), odd ^ quadrant(x))
        if score > alpha:
            return score
        if score > best:
            best = score
    return best


_BOUNDS_BITS = 16
"""Bits of a word of bounds with 6 empties: lower + 64, then 64 - upper, a byte each. The other bits are the key's."""


@kernel("i64(u64,u64,u64,i64,u64,u64)")
def solve6(ctx, p, o, alpha, legal, odd):
    """Return the score with 6 empties, given the mover's ``legal`` moves: those that leave the opponent the fewest
    replies are tried first.

    The thread remembers bounds, a word a board, the last board of those that share a place. A word of 0 bounds nothing.
    Its place and its bits of the key tell boards apart but for a chance of 2**-60.
    """
    count(ctx, U(1))
    key = key_of(ctx, p, o)
    place = ld64(ctx + U(LOCAL_TABLE)) + U(SIX_BOUNDS) + ((key & U(SIX_BOUNDS_NUMBER - 1)) << U(3))
    prefetch(place)
    if alpha >= stability_threshold(U(6)):
        score = stability_bound(ctx, p, o)
        if score <= alpha:
            return score
    if legal == U(0):
        legal = moves(o, p)
        if legal == U(0):
            return final_score(p, 6)
        return -solve6(ctx, o, p, -alpha - 1, legal, odd)
    lower = -64
    upper = 64
    bounds = ld64(place)
    if (bounds ^ key) >> U(_BOUNDS_BITS) == U(0):
        lower = u2i(bounds & U(255)) - 64
        if lower > alpha:
            return lower
        upper = 64 - u2i((bounds >> U(8)) & U(255))
        if upper <= alpha:
            return upper
    ranked = stack_buf(RANKED_BYTES)
    n = rank_by_mobility(p, o, legal, odd, ranked)
    if n == U(0):
        return 64
    best = -INFINITE
    rest = n
    while rest:
        top = take_greatest(ranked, n)
        rest -= U(1)
        x = square_of(top)
        f = turned_by(ranked, row_of(top))
        replies = replies_to(ranked, row_of(top))
        score = -solve5(ctx, o ^ f, p | f | bit(x), -alpha - 1, replies, odd ^ quadrant(x))
        if score > best:
            best = score
            if score > alpha:
                break
    if best > alpha:
        lower = best
    else:
        upper = best
    st64(place, ((key >> U(_BOUNDS_BITS)) << U(_BOUNDS_BITS)) | i2u(lower + 64) | (i2u(64 - upper) << U(8)))
    return best


@kernel("i64(u64,u64,u64,i64,u64,u64,i64)")
def solve_with_table(ctx, p, o, alpha, legal, odd, empties):
    """Return the score with 7 empties or more, by the table, stability, enhanced transposition cutoff and
    mobility ordering.

    ``legal`` are the mover's moves, which the parent has computed to order its own. The score means nothing if UNWIND
    is set on return.
    """
    # 1
    count(ctx, U(1))
    key = key_of(ctx, p, o)
    bucket = exact_bucket_of(ctx, key, empties)
    prefetch(bucket)
    # 2
    if alpha >= stability_threshold(i2u(empties)):
        score = stability_bound(ctx, p, o)
        if score <= alpha:
            return score
    # 3
    if legal == U(0):
        legal = moves(o, p)
        if legal == U(0):
            return final_score(p, empties)
        return -solve_with_table(ctx, o, p, -alpha - 1, legal, odd, empties)
    # 4
    data = probe(bucket, key)
    draft = make_draft(empties, EXACT)
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
        first = move_of(data)
        second = second_move_of(data)
    # 5
    if empties >= POLL_FROM:
        if poll64(ld64(ctx + U(STOP))):
            st64(ctx + U(UNWIND), U(UNWIND_ALL))
        if ld64(ctx + U(UNWIND)):
            return alpha
    nodes_before = ld64(ctx + U(NODES))
    look_ahead = empties >= ETC_FROM and ld64(ctx + U(SWITCHED_OFF)) & U(OFF_ETC) == U(0)
    ranked = stack_buf(RANKED_BYTES)
    n = rank_moves(p, o, legal, odd, first, second, U(SOLVER_MOBILITY), U(SOLVER_CORNERS), ranked)
    if n == U(0):
        return 64
    # 6
    if look_ahead:
        below = make_draft(empties - 1, EXACT)
        i = U(0)
        while i < n:
            f = turned_by(ranked, i)
            below_key = key_of(ctx, o ^ f, p | f | bit(square_of(ld64(ranked + (i << U(3))))))
            child = probe(exact_bucket_of(ctx, below_key, empties - 1), below_key)
            if child and covers(draft_of(child), below):
                score = -upper_of(child)
                if score > alpha:
                    return score
            i += U(1)
    # 9
    best = -INFINITE
    best_move = U(NO_MOVE)
    rest = n
    while rest:
        top = take_greatest(ranked, n)
        rest -= U(1)
        x = square_of(top)
        f = turned_by(ranked, row_of(top))
        q = o ^ f
        r = p | f | bit(x)
        replies = replies_to(ranked, row_of(top))
        if empties == 7:
            score = -solve6(ctx, q, r, -alpha - 1, replies, odd ^ quadrant(x))
        else:
            score = -solve_with_table(ctx, q, r, -alpha - 1, replies, odd ^ quadrant(x), empties - 1)
            if ld64(ctx + U(UNWIND)):
                return alpha
        if score > best:
            best = score
            best_move = x
            if score > alpha:
                break
    # 10
    remember(ctx, bucket, key, alpha, alpha + 1, best, best_move, ld64(ctx + U(NODES)) - nodes_before, draft, data)
    return best


@kernel("i64(u64,u64,u64,i64,u64,u64,i64)")
def solve(ctx, p, o, alpha, empty, odd, empties):
    """Return the score of a search to the end, by the function for the number of ``empties``. It is meant for few of
    them, since it orders moves without an evaluation; `midgame.null_window` searches more. The score means nothing if
    UNWIND is set on return.
    """
    if empties >= 7:
        return solve_with_table(ctx, p, o, alpha, moves(p, o), odd, empties)
    if empties == 6:
        return solve6(ctx, p, o, alpha, moves(p, o), odd)
    if empties == 5:
        return solve5(ctx, p, o, alpha, moves(p, o), odd)
    if empties == 4:
        return solve4(ctx, p, o, alpha, empty, odd)
    if empties == 3:
        return solve3(ctx, p, o, alpha, empty, odd)
    if empties == 2:
        return solve2(ctx, p, o, alpha, ctz(empty), ctz(blsr(empty)))
    count(ctx, U(1))
    if empties == 1:
        return solve1(p, alpha, ctz(empty))
    return final_score(p, 0)
