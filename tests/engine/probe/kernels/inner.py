"""Entries into kernels that Python otherwise never calls."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import final_score, last_flips, popc, stack_buf
from desdaemon.engine.kernels.context import bucket_of, key_of, make_draft, probe, remember, table_answer
from desdaemon.engine.kernels.endgame import solve
from desdaemon.engine.kernels.evaluate import FEATURE_BYTES, evaluate, set_features, static_sum, update_features
from desdaemon.engine.kernels.midgame import null_window
from desdaemon.engine.kernels.ordering import odd_quadrants
from desdaemon.engine.kernels.stability import stability_bound, stable_discs

_EXACT = 5


@kernel("u64(u64,u64,u64)")
def probe_stable(player, opponent, edges):
    return stable_discs(player, opponent, edges)


@kernel("i64(u64,u64,u64)")
def probe_bound(ctx, player, opponent):
    return stability_bound(ctx, player, opponent)


@kernel("i64(u64,u64)")
def probe_last(square, player):
    return last_flips(square, player)


@kernel("i64(u64,i64)")
def probe_final(player, empties):
    return final_score(player, empties)


@kernel("i64(u64,u64,u64,i64)")
def probe_solve(ctx, player, opponent, alpha):
    empty = ~(player | opponent)
    return solve(ctx, player, opponent, alpha, empty, odd_quadrants(empty), popc(empty))


@kernel("i64(u64,u64,u64,i64,i64)")
def probe_null(ctx, player, opponent, alpha, depth):
    features = stack_buf(FEATURE_BYTES)
    set_features(player, opponent, features)
    empties = popc(~(player | opponent))
    return null_window(ctx, player, opponent, alpha, depth, _EXACT, player ^ player, empties, features)


@kernel("void(u64,u64,u64)")
def probe_features(player, opponent, target):
    set_features(player, opponent, target)


@kernel("void(u64,u64,u64,u64,u64)")
def probe_update(source, target, square, flips, side):
    update_features(source, target, square, flips, side)


@kernel("i64(u64,u64,u64,i64)")
def probe_evaluate(ctx, features, side, empties):
    return evaluate(ctx, features, side, empties)


@kernel("i64(u64,u64,u64)")
def probe_static(ctx, player, opponent):
    return static_sum(ctx, player, opponent, stack_buf(FEATURE_BYTES))


@kernel("void(u64,u64,u64,i64,i64,u64,i64,i64)")
def probe_remember(ctx, player, opponent, alpha, best, move, depth, selectivity):
    key = key_of(ctx, player, opponent)
    bucket = bucket_of(ctx, key)
    known = probe(bucket, key)
    remember(ctx, bucket, key, alpha, alpha + 1, best, move, move + move, make_draft(depth, selectivity), known)


@kernel("i64(u64,u64,u64,i64,i64,i64)")
def probe_answer(ctx, player, opponent, alpha, depth, selectivity):
    key = key_of(ctx, player, opponent)
    return table_answer(bucket_of(ctx, key), key, make_draft(depth, selectivity), alpha, alpha + 1)
