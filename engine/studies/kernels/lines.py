"""Lines of play with a Stoner at their end, and random games with the discs that their moves turn.

A Stoner, as it is counted here: a move to a square diagonally next to an empty corner that the opponent cannot take.
On an edge from that corner the next square is empty, the third is the mover's, the last but one the opponent's and
the other corner empty; of the squares from the third to the last but one just one is empty. The mover can play there
next and then attacks the other corner; the opponent can take neither corner, and after any answer the mover takes one
of them.

The contexts of `stoners_after` and `random_games` are in `engine.studies.layout`.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, bit, blsr, ctz, flip, i2u, ld64, lds64, moves, popc, st8, st64, sts64, u2i
from desdaemon.engine.studies.layout import (
    FLIP_COLUMNS,
    STONER_CAPACITY,
    STONER_LINES,
    STONER_MOVES,
    STONER_PLAYED,
    STONERS_FOUND,
)

X_SQUARES = 0x0042000000004200


@kernel("u64(i64,i64)", inline=True)
def square_at(file, rank):
    """The mask of a square."""
    return bit(i2u(8 * rank + file))


@kernel("i64(u64,u64,u64,i64,i64,i64,i64)")
def attacks_edge(mover, other, replies, file, rank, right, down):
    """Whether the edge from the corner (``file``, ``rank``) in a direction is one that the mover can attack as above.

    The opponent has the move and the moves ``replies``.
    """
    corner = square_at(file, rank)
    near = square_at(file + right, rank + down)
    third = square_at(file + 2 * right, rank + 2 * down)
    last = square_at(file + 6 * right, rank + 6 * down)
    far = square_at(file + 7 * right, rank + 7 * down)
    both = mover | other
    if both & (near | far) != U(0) or other & last == U(0) or mover & third == U(0) or replies & far != U(0):
        return 0
    gap = U(0)
    for k in range(3, 6):
        square = square_at(file + k * right, rank + k * down)
        if both & square == U(0):
            if gap != U(0):
                return 0
            gap = square
    threats = moves(mover, other)
    if gap == U(0) or threats & gap == U(0) or threats & far != U(0):
        return 0
    f = flip(ctz(gap), mover, other)
    mover = mover | f | gap
    other = other & ~f
    if moves(mover, other) & far == U(0):
        return 0
    answers = moves(other, mover)
    if answers & (corner | far) != U(0):
        return 0
    while answers != U(0):
        x = ctz(answers)
        answers = blsr(answers)
        f = flip(x, other, mover)
        if moves(mover & ~f, other | f | bit(x)) & (corner | far) == U(0):
            return 0
    return 1


@kernel("i64(u64,u64,u64)")
def stoner_by(mover, other, square):
    """Whether the move to ``square`` that has just been made, ``other`` being to move, is a Stoner."""
    file = u2i(square & U(7))
    rank = u2i(square >> U(3))
    if bit(square) & U(X_SQUARES) == U(0):
        return 0
    right = 1
    down = 1
    if file == 6:
        file = 7
        right = -1
    else:
        file = 0
    if rank == 6:
        rank = 7
        down = -1
    else:
        rank = 0
    replies = moves(other, mover)
    if ((mover | other) | replies) & square_at(file, rank) != U(0):
        return 0
    if attacks_edge(mover, other, replies, file, rank, right, 0) != 0:
        return 1
    return attacks_edge(mover, other, replies, file, rank, 0, down)


@kernel("i64(u64,u64,i64,u64)")
def stoners_after(player, opponent, left, context):
    """The number of lines of exactly ``left`` more moves, passes not counted, whose last move is a Stoner; each is
    recorded.
    """
    m = moves(player, opponent)
    if m == U(0):
        if moves(opponent, player) == U(0):
            return 0
        p = player
        player = opponent
        opponent = p
        m = moves(player, opponent)
    if left == 1:
        m &= U(X_SQUARES)
    played = lds64(context + U(STONER_PLAYED))
    found = 0
    while m != U(0):
        x = ctz(m)
        m = blsr(m)
        f = flip(x, player, opponent)
        mover = player | f | bit(x)
        other = opponent ^ f
        st8(context + U(STONER_MOVES) + i2u(played), u2i(x))
        if left > 1:
            sts64(context + U(STONER_PLAYED), played + 1)
            found += stoners_after(other, mover, left - 1, context)
            sts64(context + U(STONER_PLAYED), played)
        elif stoner_by(mover, other, x) != 0:
            number = lds64(context + U(STONERS_FOUND))
            if number < lds64(context + U(STONER_CAPACITY)):
                to = ld64(context + U(STONER_LINES)) + (i2u(number) << U(6))
                for word in range(8):
                    st64(to + (i2u(word) << U(3)), ld64(context + U(STONER_MOVES) + (i2u(word) << U(3))))
                st8(to + U(63), played + 1)
            sts64(context + U(STONERS_FOUND), number + 1)
            found += 1
    return found


@kernel("void(u64,i64,u64)")
def random_games(seed, games, context):
    """Play ``games`` random games from the opening position and sum the discs that their moves turn."""
    state = seed
    for _ in range(games):
        player = U(0x0000000810000000)
        opponent = U(0x0000001008000000)
        ply = 0
        while True:
            m = moves(player, opponent)
            if m == U(0):
                if moves(opponent, player) == U(0):
                    break
                p = player
                player = opponent
                opponent = p
                continue
            at = context + i2u(8 * FLIP_COLUMNS * ply)
            number = popc(m)
            # splitmix64: good enough to choose a move, and any seed will do.
            state += U(0x9E3779B97F4A7C15)
            h = (state ^ (state >> U(30))) * U(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> U(27))) * U(0x94D049BB133111EB)
            chosen = u2i(((h ^ (h >> U(31))) >> U(32)) * i2u(number) >> U(32))
            turned = 0
            squares = 0
            played = U(0)
            place = U(0)
            for index in range(number):
                x = ctz(m)
                m = blsr(m)
                f = flip(x, player, opponent)
                discs = popc(f)
                turned += discs
                squares += discs * discs
                if index == chosen:
                    played = f
                    place = bit(x)
            sts64(at, lds64(at) + number)
            sts64(at + U(8), lds64(at + U(8)) + turned)
            sts64(at + U(16), lds64(at + U(16)) + squares)
            sts64(at + U(24), lds64(at + U(24)) + 1)
            sts64(at + U(32), lds64(at + U(32)) + popc(played))
            p = opponent ^ played
            opponent = player | played | place
            player = p
            ply += 1
