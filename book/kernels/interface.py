"""The kernels of look-ups and changes: here those by which Python calls inlined kernels; by import the others."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, canonical, canonical_symmetry, flip, i2u, moves

from . import grades, graph, packed, retro, table
from .records import opponent_of, player_of


@kernel("u64(u64,u64)")
def board_moves_of(player, opponent):
    """Return a mask of the legal moves of ``player``."""
    return moves(player, opponent)


@kernel("u64(u64,u64,u64)")
def board_flips_of(square, player, opponent):
    """Return a mask of the discs that ``player`` turns by a move on an empty ``square``; 0 if the move is illegal."""
    return flip(square, player, opponent)


@kernel("i64(u64,u64,u64)")
def canonical_of(player, opponent, out):
    """Write the canonical position as two words to ``out``; return the symmetry (0..7) that leads to it."""
    canonical(player, opponent, out)
    return canonical_symmetry(player, opponent)


@kernel("i64(u64,i64,u64)")
def canonicalise(keys, count, stride):
    """Make ``count`` pairs (player, opponent), at ``keys`` and every ``stride`` bytes after it, canonical in place.
    Returns the number of pairs that changed.
    """
    changed = 0
    k = U(0)
    while k < i2u(count):
        pair = keys + k * stride
        p = player_of(pair)
        o = opponent_of(pair)
        canonical(p, o, pair)
        if player_of(pair) != p or opponent_of(pair) != o:
            changed += 1
        k += U(1)
    return changed


__all__ = [
    "board_flips_of",
    "board_moves_of",
    "canonical_of",
    "canonicalise",
    "grades",
    "graph",
    "packed",
    "retro",
    "table",
]
