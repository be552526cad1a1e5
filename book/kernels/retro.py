"""Backwards: the positions of the book that a move, or a forced pass, leads from to a given one."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, bit, blsr, ctz, flip, i2u, ld64, lds64, moves, st64, stack_buf, sts64, u2i

from .records import opponent_of, player_of
from .table import canonical, find_row, row_at


@kernel("i64(i64)", inline=True)
def step_x(direction):
    """Direction 0..7: how many files a step goes."""
    if direction == 2 or direction == 6:
        return 0
    return 1 if direction < 2 or direction == 7 else -1


@kernel("i64(i64)", inline=True)
def step_y(direction):
    """Direction 0..7: how many ranks a step goes."""
    if direction == 0 or direction == 4:
        return 0
    return 1 if direction < 4 else -1


@kernel("i64(u64,u64,u64,u64,u64)")
def list_runs(square, own, other, lengths, masks):
    """For each of 8 directions from ``square``: how many discs a move there may have turned at most (a run of own
    discs less its last), at ``lengths``; the first k of them at ``masks`` (8 words a direction).

    0 when no move on ``square`` can have led here: the other side's discs would still be enclosed.
    """
    direction = 0
    while direction < 8:
        x = u2i(square & U(7)) + step_x(direction)
        y = u2i(square >> U(3)) + step_y(direction)
        run = U(0)
        mask = U(0)
        place = masks + (i2u(direction) << U(6))
        st64(place, mask)
        while 0 <= x < 8 and 0 <= y < 8 and own & bit(i2u(x + 8 * y)):
            mask |= bit(i2u(x + 8 * y))
            run += U(1)
            st64(place + ((run & U(7)) << U(3)), mask)
            x += step_x(direction)
            y += step_y(direction)
        if run == U(0):
            enclosed = False
            while 0 <= x < 8 and 0 <= y < 8 and other & bit(i2u(x + 8 * y)):
                enclosed = True
                x += step_x(direction)
                y += step_y(direction)
            if enclosed and 0 <= x < 8 and 0 <= y < 8 and own & bit(i2u(x + 8 * y)):
                return 0
            st64(lengths + (i2u(direction) << U(3)), U(0))
        else:
            st64(lengths + (i2u(direction) << U(3)), run - U(1))
        direction += 1
    return 1


@kernel("i64(u64,i64,u64,i64)")
def list_parents(ctx, row, out, room):
    """The rows from which a legal move or a forced pass leads to ``row``, 64 bits each at ``out``, some repeatedly.

    Returns how many, -1 when there is no ``room`` for all.
    """
    key = stack_buf(64)
    lengths = stack_buf(64)
    turned = stack_buf(64)
    masks = stack_buf(512)
    at = row_at(ctx, i2u(row))
    p = player_of(at)
    o = opponent_of(at)
    count = 0
    if moves(o, p) == U(0) and moves(p, o):
        canonical(o, p, key)
        found = find_row(ctx, player_of(key), opponent_of(key))
        if found >= 0:
            sts64(out, found)
            count = 1
    squares = o
    while squares:
        square = ctz(squares)
        squares = blsr(squares)
        if list_runs(square, o ^ bit(square), p, lengths, masks) == 0:
            continue
        k = U(0)
        while k < U(8):
            st64(turned + (k << U(3)), U(0))
            k += U(1)
        more = True
        while more:
            # The next choice of how many discs were turned in each direction; the first one, none at all, is no move.
            k = U(0)
            while k < U(8):
                here = turned + (k << U(3))
                if lds64(here) < lds64(lengths + (k << U(3))):
                    st64(here, ld64(here) + U(1))
                    break
                st64(here, U(0))
                k += U(1)
            more = k < U(8)
            if not more:
                continue
            flips = U(0)
            k = U(0)
            while k < U(8):
                flips |= ld64(masks + (k << U(6)) + (ld64(turned + (k << U(3))) << U(3)))
                k += U(1)
            mover = o & ~(flips | bit(square))
            waiting = p | flips
            if flip(square, mover, waiting) != flips:
                continue
            canonical(mover, waiting, key)
            found = find_row(ctx, player_of(key), opponent_of(key))
            if found >= 0:
                if count >= room:
                    return -1
                sts64(out + (i2u(count) << U(3)), found)
                count += 1
    return count
