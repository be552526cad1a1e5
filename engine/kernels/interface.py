"""The kernels that Python calls."""

from desdaemon.engine.jit import kernel

from .bits import canonical_symmetry, flip, moves, symmetric


@kernel("u64(u64,u64)")
def board_moves(player, opponent):
    """The squares where ``player`` may play."""
    return moves(player, opponent)


@kernel("u64(u64,u64,u64)")
def board_flip(square, player, opponent):
    """The discs that ``player`` turns on ``square`` (0..63); 0 when the move is illegal or the square taken."""
    if ((player | opponent) >> square) & 1:
        return player ^ player
    return flip(square, player, opponent)


@kernel("u64(u64,i64)")
def board_symmetric(board, which):
    """See `bits.symmetric`."""
    return symmetric(board, which)


@kernel("i64(u64,u64)")
def board_canonical_symmetry(player, opponent):
    """See `bits.canonical_symmetry`."""
    return canonical_symmetry(player, opponent)
