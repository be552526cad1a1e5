"""Counting lines of play: every path is walked, nothing is remembered.

The last three plies are walked eight boards at a time. A node does not play its moves there; it files its board under
each square it may play. Boards that wait for the same square are played together, the rays of the square being the
same for all of them, and their answers found in the same go: either to be filed in turn or, at the end, to be counted.
"""

from llvmlite import ir

from desdaemon.engine.jit import kernel

from .bits import (
    DOWN_RAYS,
    SHIFTS,
    UP_RAYS,
    U,
    bit,
    blsr,
    ctz,
    emit_moves_of,
    flip,
    ld64,
    moves,
    popc,
    st64,
    stack_buf,
    u2i,
)
from .emit import (
    AVX512,
    call,
    const,
    i1,
    i8,
    i64,
    load,
    reduce,
    simple,
    splat,
    store,
    table_address,
    u64,
    v8,
    vector,
    void,
)

PASS_IS_A_PLY = 1

# A set of buckets: for each square the movers and the opponents of the boards filed there, then how many they are.
# Two sets lie side by side: boards two plies from the end, then those three plies from the end.
CAPACITY = 24
COLUMN = 8 * CAPACITY
BUCKET = 2 * COLUMN
COUNTS = 64 * BUCKET
BUCKETS = COUNTS + 64 * 8
TWO_SETS = 2 * BUCKETS


def _every(value):
    return vector([value] * 8)


def _emit_highest(b, v, step):
    """The highest set bit of each lane, whose set bits are all `step` apart; 0 or a stray bit for an empty lane."""
    if AVX512:
        counts = b.call(
            b.module.globals.get("llvm.ctlz.v8i64")
            or ir.Function(b.module, ir.FunctionType(v8, [v8, i1]), name="llvm.ctlz.v8i64"),
            [b.or_(v, _every(1)), const(0, i1)],
        )
        return b.lshr(_every(1 << 63), counts)
    for reach in (1, 2, 4):
        v = b.or_(v, b.lshr(v, _every(reach * step)))
    return b.and_(v, b.not_(b.lshr(v, _every(step))))


def _emit_play8(b, address, square):
    """The boards after a move on `square` by eight movers, whose opponents are a column further on, and the answers."""
    p, o = load(b, address, v8, 64), load(b, b.add(address, const(COLUMN)), v8, 64)
    rays = [ray for s in range(64) for ray in UP_RAYS[s] + DOWN_RAYS[s]]
    row = b.add(table_address(b, "rays", rays), b.shl(square, const(6)))
    zero, one, flips = _every(0), _every(1), _every(0)
    for k in range(4):
        # A carry from below the ray runs through the opponent's discs to the first square that is not theirs.
        ray = splat(b, load(b, b.add(row, const(8 * k)), i64, 8), 8)
        end = b.and_(b.and_(b.add(b.or_(o, b.not_(ray)), one), ray), p)
        run = b.sub(end, call(b, "llvm.umin.v8i64", v8, end, one))
        flips = b.or_(flips, b.and_(run, ray))
    for k, step in enumerate(SHIFTS):
        ray = splat(b, load(b, b.add(row, const(32 + 8 * k)), i64, 8), 8)
        free = b.and_(b.not_(o), ray)
        end = b.and_(b.and_(_emit_highest(b, free, step), free), p)
        flips = b.or_(flips, b.and_(b.sub(zero, b.shl(end, one)), ray))
    mover = b.xor(o, flips)
    other = b.or_(b.or_(p, flips), splat(b, b.shl(const(1), square), 8))
    return mover, other, emit_moves_of(b, mover, other, 8)


def _emit_answers8(b, address, square):
    _, _, found = _emit_play8(b, address, square)
    stuck = b.icmp_unsigned("==", found, _every(0))
    total = reduce(b, "add", call(b, "llvm.ctpop.v8i64", v8, found))
    return b.or_(b.shl(total, const(8)), b.zext(b.bitcast(stuck, i8), i64))


def _emit_children8(b, address, square, children):
    for k, words in enumerate(_emit_play8(b, address, square)):
        store(b, words, b.add(children, const(64 * k)), 64)


_answers8 = simple(_emit_answers8, u64, u64, u64)
"""(address of 8 boards, square) -> the answers to a move there, counted over all the boards and shifted left by 8,
over a mask of the boards without an answer."""

_children8 = simple(_emit_children8, void, u64, u64, u64)
"""(address of 8 boards, square, address of 3 x 8 words): the movers, the opponents and the moves after it."""


@kernel("u64(u64,u64,u64,u64)", inline=True)
def perft_file(player, opponent, square, buckets):
    """Put a board into the bucket of a square; the number of boards there."""
    board = buckets + square * U(BUCKET)
    counter = buckets + U(COUNTS) + (square << U(3))
    waiting = ld64(counter)
    st64(board + (waiting << U(3)), player)
    st64(board + U(COLUMN) + (waiting << U(3)), opponent)
    st64(counter, waiting + U(1))
    return waiting + U(1)


@kernel("u64(u64,u64)", inline=True)
def perft_take(square, buckets):
    """Declare a bucket empty and fill its last vector with boards that have no moves; the number of boards it held."""
    board = buckets + square * U(BUCKET)
    counter = buckets + U(COUNTS) + (square << U(3))
    waiting = ld64(counter)
    st64(counter, U(0))
    end = waiting
    while end & U(7):
        st64(board + (end << U(3)), U(0))
        st64(board + U(COLUMN) + (end << U(3)), U(0))
        end += U(1)
    return waiting


@kernel("i64(u64,u64,i64)")
def perft_count(square, buckets, mode):
    """The lines of two more plies, a move on ``square`` first, of the boards of a bucket, which becomes empty."""
    waiting = perft_take(square, buckets)
    bucket = buckets + square * U(BUCKET)
    lines = 0
    first = U(0)
    while first < waiting:
        answers = _answers8(bucket + (first << U(3)), square)
        lines += u2i(answers >> U(8))
        stuck = answers & U(255)
        while stuck != U(0):
            board = first + ctz(stuck)
            stuck = blsr(stuck)
            if board < waiting:
                p = ld64(bucket + (board << U(3)))
                o = ld64(bucket + U(COLUMN) + (board << U(3)))
                f = flip(square, p, o)
                lines += perft_stuck(o ^ f, p | f | bit(square), 1, mode, buckets)
        first += U(8)
    return lines


@kernel("i64(u64,u64,u64,u64,i64)", inline=True)
def perft_file_moves(player, opponent, m, buckets, mode):
    """File a board two plies from the end under its moves ``m``; the lines of the buckets that this fills."""
    lines = 0
    while m != U(0):
        x = ctz(m)
        m = blsr(m)
        if perft_file(player, opponent, x, buckets) == U(CAPACITY):
            lines += perft_count(x, buckets, mode)
    return lines


@kernel("i64(u64,u64,i64)")
def perft_play(square, buckets, mode):
    """Play the boards of a bucket of the second set and file what comes in the first; the lines this completes."""
    waiting = perft_take(square, buckets + U(BUCKETS))
    board = buckets + U(BUCKETS) + square * U(BUCKET)
    children = stack_buf(192)
    lines = 0
    while waiting != U(0):
        _children8(board, square, children)
        some = U(8)
        if waiting < some:
            some = waiting
        child = children
        while child < children + (some << U(3)):
            p = ld64(child)
            o = ld64(child + U(64))
            m = ld64(child + U(128))
            if m == U(0):
                lines += perft_stuck(p, o, 2, mode, buckets)
            else:
                lines += perft_file_moves(p, o, m, buckets, mode)
            child += U(8)
        waiting -= some
        board += U(64)
    return lines


@kernel("i64(u64,u64,i64,i64,u64)")
def perft_stuck(player, opponent, depth, mode, buckets):
    """The lines of ``depth`` plies where ``player`` has no move."""
    if moves(opponent, player) == U(0):
        return 1
    if mode == PASS_IS_A_PLY:
        depth -= 1
    if depth == 0:
        return 1
    return perft_walk(opponent, player, depth, mode, buckets)


@kernel("i64(u64,u64,i64,i64,u64)")
def perft_walk(player, opponent, depth, mode, buckets):
    """The lines of ``depth`` plies as far as they are complete by now; the others wait in the buckets."""
    m = moves(player, opponent)
    if m == U(0):
        return perft_stuck(player, opponent, depth, mode, buckets)
    if depth == 1:
        return popc(m)
    if depth == 2:
        return perft_file_moves(player, opponent, m, buckets, mode)
    lines = 0
    while m != U(0):
        x = ctz(m)
        m = blsr(m)
        if depth == 3:
            if perft_file(player, opponent, x, buckets + U(BUCKETS)) == U(CAPACITY):
                lines += perft_play(x, buckets, mode)
        else:
            f = flip(x, player, opponent)
            lines += perft_walk(opponent ^ f, player | f | bit(x), depth - 1, mode, buckets)
    return lines


@kernel("i64(u64,u64,i64,i64)")
def perft(player, opponent, depth, mode):
    """The number of lines of ``depth`` > 0 plies; a game that ends earlier is one. Mode 1: a pass is a ply; 2: not."""
    buckets = stack_buf(TWO_SETS)
    x = U(0)
    while x < U(64):
        st64(buckets + U(COUNTS) + (x << U(3)), U(0))
        st64(buckets + U(BUCKETS + COUNTS) + (x << U(3)), U(0))
        x += U(1)
    lines = perft_walk(player, opponent, depth, mode, buckets)
    x = U(0)
    while x < U(64):
        lines += perft_play(x, buckets, mode)
        x += U(1)
    x = U(0)
    while x < U(64):
        lines += perft_count(x, buckets, mode)
        x += U(1)
    return lines
