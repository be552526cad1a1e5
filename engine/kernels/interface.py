"""Exported kernels: most of the functions that Python calls (`engine.exports` lists all).

``ctx`` is the address of the thread's context (`engine.layout`), ``p`` and ``o`` the mover's and the opponent's discs.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    BEST,
    DATE,
    EPOCH_SEEN,
    EXACT,
    HOOK,
    HOOK_SLEEP,
    HOOK_WAIT,
    HOOK_WAKE,
    JOB,
    LEAVE,
    NEVER_SHARED,
    NO_MOVE,
    PATH_LENGTH,
    SHARE_FROM,
    SPINS,
    STOP,
    TEAM,
    TEAM_ACTIVE,
    TEAM_BEST,
    TEAM_CLAIMED,
    TEAM_EPOCH,
    TEAM_OPEN,
    TEAM_ROOT,
    TEAM_SCORE,
    TEAM_SHARE_FROM,
    TEAM_SLEEPERS,
    THREAD,
    UNWIND,
)

from .bits import (
    U,
    agreed64,
    atomic_add64,
    blsr,
    call_hook,
    canonical,
    canonical_symmetry,
    ctz,
    exchange64,
    final_score,
    flip,
    i2u,
    ld64,
    lds64,
    moves,
    poll64,
    popc,
    st64,
    stack_buf,
    sts64,
    symmetric,
)
from .context import (
    bucket_of,
    claim,
    close_search,
    count,
    covers,
    draft_of,
    entry,
    key_of,
    line_bucket_of,
    lower_of,
    make_draft,
    move_of,
    probe,
    put,
    second_move_of,
    second_result,
    upper_of,
)
from .evaluate import FEATURE_BYTES, evaluate, set_features, static_sum, update_features
from .midgame import PART_OF_ROOT, ROOT, pv_moves


@kernel("u64(u64,u64)")
def board_moves(player, opponent):
    """Return a mask of the legal moves of ``player``."""
    return moves(player, opponent)


@kernel("u64(u64,u64,u64)")
def board_flip(square, player, opponent):
    """Return a mask of the discs that ``player`` turns by a move on ``square``; 0 if the move is illegal."""
    if ((player | opponent) >> square) & 1:
        return player ^ player
    return flip(square, player, opponent)


@kernel("u64(u64,i64)")
def board_symmetric(board, which):
    """Return the board under symmetry ``which``: bit 0 mirrors columns, bit 1 rows, then bit 2 transposes."""
    return symmetric(board, which)


@kernel("i64(u64,u64)")
def board_canonical_symmetry(player, opponent):
    """Return the first symmetry (0..7) that makes the position canonical: the smallest of its eight images."""
    return canonical_symmetry(player, opponent)


@kernel("i64(u64,u64)")
def board_has_symmetry(player, opponent):
    """Return 1 if the position, mirrored or turned, is the same position again, else 0."""
    for which in range(1, 8):
        if symmetric(player, which) == player and symmetric(opponent, which) == opponent:
            return 1
    return 0


@kernel("i64(u64,u64,u64,i64,i64,i64,i64,u64,u64)")
def search_root(ctx, p, o, alpha, beta, depth, selectivity, allowed, hint):
    """Return the best score, in discs for the mover, of the moves in the mask ``allowed``, at least one of them legal;
    the move is left at BEST.

    A score outside the window (alpha, beta) is a bound. ``depth`` is in plies, and means the empties if it is more;
    ``selectivity`` is an index. ``hint`` (a square or NO_MOVE) is searched first if it is allowed. Depth 0 gives the
    static evaluation and no move. If UNWIND is set on return, the score is the best of the finished moves, -INFINITE if
    no move is finished.
    """
    st64(ctx + U(UNWIND), U(0))
    st64(ctx + U(PATH_LENGTH), U(0))
    features = stack_buf(FEATURE_BYTES)
    set_features(p, o, features)
    empties = 64 - popc(p | o)
    st64(ctx + U(BEST), U(NO_MOVE))
    if depth > empties:
        depth = empties
    if depth == 0:
        count(ctx, U(1))
        return evaluate(ctx, features, U(0), empties)
    legal = moves(p, o)
    place = U(ROOT)
    if legal & ~allowed:
        place = U(PART_OF_ROOT)
    legal &= allowed
    first = hint
    second = U(NO_MOVE)
    key = key_of(ctx, p, o)
    data = probe(bucket_of(ctx, key), key)
    if data:
        second = move_of(data)
        if first == U(NO_MOVE):
            first = second
            second = second_move_of(data)
    return pv_moves(ctx, p, o, alpha, beta, depth, selectivity, U(0), empties, features, legal, first, second, place)


@kernel("i64(u64,u64,u64,i64,i64,i64,i64,u64,u64)")
def lead_root(ctx, p, o, alpha, beta, depth, selectivity, allowed, hint):
    """Search as `search_root` does, with all threads of the team; the first thread to finish gives the result.

    Returns when no helper is left in the search. If it was stopped before a thread finished, this thread's result is
    given.
    """
    team = ld64(ctx + U(TEAM))
    root = team + U(TEAM_ROOT)
    st64(root, p)
    st64(root + U(8), o)
    sts64(root + U(16), alpha)
    sts64(root + U(24), beta)
    sts64(root + U(32), depth)
    sts64(root + U(40), selectivity)
    st64(root + U(48), allowed)
    st64(root + U(56), hint)
    st64(team + U(TEAM_CLAIMED), U(0))
    st64(ctx + U(SHARE_FROM), ld64(team + U(TEAM_SHARE_FROM)))
    st64(ctx + U(EPOCH_SEEN), poll64(team + U(TEAM_EPOCH)))
    job = ld64(ctx + U(JOB)) + U(1)
    st64(ctx + U(JOB), job)
    exchange64(team + U(TEAM_OPEN), job)
    if agreed64(team + U(TEAM_SLEEPERS)):
        call_hook(ld64(ctx + U(HOOK)), HOOK_WAKE, ld64(ctx + U(THREAD)))
    score = search_root(ctx, p, o, alpha, beta, depth, selectivity, allowed, hint)
    claim(ctx, score)
    close_search(team)
    st64(ctx + U(SHARE_FROM), U(NEVER_SHARED))
    looks = U(0)
    while agreed64(team + U(TEAM_ACTIVE)):
        looks += U(1)
        if looks >= ld64(ctx + U(SPINS)):
            call_hook(ld64(ctx + U(HOOK)), HOOK_WAIT, ld64(ctx + U(THREAD)))
    if ld64(team + U(TEAM_CLAIMED)):
        st64(ctx + U(UNWIND), U(0))
        st64(ctx + U(BEST), ld64(team + U(TEAM_BEST)))
        score = lds64(team + U(TEAM_SCORE))
    return score


@kernel("void(u64)")
def help_team(ctx):
    """Take part in the searches of the team's leader; return when LEAVE is set."""
    team = ld64(ctx + U(TEAM))
    root = team + U(TEAM_ROOT)
    st64(ctx + U(JOB), U(0))
    looks = U(0)
    while poll64(ctx + U(LEAVE)) == U(0):
        job = agreed64(team + U(TEAM_OPEN))
        if job and job != ld64(ctx + U(JOB)):
            looks = U(0)
            st64(ctx + U(JOB), job)
            atomic_add64(team + U(TEAM_ACTIVE), U(1))
            st64(ctx + U(EPOCH_SEEN), agreed64(team + U(TEAM_EPOCH)))
            # The leader reads TEAM_ACTIVE after it has closed the search, so this thread finds the search open or does
            # not enter it. The epoch was read before, so the one that the closing raises is another.
            if agreed64(team + U(TEAM_OPEN)) == job:
                st64(ctx + U(SHARE_FROM), ld64(team + U(TEAM_SHARE_FROM)))
                score = search_root(
                    ctx,
                    ld64(root),
                    ld64(root + U(8)),
                    lds64(root + U(16)),
                    lds64(root + U(24)),
                    lds64(root + U(32)),
                    lds64(root + U(40)),
                    ld64(root + U(48)),
                    ld64(root + U(56)),
                )
                claim(ctx, score)
            atomic_add64(team + U(TEAM_ACTIVE), ~U(0))
        elif looks < ld64(ctx + U(SPINS)):
            looks += U(1)
        else:
            looks = U(0)
            # The hook looks once more: the leader opens a search before it reads TEAM_SLEEPERS.
            atomic_add64(team + U(TEAM_SLEEPERS), U(1))
            call_hook(ld64(ctx + U(HOOK)), HOOK_SLEEP, ld64(ctx + U(THREAD)))
            atomic_add64(team + U(TEAM_SLEEPERS), ~U(0))


@kernel("u64(u64,u64,u64,i64,i64)")
def known_move(ctx, p, o, depth, selectivity):
    """Return the best move of (p, o) if the table at PV_TABLE or the transposition table has an exact score (equal
    bounds) of at least this depth and selectivity, else NO_MOVE.
    """
    draft = make_draft(depth, selectivity)
    key = key_of(ctx, p, o)
    for place in range(2):
        bucket = line_bucket_of(ctx, key) if place == 0 else bucket_of(ctx, key)
        data = probe(bucket, key)
        if data and covers(draft_of(data), draft):
            if lower_of(data) == upper_of(data):
                return move_of(data)
            data = second_result(bucket, key, data, draft)
            if data and lower_of(data) == upper_of(data):
                return move_of(data)
    return U(NO_MOVE)


@kernel("void(u64,u64,u64,i64,i64,i64,u64)")
def feed_score(ctx, p, o, score, depth, selectivity, move):
    """Store an exact score, in discs for the mover, and a move (a square or NO_MOVE) in the table, as if a search to
    this depth and selectivity had found them.
    """
    key = key_of(ctx, p, o)
    data = entry(score, score, move, U(NO_MOVE), i2u(depth), ld64(ctx + U(DATE)), make_draft(depth, selectivity))
    put(bucket_of(ctx, key), key, data)


@kernel("i64(u64,u64,u64)")
def static_score(ctx, p, o):
    """Return the unrounded evaluation for the mover, in 128ths of a disc."""
    return static_sum(ctx, p, o, stack_buf(FEATURE_BYTES))


@kernel("i64(u64,u64,u64,i64,i64,i64)")
def score_around(ctx, p, o, depth, selectivity, guess):
    """Return the score of (p, o), which has a legal move, by windows that widen around ``guess``; both are discs for
    the mover. The score means nothing once the stop word is set.
    """
    width = 3
    low = guess - width
    high = guess + width
    failed = 0
    while True:
        if low < -64 or failed == 3:
            low = -64
        if high > 64 or failed == 3:
            high = 64
        score = search_root(ctx, p, o, low, high, depth, selectivity, ~U(0), U(NO_MOVE))
        width *= 3
        if score <= low and low > -64:
            failed |= 1
            low = score - width
            high = score + 1
        elif score >= high and high < 64:
            failed |= 2
            high = score + width
            low = score - 1
        else:
            return score


@kernel("i64(u64,u64,u64,i64,i64)")
def deepened_score(ctx, p, o, depth, selectivity):
    """Return the score of (p, o), in discs for the mover, by iterative deepening to ``depth`` plies or the end of the
    game. If the last iteration goes to the end, those before it have selectivity index 0. A side without a move passes;
    a finished game has its final score. Other scores mean nothing once the stop word is set.
    """
    if moves(p, o) == U(0):
        if moves(o, p) == U(0):
            return final_score(p, 64 - popc(p | o))
        return -deepened_score(ctx, o, p, depth, selectivity)
    empties = 64 - popc(p | o)
    steps = depth
    if depth >= empties:
        steps = empties - 7
        depth = empties
    guess = search_root(ctx, p, o, -64, 64, 0, EXACT, ~U(0), U(NO_MOVE))
    step = 2 - (steps & 1)
    while step <= steps and step < depth:
        percent = selectivity
        if depth == empties:
            percent = 0
        guess = score_around(ctx, p, o, step, percent, guess)
        step += 2
    return score_around(ctx, p, o, depth, selectivity, guess)


@kernel("void(u64,u64,u64,u64,i64,i64,i64)")
def score_many(ctx, players, opponents, scores, number, depth, selectivity):
    """Write `deepened_score` of ``number`` positions to ``scores``; the arrays are addresses of 64-bit words.

    When the stop word is set, scores not yet written are left as they were.
    """
    for k in range(number):
        place = i2u(k) << U(3)
        score = deepened_score(ctx, ld64(players + place), ld64(opponents + place), depth, selectivity)
        if poll64(ld64(ctx + U(STOP))):
            return
        sts64(scores + place, score)


@kernel("void(u64,u64,u64,u64,i64)")
def static_many(ctx, players, opponents, scores, number):
    """Write `static_score` of ``number`` positions to ``scores``; the arrays are addresses of 64-bit words."""
    for k in range(number):
        place = i2u(k) << U(3)
        sts64(scores + place, static_score(ctx, ld64(players + place), ld64(opponents + place)))


@kernel("i64(u64,u64,u64,i64)")
def evaluate_often(ctx, p, o, number):
    """Make ``number`` single moves from (p, o), its legal moves in turn, each with flips, features and evaluation. At
    least one move must be legal.

    Returns the sum of the scores, so that the measured work is not optimised away.
    """
    features = stack_buf(FEATURE_BYTES)
    below = stack_buf(FEATURE_BYTES)
    set_features(p, o, features)
    empties = 64 - popc(p | o)
    legal = moves(p, o)
    left = legal
    total = 0
    for _ in range(number):
        if left == U(0):
            left = legal
        x = ctz(left)
        left = blsr(left)
        update_features(features, below, x, flip(x, p, o), U(0))
        total += evaluate(ctx, below, U(1), empties - 1)
    return total


@kernel("void(u64,u64,i64)")
def boards_canonical(players, opponents, number):
    """Replace each of ``number`` boards by the smallest of its eight images; ``players`` and ``opponents`` are
    addresses of their words.
    """
    board = stack_buf(16)
    for place in range(number):
        offset = i2u(place) << U(3)
        canonical(ld64(players + offset), ld64(opponents + offset), board)
        st64(players + offset, ld64(board))
        st64(opponents + offset, ld64(board + U(8)))
