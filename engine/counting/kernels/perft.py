"""Perft: counts of lines of play. Every path is walked, no transposition is used.

The last plies are walked eight boards at a time. A node does not play its moves there, but puts its board into a bucket
for each legal square: an array of boards that wait for a move on that square. The boards of a bucket are played
together, since the rays of the square are the same for all, and their replies are computed in the same step: they go
into further buckets or, at the end, are counted. ``depth`` counts the plies left, the next move included, ``mode`` is
that of `perft`, and ``memory`` is the address of its buckets and counts.
"""

from llvmlite import ir

from desdaemon.engine.compiler import interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    DOWN_RAYS,
    SHIFTS,
    UP_RAYS,
    U,
    bit,
    blsr,
    ctz,
    emit_moves_of,
    flip,
    i2u,
    ld64,
    lds64,
    moves,
    popc,
    st64,
    stack_buf,
    sts64,
)
from desdaemon.engine.kernels.emit import (
    AVX512,
    call,
    const,
    external,
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
from desdaemon.protocol.othello import rules

PASS_IS_A_PLY = 1

# A set of buckets holds the boards with one number of plies left: for each square the movers and the opponents of the
# boards that wait for it, then the numbers of these boards. The sets follow each other, those nearest to the end first;
# behind them are the lines counted so far, in eight words to be added.
CAPACITY = 24
FULL = CAPACITY - 7
COLUMN = 8 * CAPACITY
BUCKET = 2 * COLUMN
COUNTS = 64 * BUCKET
SET = COUNTS + 64 * 8
SETS = 3
LINES = SETS * SET
MEMORY_BYTES = LINES + 64


def _every(value):
    return vector([value] * 8)


def _emit_highest(b, v, step):
    """Emit code for the highest set bit of each lane of ``v``, whose set bits are multiples of ``step`` places apart; a
    lane of 0 gives 0.
    """
    if AVX512:
        counts = b.call(external(b, "llvm.ctlz.v8i64", v8, [v8, i1]), [v, const(0, i1)])
        return call(b, "llvm.x86.avx512.psrlv.q.512", v8, _every(1 << 63), counts)
    for reach in (1, 2, 4):
        v = b.or_(v, b.lshr(v, _every(reach * step)))
    return b.and_(v, b.not_(b.lshr(v, _every(step))))


def _emit_play8(b, board, square):
    """Emit code that plays ``square`` on eight boards: movers at the address ``board``, opponents COLUMN bytes further.

    Returns three vectors after the move: movers, opponents and the movers' legal moves.
    """
    p, o = load(b, board, v8, 64), load(b, b.add(board, const(COLUMN)), v8, 64)
    rays = [ray for s in range(64) for ray in UP_RAYS[s] + DOWN_RAYS[s]]
    row = b.add(table_address(b, "rays", rays), b.shl(square, const(6)))
    zero, one, flips = _every(0), _every(1), _every(0)
    for k in range(4):
        # A carry runs up the ray through the opponent's discs to the first other square.
        ray = splat(b, load(b, b.add(row, const(8 * k)), i64, 8), 8)
        end = b.and_(b.and_(b.add(b.or_(o, b.not_(ray)), one), ray), p)
        run = call(b, "llvm.usub.sat.v8i64", v8, end, one)
        flips = b.or_(flips, b.and_(run, ray))
    for k, step in enumerate(SHIFTS):
        ray = splat(b, load(b, b.add(row, const(32 + 8 * k)), i64, 8), 8)
        free = b.and_(b.not_(o), ray)
        end = b.and_(b.and_(_emit_highest(b, free, step), free), p)
        flips = b.or_(flips, b.and_(b.sub(zero, b.add(end, end)), ray))
    mover = b.xor(o, flips)
    other = b.or_(b.or_(p, flips), splat(b, b.shl(const(1), square), 8))
    return mover, other, emit_moves_of(b, mover, other, 8)


def _emit_stuck(b, replies):
    return b.zext(b.bitcast(b.icmp_unsigned("==", replies, _every(0)), i8), i64)


def _emit_count8(b, board, square, lines):
    _, _, replies = _emit_play8(b, board, square)
    store(b, b.add(load(b, lines, v8, 64), call(b, "llvm.ctpop.v8i64", v8, replies)), lines, 64)
    return _emit_stuck(b, replies)


def _emit_children8(b, board, square, children):
    after = _emit_play8(b, board, square)
    for k, words in enumerate(after):
        store(b, words, b.add(children, const(64 * k)), 64)
    return _emit_stuck(b, after[2])


def _emit_union8(b, words):
    return reduce(b, "or", load(b, words, v8, 64))


def _emit_append8(b, children, square, place):
    if AVX512:
        p, o, replies = (load(b, b.add(children, const(64 * k)), v8, 64) for k in range(3))
        chosen = b.icmp_unsigned("!=", b.and_(replies, splat(b, b.shl(const(1), square), 8)), _every(0))
        kind = ir.VectorType(i1, 8)
        pack = external(b, "llvm.x86.avx512.mask.compress.v8i64", v8, [v8, v8, kind])
        store(b, b.call(pack, [p, _every(0), chosen]), place, 8)
        store(b, b.call(pack, [o, _every(0), chosen]), b.add(place, const(COLUMN)), 8)
        return call(b, "llvm.ctpop.i64", i64, b.zext(b.bitcast(chosen, i8), i64))
    number = const(0)
    for k in range(8):
        p, o, replies = (load(b, b.add(children, const(64 * word + 8 * k)), i64, 8) for word in range(3))
        to = b.add(place, b.shl(number, const(3)))
        store(b, p, to, 8)
        store(b, o, b.add(to, const(COLUMN)), 8)
        number = b.add(number, b.and_(b.lshr(replies, square), const(1)))
    return number


def _emit_copy8(b, source, target):
    for column in (0, COLUMN):
        store(b, load(b, b.add(source, const(column)), v8, 64), b.add(target, const(column)), 64)


def _words(address, count=8):
    return [interpreted.load(address + 8 * k, 8, signed=False) for k in range(count)]


def _store_words(address, words):
    for k, word in enumerate(words):
        interpreted.store(address + 8 * k, 8, word)


def _play8(board, square):
    """Play ``square`` on the eight boards at ``board``, for kernels that run as Python.

    Returns (mover, opponent, mover's legal moves) of each board after the move.
    """
    after = []
    for p, o in zip(_words(board), _words(board + COLUMN), strict=True):
        flips = rules.flips(p, o, square)
        mover, other = o ^ flips, p | flips | 1 << square
        after.append((mover, other, rules.legal_moves(mover, other)))
    return after


def _stuck(after):
    return sum(1 << k for k, (_, _, replies) in enumerate(after) if not replies)


def _count(board, square, lines):
    after = _play8(board, square)
    counts = [replies.bit_count() for _, _, replies in after]
    _store_words(lines, [old + new for old, new in zip(_words(lines), counts, strict=True)])
    return _stuck(after)


def _children(board, square, children):
    after = _play8(board, square)
    _store_words(children, [word for column in zip(*after, strict=True) for word in column])
    return _stuck(after)


def _union(words):
    union = 0
    for word in _words(words):
        union |= word
    return union


def _append(children, square, place):
    words = _words(children, 24)
    chosen = [k for k in range(8) if words[16 + k] >> square & 1]
    for column, first in ((0, 0), (COLUMN, 8)):
        _store_words(place + column, [words[first + k] for k in chosen] + [0] * (8 - len(chosen)))
    return len(chosen)


def _copy(source, target):
    for column in (0, COLUMN):
        _store_words(target + column, _words(source + column))


_count8 = simple(_emit_count8, _count, u64, u64, u64, u64)
"""(address of 8 boards, square, address of 8 words): play the square on each board and add the number of replies to its
word.

Returns a mask of the boards without replies.
"""

_children8 = simple(_emit_children8, _children, u64, u64, u64, u64)
"""(address of 8 boards, square, address of 3 x 8 words): play the square on each board and write the movers, the
opponents and the masks of replies.

Returns a mask of the boards without replies.
"""

_union8 = simple(_emit_union8, _union, u64, u64)
"""(address of 8 words) -> the bits set in any of them."""

_append8 = simple(_emit_append8, _append, u64, u64, u64, u64)
"""(address of `_children8`'s output, square, address in a bucket): write the boards on which the square is a legal
move.

Returns their number. Room for eight is written; what follows the boards means nothing.
"""

_copy8 = simple(_emit_copy8, _copy, void, u64, u64)
"""(source, target): copy eight boards from one address in a bucket to another."""


@kernel("u64(i64,u64)", inline=True)
def perft_set(depth, memory):
    """Return the address of the buckets in `perft`'s ``memory`` for boards with ``depth`` plies left, 2 to SETS + 1."""
    return memory + i2u(depth - 2) * U(SET)


@kernel("void(u64,i64)", inline=True)
def perft_add(memory, lines):
    sts64(memory + U(LINES), lds64(memory + U(LINES)) + lines)


@kernel("void(u64,u64,u64,i64,i64,u64)")
def perft_file(player, opponent, square, depth, mode, memory):
    """Let a board with ``depth`` plies left wait in `perft`'s ``memory`` for its move on ``square``; if FULL or
    more wait there, play them.
    """
    buckets = perft_set(depth, memory)
    counter = buckets + U(COUNTS) + (square << U(3))
    waiting = ld64(counter)
    board = buckets + square * U(BUCKET) + (waiting << U(3))
    st64(board, player)
    st64(board + U(COLUMN), opponent)
    st64(counter, waiting + U(1))
    if waiting + U(1) >= U(FULL):
        perft_play(square, depth, mode, memory)


@kernel("void(u64,u64,i64,i64,u64)")
def perft_file_all(children, union, depth, mode, memory):
    """Let the eight boards that `_children8` wrote to ``children``, with ``depth`` plies left, wait in `perft`'s
    ``memory`` for each of their legal moves; play the boards of squares where FULL or more wait.

    ``union`` is the mask of squares that are legal on any of the boards.
    """
    buckets = perft_set(depth, memory)
    full = U(0)
    while union != U(0):
        x = ctz(union)
        union = blsr(union)
        counter = buckets + U(COUNTS) + (x << U(3))
        waiting = ld64(counter)
        waiting += _append8(children, x, buckets + x * U(BUCKET) + (waiting << U(3)))
        st64(counter, waiting)
        if waiting >= U(FULL):
            full |= bit(x)
    while full != U(0):
        x = ctz(full)
        full = blsr(full)
        perft_play(x, depth, mode, memory)


@kernel("void(u64,i64,i64,u64)")
def perft_play(square, depth, mode, memory):
    """Play ``square`` on the boards that wait for it in `perft`'s ``memory``, eight at a time; up to seven stay there.

    ``depth`` counts the plies left, this move included.
    """
    buckets = perft_set(depth, memory)
    counter = buckets + U(COUNTS) + (square << U(3))
    waiting = ld64(counter)
    board = buckets + square * U(BUCKET)
    end = board + ((waiting & ~U(7)) << U(3))
    if depth == 2:
        while board < end:
            stuck = _count8(board, square, memory + U(LINES))
            if stuck != U(0):
                perft_play_stuck(board, stuck, square, depth, mode, memory)
            board += U(64)
    else:
        children = stack_buf(192)
        while board < end:
            stuck = _children8(board, square, children)
            perft_file_all(children, _union8(children + U(128)), depth - 1, mode, memory)
            if stuck != U(0):
                perft_play_stuck(board, stuck, square, depth, mode, memory)
            board += U(64)
    _copy8(end, buckets + square * U(BUCKET))
    st64(counter, waiting & U(7))


@kernel("void(u64,u64,u64,i64,i64,u64)")
def perft_play_stuck(boards, stuck, square, depth, mode, memory):
    """Play ``square`` on those of the eight boards at ``boards`` whose bit is set in ``stuck``, after which the
    opponent has no move, and walk the lines from there. ``depth`` counts the plies left, this move included.
    """
    while stuck != U(0):
        board = boards + (ctz(stuck) << U(3))
        stuck = blsr(stuck)
        p = ld64(board)
        o = ld64(board + U(COLUMN))
        f = flip(square, p, o)
        perft_stuck(o ^ f, p | f | bit(square), depth - 1, mode, memory)


@kernel("void(u64,u64,i64,i64,u64)")
def perft_stuck(player, opponent, depth, mode, memory):
    """Walk the lines of ``depth`` plies from a position where ``player`` has no move, as `perft_walk` does."""
    if mode == PASS_IS_A_PLY:
        depth -= 1
    if depth == 0 or moves(opponent, player) == U(0):
        perft_add(memory, 1)
    else:
        perft_walk(opponent, player, depth, mode, memory)


@kernel("void(u64,u64,i64,i64,u64)")
def perft_walk(player, opponent, depth, mode, memory):
    """Walk the lines of ``depth`` > 0 plies from a position. Lines are added to the count in `perft`'s
    ``memory``, or boards wait there for their moves to be played.
    """
    m = moves(player, opponent)
    if m == U(0):
        perft_stuck(player, opponent, depth, mode, memory)
    elif depth == 1:
        perft_add(memory, popc(m))
    else:
        while m != U(0):
            x = ctz(m)
            m = blsr(m)
            if depth <= SETS + 1:
                perft_file(player, opponent, x, depth, mode, memory)
            else:
                f = flip(x, player, opponent)
                perft_walk(opponent ^ f, player | f | bit(x), depth - 1, mode, memory)


@kernel("void(i64,i64,u64)")
def perft_drain(depth, mode, memory):
    """Play all boards that wait in `perft`'s ``memory`` with ``depth`` plies left. Empty boards, which are not counted,
    fill up the last eight for each square.
    """
    x = U(0)
    while x < U(64):
        bucket = perft_set(depth, memory) + x * U(BUCKET)
        counter = perft_set(depth, memory) + U(COUNTS) + (x << U(3))
        waiting = ld64(counter)
        while waiting & U(7):
            st64(bucket + (waiting << U(3)), U(0))
            st64(bucket + U(COLUMN) + (waiting << U(3)), U(0))
            # Neither side can move on an empty board, so it will be counted as one line.
            perft_add(memory, -1)
            waiting += U(1)
        st64(counter, waiting)
        perft_play(x, depth, mode, memory)
        x += U(1)


@kernel("i64(u64,u64,i64,i64)")
def perft(player, opponent, depth, mode):
    """Return the number of lines of ``depth`` > 0 plies; a game that ends earlier counts as one line.

    A pass is a ply in mode 1 (PASS_IS_A_PLY); in mode 2 it is not.
    """
    memory = stack_buf(MEMORY_BYTES)
    for k in range(SETS):
        x = U(0)
        while x < U(64):
            st64(perft_set(k + 2, memory) + U(COUNTS) + (x << U(3)), U(0))
            x += U(1)
    part = memory + U(LINES)
    while part < memory + U(MEMORY_BYTES):
        st64(part, U(0))
        part += U(8)
    perft_walk(player, opponent, depth, mode, memory)
    for k in range(SETS):
        perft_drain(SETS + 1 - k, mode, memory)
    lines = 0
    part = memory + U(LINES)
    while part < memory + U(MEMORY_BYTES):
        lines += lds64(part)
        part += U(8)
    return lines
