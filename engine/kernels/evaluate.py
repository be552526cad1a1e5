"""The pattern evaluation: indices kept up to date move by move, and the sum of 46 weights and a constant.

A position's features are 64 unsigned 16-bit numbers (128 bytes, aligned to 64): for each of the 46 patterns the base-3
number of its squares, first square most significant, digit 0 = side 0, 1 = side 1, 2 = empty; the rest is unused.
Sides keep their digits when the turn changes, so the weights hold each table twice, once with the digits exchanged.

The weights in memory, int16, 128 a disc, from the mover's view: [61 plies][2 sides][ROW].
"""

from llvmlite import ir

from desdaemon.engine import patterns
from desdaemon.engine.jit import kernel

from .bits import U, i2u, ld64, ldi16, ldi32, popc, st16, u2i
from .context import WEIGHTS
from .emit import (
    AVX2,
    AVX512,
    TARGET,
    const,
    external,
    i1,
    i8,
    i16,
    i32,
    i64,
    load,
    reduce,
    s64,
    simple,
    store,
    table_address,
    u64,
    vector,
    void,
)

FEATURES = len(patterns.INSTANCES)
ROW = (patterns.TABLE_SIZE + 3 + 31) // 32 * 32
"""Weights of one ply and side: the tables end to end, the constant, and room for a gather to read past it."""

_POWERS = [[0] * 64 for _ in range(64)]
for _f, _squares in enumerate(patterns.INSTANCES):
    for _k, _square in enumerate(_squares):
        _POWERS[_square][_f] = 3 ** (len(_squares) - 1 - _k)

_POWER_TABLE = [power for row in _POWERS for power in row]
_OFFSETS = [patterns.CLASSES[c].table_offset for c in patterns.INSTANCE_CLASS]
# The constant takes a lane of its own: its index stays 0. What is behind it is not added.
_LANES = [*_OFFSETS, patterns.TABLE_SIZE] + [0] * (64 - FEATURES - 1)
_HALF = ir.VectorType(i16, 32)


def _emit_update(b, source, target, x, flips, side):
    base = table_address(b, "pattern_powers", _POWER_TABLE, i16)

    def row(square):
        address = b.add(base, b.shl(square, const(7)))
        return load(b, address, _HALF, 64), load(b, b.add(address, const(64)), _HALF, 64)

    zero = vector([0] * 32, i16)
    before = b.block
    loop = b.append_basic_block("update.loop")
    done = b.append_basic_block("update.done")
    b.cbranch(b.icmp_unsigned("!=", flips, const(0)), loop, done)
    b.position_at_end(loop)
    left, low, high = b.phi(i64), b.phi(_HALF), b.phi(_HALF)
    square = b.call(external(b, "llvm.cttz.i64", i64, [i64, i1]), [left, const(1, i1)])
    row_low, row_high = row(square)
    new_low, new_high = b.add(low, row_low), b.add(high, row_high)
    new_left = b.and_(left, b.sub(left, const(1)))
    for phi, first, next_ in ((left, flips, new_left), (low, zero, new_low), (high, zero, new_high)):
        phi.add_incoming(first, before)
        phi.add_incoming(next_, loop)
    b.cbranch(b.icmp_unsigned("!=", new_left, const(0)), loop, done)
    b.position_at_end(done)
    sums = []
    for value in (new_low, new_high):
        phi = b.phi(_HALF)
        phi.add_incoming(zero, before)
        phi.add_incoming(value, loop)
        sums.append(phi)
    # Side 0 plays: the square's digit falls by 2, turned digits by 1. Side 1: by 1, and turned digits rise by 1.
    side0 = b.icmp_unsigned("==", side, const(0))
    for half, (turned, placed) in enumerate(zip(sums, row(x), strict=True)):
        shift = const(64 * half)
        old = load(b, b.add(source, shift), _HALF, 64)
        change = b.select(side0, b.sub(zero, b.add(b.add(placed, placed), turned)), b.sub(turned, placed))
        store(b, b.add(old, change), b.add(target, shift), 64)


update_features = simple(_emit_update, void, u64, u64, u64, u64, u64)
"""(source, target, square, flips, side): the features after ``side`` has played."""


def _gathered(b, features, weights, lanes):
    """The sum of the first 47 lanes by gathers of 32 bits, of which the lower 16 are the weight."""
    kind, mask_kind = ir.VectorType(i32, lanes), ir.VectorType(i1, lanes)
    starts = table_address(b, "pattern_starts", _LANES, i32)
    total = None
    for first in range(0, FEATURES + 1, lanes):
        index = b.zext(load(b, b.add(features, const(2 * first)), ir.VectorType(i16, lanes), 2 * lanes), kind)
        index = b.add(index, load(b, b.add(starts, const(4 * first)), kind, 4 * lanes))
        used = [1 if first + k <= FEATURES else 0 for k in range(lanes)]
        base, zero = b.inttoptr(weights, i8.as_pointer()), vector([0] * lanes, i32)
        if lanes == 16:
            mask = ir.Constant(mask_kind, [const(u, i1) for u in used])
            function = external(
                b, "llvm.x86.avx512.mask.gather.dpi.512", kind, [kind, i8.as_pointer(), kind, mask_kind, i32]
            )
            found = b.call(function, [zero, base, index, mask, const(2, i32)])
        else:
            mask = vector([-u for u in used], i32)
            function = external(b, "llvm.x86.avx2.gather.d.d.256", kind, [kind, i8.as_pointer(), kind, kind, i8])
            found = b.call(function, [zero, base, index, mask, const(2, i8)])
        sixteen = vector([16] * lanes, i32)
        found = b.ashr(b.shl(found, sixteen), sixteen)
        total = found if total is None else b.add(total, found)
    return b.sext(reduce(b, "add", total), i64)


def _summed(b, features, weights):
    """The same one load at a time."""
    totals = [const(0)] * 4
    for k in range(FEATURES + 1):
        index = b.zext(load(b, b.add(features, const(2 * k)), i16, 2), i64)
        address = b.add(b.add(weights, const(2 * _LANES[k])), b.shl(index, const(1)))
        totals[k & 3] = b.add(totals[k & 3], b.sext(load(b, address, i16, 2), i64))
    return b.add(b.add(totals[0], totals[1]), b.add(totals[2], totals[3]))


def _emit_sum(b, features, weights):
    # AMD's gathers are microcode: single loads are faster (26 against 33 ns with the update, measured on Zen 4).
    if TARGET.cpu.startswith("znver"):
        return _summed(b, features, weights)
    if AVX512:
        return _gathered(b, features, weights, 16)
    if AVX2:
        return _gathered(b, features, weights, 8)
    return _summed(b, features, weights)


sum_weights = simple(_emit_sum, s64, u64, u64)
"""(features, address of a row of weights) -> their sum, 128 a disc."""

_powers_at = simple(lambda b: table_address(b, "pattern_powers", _POWER_TABLE, i16), u64)


@kernel("void(u64,u64,u64)")
def set_features(p, o, target):
    """The features from scratch; ``p`` is side 0."""
    powers = _powers_at()
    for f in range(64):
        total = 0
        for s in range(64):
            place = i2u(s)
            if (p >> place) & U(1):
                continue
            digit = 2
            if (o >> place) & U(1):
                digit = 1
            total += digit * ldi16(powers + (place << U(7)) + i2u(2 * f))
        st16(target + i2u(2 * f), total)


@kernel("u64(u64,u64,i64)", inline=True)
def weights_row(ctx, side, empties):
    ply = 60 - empties
    # Boards that somebody has set up may have fewer than four discs.
    if ply < 0:
        ply = 0
    return ld64(ctx + U(WEIGHTS)) + i2u(ply * (4 * ROW)) + side * U(2 * ROW)


@kernel("i64(u64,u64,u64,i64)", inline=True)
def evaluate(ctx, features, side, empties):
    """The static score of the side to move, rounded to discs, -63..63."""
    value = sum_weights(features, weights_row(ctx, side, empties))
    if value > 0:
        value = (value + 64) >> 7
    else:
        value = -((64 - value) >> 7)
    if value > 63:
        return 63
    if value < -63:
        return -63
    return value


_CLASS_TABLE = [n for c in patterns.CLASSES for n in (c.table_offset, c.table_size, c.length)]
_classes_at = simple(lambda b: table_address(b, "pattern_classes", _CLASS_TABLE, i32), u64)


@kernel("void(u64,u64,u64)")
def expand_weights(packed, places, target):
    """From one packed table a ply to the layout of this module.

    ``packed``: 61 rows of PACKED_SIZE int16; ``places``: TABLE_SIZE int32, see `patterns.packing`.
    """
    classes = _classes_at()
    for c in range(len(patterns.CLASSES)):
        offset = ldi32(classes + i2u(12 * c))
        size = ldi32(classes + i2u(12 * c + 4))
        for number in range(size):
            exchanged = 0
            rest = i2u(number)
            power = 1
            while rest > U(0):
                digit = u2i(rest % U(3))
                if digit < 2:
                    digit = 1 - digit
                exchanged += digit * power
                power *= 3
                rest = rest // U(3)
            # Leading zeros are digits too: they become ones.
            while power < size:
                exchanged += power
                power *= 3
            place = ldi32(places + i2u(4 * (offset + number)))
            for ply in range(61):
                weight = ldi16(packed + i2u(2 * (ply * patterns.PACKED_SIZE + place)))
                row = target + i2u(4 * ROW * ply)
                st16(row + i2u(2 * (offset + number)), weight)
                st16(row + i2u(2 * (ROW + offset + exchanged)), weight)
    for ply in range(61):
        weight = ldi16(packed + i2u(2 * (ply * patterns.PACKED_SIZE + patterns.CONSTANT)))
        row = target + i2u(4 * ROW * ply + 2 * patterns.TABLE_SIZE)
        st16(row, weight)
        st16(row + i2u(2 * ROW), weight)


@kernel("i64(u64,u64,u64,u64)")
def static_sum(ctx, p, o, features):
    """The unrounded evaluation of (p, o) from scratch, 128 a disc; ``features`` is room for 128 bytes."""
    set_features(p, o, features)
    empties = 64 - popc(p | o)
    return sum_weights(features, weights_row(ctx, U(0), empties))
