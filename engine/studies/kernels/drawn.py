"""Final shapes of drawn games, and the games that end in them.

A game is over when no line of adjacent discs that has an empty square at an end holds both colours. So colours meet
only on lines that are full from edge to edge, and a shape, the set of occupied squares, says which squares must be of
one colour: its cells, the squares joined by neighbours on lines that are not full.

The contexts of `grow_shape` and `draws_of_shape` are in `engine.studies.layout`.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, bit, blsr, ctz, flip, i2u, ld64, lds64, moves, popc, st8, st64, sts64, u2i
from desdaemon.engine.studies.layout import (
    BOARD_LINES,
    CELL,
    CELLS,
    DEAD_TABLE,
    DEAD_TABLE_MASK,
    GAME_JOINED,
    GAME_MOVES,
    GAME_PLAYED,
    GAMES,
    GAMES_CAPACITY,
    GAMES_FOUND,
    SHAPE_DISCS,
    SHAPE_JOINED,
    SHAPE_NUMBER,
    SHAPE_SQUARES,
    SHAPES,
    SHAPES_CAPACITY,
    SHAPES_FOUND,
)
from desdaemon.protocol.othello.rules import CENTRE, NOT_A, NOT_H


@kernel("u64(u64)", inline=True)
def reachable(b):
    """The squares next to two of ``b`` in a row: where a move may turn a disc, whatever the colours."""
    found = ((b & ((b << U(1)) & U(NOT_A))) << U(1)) & U(NOT_A)
    found |= ((b & ((b >> U(1)) & U(NOT_H))) >> U(1)) & U(NOT_H)
    found |= (b & (b << U(8))) << U(8)
    found |= (b & (b >> U(8))) >> U(8)
    found |= ((b & ((b << U(9)) & U(NOT_A))) << U(9)) & U(NOT_A)
    found |= ((b & ((b >> U(9)) & U(NOT_H))) >> U(9)) & U(NOT_H)
    found |= ((b & ((b << U(7)) & U(NOT_H))) << U(7)) & U(NOT_H)
    found |= ((b & ((b >> U(7)) & U(NOT_A))) >> U(7)) & U(NOT_A)
    return found & ~b


@kernel("u64(u64,u64)", inline=True)
def reachable_joined(b, joined):
    """As `reachable`, along lines that are not full alone."""
    j = ld64(joined)
    found = (((b & ((b << U(1)) & U(NOT_A))) << U(1)) & U(NOT_A)) & j
    found |= (((b & ((b >> U(1)) & U(NOT_H))) >> U(1)) & U(NOT_H)) & j
    j = ld64(joined + U(8))
    found |= ((b & (b << U(8))) << U(8)) & j
    found |= ((b & (b >> U(8))) >> U(8)) & j
    j = ld64(joined + U(16))
    found |= (((b & ((b << U(9)) & U(NOT_A))) << U(9)) & U(NOT_A)) & j
    found |= (((b & ((b >> U(9)) & U(NOT_H))) >> U(9)) & U(NOT_H)) & j
    j = ld64(joined + U(24))
    found |= (((b & ((b << U(7)) & U(NOT_H))) << U(7)) & U(NOT_H)) & j
    found |= (((b & ((b >> U(7)) & U(NOT_A))) >> U(7)) & U(NOT_A)) & j
    return found & ~b


@kernel("u64(u64,u64)", inline=True)
def neighbours(b, joined):
    """The squares joined to ``b``, those of ``b`` included."""
    j = ld64(joined)
    found = (((b & j) << U(1)) & U(NOT_A)) | (((b & j) >> U(1)) & U(NOT_H))
    j = ld64(joined + U(8))
    found |= ((b & j) << U(8)) | ((b & j) >> U(8))
    j = ld64(joined + U(16))
    found |= (((b & j) << U(9)) & U(NOT_A)) | (((b & j) >> U(9)) & U(NOT_H))
    j = ld64(joined + U(24))
    found |= (((b & j) << U(7)) & U(NOT_H)) | (((b & j) >> U(7)) & U(NOT_A))
    return found | b


@kernel("u64(u64,u64,u64)")
def cell_of(seed, shape, joined):
    """The cell of ``shape`` that the squares ``seed`` are in."""
    cell = seed
    while True:
        more = neighbours(cell, joined) & shape
        if more == cell:
            return cell
        cell = more


@kernel("i64(u64,u64,i64,i64)")
def can_be_even(shape, joined, half, whole):
    """Whether no cell has more than ``half`` discs; for a ``whole`` one, whether some cells together have as many."""
    left = shape
    sums = U(1)
    while left != U(0):
        cell = cell_of(left & (U(0) - left), shape, joined)
        size = popc(cell)
        if size > half:
            return 0
        sums |= sums << i2u(size)
        left &= ~cell
    if whole != 0 and (sums >> i2u(half)) & U(1) == U(0):
        return 0
    return 1


@kernel("i64(u64,u64,i64,u64)")
def grow_shape(reached, excluded, left, context):
    """Note every shape that ``reached`` squares grow to by ``left`` more besides the ones it has to have.

    Squares are added where a move could put a disc, each taken or excluded once. Returns how many were noted.
    """
    wanted = ld64(context + U(SHAPE_SQUARES))
    discs = lds64(context + U(SHAPE_DISCS))
    joined = context + U(SHAPE_JOINED)
    half = discs >> 1
    while True:
        more = reachable(reached) & wanted & ~reached
        if more == U(0):
            break
        reached |= more
    if left == 0:
        if wanted & ~reached != U(0) or can_be_even(reached, joined, half, 1) == 0:
            return 0
        found = lds64(context + U(SHAPES_FOUND))
        if found < lds64(context + U(SHAPES_CAPACITY)):
            st64(ld64(context + U(SHAPES)) + (i2u(found) << U(3)), reached)
        sts64(context + U(SHAPES_FOUND), found + 1)
        return 1
    # Even with everything that is not excluded, what is wanted has to be reached and enough of it.
    most = reached
    while True:
        more = reachable(most) & ~excluded
        if more == U(0):
            break
        most |= more
    if wanted & ~most != U(0) or popc(most) < discs:
        return 0
    shape = reached | wanted
    # Outside the centre's cell there have to be half of the discs: they grow from two in a row of one cell.
    inner = cell_of(U(CENTRE) & (U(0) - U(CENTRE)), shape, joined)
    if U(CENTRE) & ~inner == U(0):
        barred = neighbours(inner, joined) | excluded
        outer = shape & ~inner
        while True:
            more = reachable_joined(outer, joined) & ~barred
            if more == U(0):
                break
            outer |= more
        if popc(outer) < half:
            return 0
    more = reachable(reached) & ~shape & ~excluded
    if more == U(0):
        return 0
    square = more & (U(0) - more)
    found = 0
    if popc(cell_of(square, shape | square, joined)) <= half:
        found = grow_shape(reached | square, excluded, left - 1, context)
    return found + grow_shape(reached, excluded | square, left, context)


@kernel("u64(u64,u64)", inline=True)
def spread_rank(b, shape):
    """``b`` with what is in one run of ``shape`` with it along the rank."""
    for _ in range(6):
        b |= (((b << U(1)) & U(NOT_A)) | ((b >> U(1)) & U(NOT_H))) & shape
    return b


@kernel("u64(u64,u64)", inline=True)
def spread_file(b, shape):
    """The same along the file."""
    for _ in range(6):
        b |= ((b << U(8)) | (b >> U(8))) & shape
    return b


@kernel("u64(u64,u64)", inline=True)
def spread_down(b, shape):
    """The same along the diagonal to H8."""
    for _ in range(6):
        b |= (((b << U(9)) & U(NOT_A)) | ((b >> U(9)) & U(NOT_H))) & shape
    return b


@kernel("u64(u64,u64)", inline=True)
def spread_up(b, shape):
    """The same along the diagonal to A8."""
    for _ in range(6):
        b |= (((b << U(7)) & U(NOT_H)) | ((b >> U(7)) & U(NOT_A))) & shape
    return b


@kernel("u64(u64,u64)")
def loose(empty, shape):
    """The squares of a shape whose discs may still be turned while its squares ``empty`` are filled."""
    east = (shape << U(1)) & U(NOT_A)
    west = (shape >> U(1)) & U(NOT_H)
    found = spread_rank(empty, shape) & east & west
    found |= spread_file(empty, shape) & (shape << U(8)) & (shape >> U(8))
    found |= spread_down(empty, shape) & ((shape << U(9)) & U(NOT_A)) & ((shape >> U(9)) & U(NOT_H))
    found |= spread_up(empty, shape) & ((shape << U(7)) & U(NOT_H)) & ((shape >> U(7)) & U(NOT_A))
    return found


@kernel("i64(u64,u64,u64,u64)")
def is_lost(player, opponent, shape, context):
    """Whether discs that stay what they are already make two colours in a cell, or an even end impossible."""
    fixed = (player | opponent) & ~loose(shape & ~(player | opponent), shape)
    half = popc(shape) >> 1
    sums = U(1)
    mine = 0
    number = lds64(context + U(CELLS))
    for at in range(number):
        cell = ld64(context + U(CELL) + (i2u(at) << U(3)))
        own = fixed & player & cell
        other = fixed & opponent & cell
        if own != U(0) and other != U(0):
            return 1
        if own != U(0):
            mine += popc(cell)
        elif other == U(0):
            sums |= sums << i2u(popc(cell))
    if mine > half or (sums >> i2u(half - mine)) & U(1) == U(0):
        return 1
    return 0


@kernel("void(u64,i64)", inline=True)
def note_move(context, move):
    """Append a move to the line."""
    played = lds64(context + U(GAME_PLAYED))
    st8(context + U(GAME_MOVES) + i2u(played), move)
    sts64(context + U(GAME_PLAYED), played + 1)


@kernel("void(u64)", inline=True)
def take_back(context):
    """Drop the line's last move."""
    sts64(context + U(GAME_PLAYED), lds64(context + U(GAME_PLAYED)) - 1)


@kernel("i64(u64,u64,u64,u64)")
def fill_shape(player, opponent, shape, context):
    """The number of ways to go on that fill the shape and end the game drawn; each is noted."""
    left = shape & ~(player | opponent)
    if left == U(0):
        if popc(player) != popc(opponent) or moves(player, opponent) != U(0) or moves(opponent, player) != U(0):
            return 0
        found = lds64(context + U(GAMES_FOUND))
        if found < lds64(context + U(GAMES_CAPACITY)):
            to = ld64(context + U(GAMES)) + (i2u(found) << U(6))
            for word in range(8):
                st64(to + (i2u(word) << U(3)), ld64(context + U(GAME_MOVES) + (i2u(word) << U(3))))
            st8(to + U(63), lds64(context + U(GAME_PLAYED)))
        sts64(context + U(GAMES_FOUND), found + 1)
        return 1
    h = (player * U(0x9E3779B97F4A7C15)) ^ (opponent * U(0xC2B2AE3D27D4EB4F))
    h = (h ^ (h >> U(29))) * U(0x165667B19E3779F9)
    slot = ld64(context + U(DEAD_TABLE)) + ((h >> U(32)) & ld64(context + U(DEAD_TABLE_MASK))) * U(24)
    number = ld64(context + U(SHAPE_NUMBER))
    if ld64(slot + U(16)) == number and ld64(slot) == player and ld64(slot + U(8)) == opponent:
        return 0
    if is_lost(player, opponent, shape, context) != 0:
        return 0
    found = 0
    m = moves(player, opponent)
    if m == U(0):
        if moves(opponent, player) != U(0):
            note_move(context, 64)
            found = fill_shape(opponent, player, shape, context)
            take_back(context)
    else:
        m &= shape
        while m != U(0):
            x = ctz(m)
            m = blsr(m)
            f = flip(x, player, opponent)
            note_move(context, u2i(x))
            found += fill_shape(opponent ^ f, player | f | bit(x), shape, context)
            take_back(context)
    if found == 0:
        st64(slot, player)
        st64(slot + U(8), opponent)
        st64(slot + U(16), number)
    return found


@kernel("i64(u64,u64,u64,u64)")
def draws_of_shape(player, opponent, shape, context):
    """The number of drawn games from a position that fill just this shape."""
    joined = context + U(GAME_JOINED)
    for axis in range(4):
        st64(joined + (i2u(axis) << U(3)), ~U(0))
    at = context + U(BOARD_LINES)
    while ld64(at) != U(0):
        if shape & ld64(at) == ld64(at):
            place = joined + (ld64(at + U(8)) << U(3))
            st64(place, ld64(place) & ~ld64(at))
        at += U(16)
    left = shape
    number = 0
    while left != U(0):
        cell = cell_of(left & (U(0) - left), shape, joined)
        st64(context + U(CELL) + (i2u(number) << U(3)), cell)
        number += 1
        left &= ~cell
    sts64(context + U(CELLS), number)
    return fill_shape(player, opponent, shape, context)
