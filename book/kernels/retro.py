"""Backward moves: the book's positions from which a move, or a forced pass, leads to a given one."""

from desdaemon.book.layout import RUN_DIRECTIONS, RUN_LENGTHS_BYTES, RUN_MASKS, RUN_MASKS_BYTES, WORD
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    canonical,
    ctz,
    flip,
    i2u,
    ld64,
    lds64,
    moves,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import BOARD
from .packed import known_row
from .records import opponent_of, player_of
from .table import row_at


@kernel("i64(i64)", inline=True)
def step_x(direction):
    """Return how many files towards h (-1, 0 or 1) a step in ``direction`` (0..7) goes."""
    if direction == 2 or direction == 6:
        return 0
    return 1 if direction < 2 or direction == 7 else -1


@kernel("i64(i64)", inline=True)
def step_y(direction):
    """Return how many ranks towards 8 (-1, 0 or 1) a step in ``direction`` (0..7) goes."""
    if direction == 0 or direction == 4:
        return 0
    return 1 if direction < 4 else -1


@kernel("u64(u64,u64)", inline=True)
def by_direction(words, direction):
    """Return the address of the word of ``direction`` (0..7) in ``words``."""
    return words + direction * U(WORD)


@kernel("u64(u64,u64,u64)", inline=True)
def run_mask(masks, direction, count):
    """Return the address of the mask of the first ``count`` discs of the run in ``direction`` (0..7)."""
    return masks + (direction * U(RUN_MASKS) + count) * U(WORD)


@kernel("i64(u64,u64,u64,u64,u64)")
def list_runs(square, own, other, lengths, masks):
    """Store for each of 8 directions from ``square`` the most discs that a move there may have turned, and masks of the
    first 0 to 7 of them.

    ``own`` has the discs of the side that moved, without ``square``, ``other`` those of the other side; ``lengths`` and
    ``masks`` are addresses. A run is the own discs next to ``square`` in a direction, without the last. Returns 0 if no
    move on ``square`` can have led here, because it would have left enclosed discs of the other side, else 1.
    """
    direction = 0
    while direction < RUN_DIRECTIONS:
        x = u2i(square & U(7)) + step_x(direction)
        y = u2i(square >> U(3)) + step_y(direction)
        run = U(0)
        mask = U(0)
        place = run_mask(masks, i2u(direction), U(0))
        st64(place, mask)
        while 0 <= x < 8 and 0 <= y < 8 and own & bit(i2u(x + 8 * y)):
            mask |= bit(i2u(x + 8 * y))
            run += U(1)
            st64(place + (run & U(RUN_MASKS - 1)) * U(WORD), mask)
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
            st64(by_direction(lengths, i2u(direction)), U(0))
        else:
            st64(by_direction(lengths, i2u(direction)), run - U(1))
        direction += 1
    return 1


@kernel("i64(u64,i64,u64,i64)")
def list_parents(ctx, row, out, capacity):
    """Write the rows from which a legal move or a forced pass leads to ``row`` to ``out``, 64 bits each; a row may
    occur several times. Rows of a packed file below the table are among them (`packed_find`).

    Returns their number, -1 if there are more than ``capacity``.
    """
    key = stack_buf(BOARD)
    lengths = stack_buf(RUN_LENGTHS_BYTES)
    turned = stack_buf(RUN_LENGTHS_BYTES)
    masks = stack_buf(RUN_MASKS_BYTES)
    record = row_at(ctx, i2u(row))
    p = player_of(record)
    o = opponent_of(record)
    count = 0
    if moves(o, p) == U(0) and moves(p, o):
        canonical(o, p, key)
        parent = known_row(ctx, player_of(key), opponent_of(key))
        if parent >= 0:
            sts64(out, parent)
            count = 1
    squares = o
    while squares:
        square = ctz(squares)
        squares = blsr(squares)
        if list_runs(square, o ^ bit(square), p, lengths, masks) == 0:
            continue
        k = U(0)
        while k < U(RUN_DIRECTIONS):
            st64(by_direction(turned, k), U(0))
            k += U(1)
        more = True
        while more:
            # Choose the next numbers of discs turned in each direction; the first choice, none at all, is no move.
            k = U(0)
            while k < U(RUN_DIRECTIONS):
                choice = by_direction(turned, k)
                if lds64(choice) < lds64(by_direction(lengths, k)):
                    st64(choice, ld64(choice) + U(1))
                    break
                st64(choice, U(0))
                k += U(1)
            more = k < U(RUN_DIRECTIONS)
            if not more:
                continue
            flips = U(0)
            k = U(0)
            while k < U(RUN_DIRECTIONS):
                flips |= ld64(run_mask(masks, k, ld64(by_direction(turned, k))))
                k += U(1)
            mover = o & ~(flips | bit(square))
            waiting = p | flips
            if flip(square, mover, waiting) != flips:
                continue
            canonical(mover, waiting, key)
            parent = known_row(ctx, player_of(key), opponent_of(key))
            if parent >= 0:
                if count >= capacity:
                    return -1
                sts64(out + i2u(count) * U(WORD), parent)
                count += 1
    return count
