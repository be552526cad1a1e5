"""The kernels that Python calls: those of the other modules here, and a few that wrap inlined ones."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, canonical, canonical_symmetry, flip, i2u, moves

from . import dat, graph, imports, leaves, negamax, reports, retro, table, walks
from .records import opponent_of, player_of


@kernel("u64(u64,u64)")
def board_moves_of(player, opponent):
    """Return the squares where ``player`` may play."""
    return moves(player, opponent)


@kernel("u64(u64,u64,u64)")
def board_flips_of(square, player, opponent):
    """Return the discs that ``player`` turns on an empty ``square``; 0 when the move is illegal."""
    return flip(square, player, opponent)


@kernel("i64(u64,u64,u64)")
def canonical_of(player, opponent, out):
    """Store the canonical pair at ``out``; return the symmetry that leads to it."""
    canonical(player, opponent, out)
    return canonical_symmetry(player, opponent)


@kernel("i64(u64,i64,u64)")
def canonicalise(keys, count, stride):
    """Make ``count`` (player, opponent) pairs, ``stride`` bytes apart, canonical in place; return the number of pairs
    changed.
    """
    changed = 0
    k = U(0)
    while k < i2u(count):
        at = keys + k * stride
        p = player_of(at)
        o = opponent_of(at)
        canonical(p, o, at)
        if player_of(at) != p or opponent_of(at) != o:
            changed += 1
        k += U(1)
    return changed


__all__ = [
    "board_flips_of",
    "board_moves_of",
    "canonical_of",
    "canonicalise",
    "dat",
    "graph",
    "imports",
    "leaves",
    "negamax",
    "reports",
    "retro",
    "table",
    "walks",
]
