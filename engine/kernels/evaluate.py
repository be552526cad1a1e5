"""The pattern evaluation: features, updated move by move, and the score as a sum of weights.

A position's features are unsigned 16-bit numbers, in FEATURE_BYTES aligned to 32: for each pattern of `patterns.TABLES`
the base-3 number of its squares, digit 0 = side 0, 1 = side 1, 2 = empty; the rest is unused. Sides keep their digits
when the turn changes, so the weights hold each table twice, once with the digits exchanged.

The weights in memory, int8, 8 a disc, from the mover's view: [61 plies][2 sides][ROW]. As bytes more of them stay in
the cache; rounding moves a score by a quarter of a disc (root mean square).

The tables at CURVE turn the sum into a score: CURVE_STEPS bytes, whole discs for each eighth of a disc of the sum's
absolute value, then as many 16-bit numbers and one more, 128 a disc, at the borders of the eighths
(`desdaemon.engine.evaluation.curve`).
"""

from llvmlite import ir

from desdaemon.engine.compiler import interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.evaluation import patterns
from desdaemon.engine.layout import CURVE, CURVE_STEP_BITS, CURVE_STEPS, WEIGHTS, WEIGHTS_ROW_BYTES, WEIGHTS_TABLE_BYTES

from .bits import U, ctz, i2u, ld64, ldi8, ldi16, ldi32, popc, st8, st16, st32, st64, u2i
from .emit import (
    AVX2,
    AVX512,
    TARGET,
    const,
    constant_table,
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

FEATURES = sum(len(table.instances) for table in patterns.TABLES)
"""Look-ups of an evaluation, but for the constant."""

# 32 bytes are written at a time: what was just written is read back sooner than after writes of 64 (Zen 4).
_AT_A_TIME = ir.VectorType(i16, 16)
_GROUPS = (FEATURES + 15) // 16
FEATURE_BYTES = 32 * _GROUPS
"""Room that the features of a position take."""

_TURNED_AT_ONCE = 3
"""Turned discs that are added without a loop: more are rare."""


def _digits(squares):
    """The order of a table's digits, most significant first. The board's centre, which changes most, comes last, so
    that configurations that follow one another in a search are near in memory.
    """
    return sorted(range(len(squares)), key=lambda k: -abs(2 * (squares[k] & 7) - 7) - abs(2 * (squares[k] >> 3) - 7))


_ORDERS = [_digits(table.instances[0]) for table in patterns.TABLES]
_SIZES = [3 ** len(order) for order in _ORDERS]
_STARTS = [sum(_SIZES[:k]) for k in range(len(_SIZES))]
TABLE_SIZE = sum(_SIZES)
"""Configurations of all tables."""

if TABLE_SIZE != WEIGHTS_TABLE_BYTES:
    raise ValueError(f"the patterns have {TABLE_SIZE} configurations, layout.py says {WEIGHTS_TABLE_BYTES}")
ROW = WEIGHTS_ROW_BYTES

_UNIT = CURVE_STEP_BITS
"""Bits by which a constant is finer than a weight."""

_POWERS = [[0] * (16 * _GROUPS) for _ in range(65)]
_OFFSETS = []
for _table, _order, _start in zip(patterns.TABLES, _ORDERS, _STARTS, strict=True):
    for _squares in _table.instances:
        for _k, _digit in enumerate(_order):
            _POWERS[_squares[_digit]][len(_OFFSETS)] = 3 ** (len(_order) - 1 - _k)
        _OFFSETS.append(_start)
# A row more, of zeros: what is added for a disc that there is not.
_POWER_TABLE = [power for row in _POWERS for power in row]


def _emit_update(b, source, target, x, flips, side):
    base = table_address(b, "pattern_powers", _POWER_TABLE, i16)

    def row(square):
        address = b.add(base, b.mul(square, const(FEATURE_BYTES)))
        return [load(b, b.add(address, const(32 * k)), _AT_A_TIME, 32) for k in range(_GROUPS)]

    def next_row(left):
        square = b.call(external(b, "llvm.cttz.i64", i64, [i64, i1]), [left, const(0, i1)])
        return row(square), b.and_(left, b.sub(left, const(1)))

    zero = vector([0] * 16, i16)
    first, left = next_row(flips)
    for _ in range(_TURNED_AT_ONCE - 1):
        more, left = next_row(left)
        first = [b.add(s, r) for s, r in zip(first, more, strict=True)]
    before = b.block
    loop = b.append_basic_block("update.loop")
    done = b.append_basic_block("update.done")
    b.cbranch(b.icmp_unsigned("!=", left, const(0)), loop, done)
    b.position_at_end(loop)
    rest = b.phi(i64)
    sums = [b.phi(_AT_A_TIME) for _ in range(_GROUPS)]
    more, new_rest = next_row(rest)
    new_sums = [b.add(s, r) for s, r in zip(sums, more, strict=True)]
    for phi, start, following in zip([rest, *sums], [left, *first], [new_rest, *new_sums], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(following, loop)
    b.cbranch(b.icmp_unsigned("!=", new_rest, const(0)), loop, done)
    b.position_at_end(done)
    turned_rows = [b.phi(_AT_A_TIME) for _ in range(_GROUPS)]
    for phi, start, following in zip(turned_rows, first, new_sums, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(following, loop)
    # Side 0 plays: the square's digit falls by 2, turned digits by 1. Side 1: by 1, and turned digits rise by 1.
    side0 = b.icmp_unsigned("==", side, const(0))
    for k, (turned, placed) in enumerate(zip(turned_rows, row(x), strict=True)):
        shift = const(32 * k)
        old = load(b, b.add(source, shift), _AT_A_TIME, 32)
        change = b.select(side0, b.sub(zero, b.add(b.add(placed, placed), turned)), b.sub(turned, placed))
        store(b, b.add(old, change), b.add(target, shift), 32)


def _update(source, target, x, flips, side):
    """`update_features` in Python, pattern by pattern."""
    turned = [square for square in range(64) if flips >> square & 1]
    for place in range(16 * _GROUPS):
        change = sum(_POWERS[square][place] for square in turned)
        placed = _POWERS[x][place]
        change = change - placed if side else -(2 * placed + change)
        old = interpreted.load(source + 2 * place, 2, signed=False)
        interpreted.store(target + 2 * place, 2, old + change)


update_features = simple(_emit_update, _update, void, u64, u64, u64, u64, u64)
"""(source, target, square, flips, side): the features after ``side`` has played."""


def _gathered(b, features, weights, lanes):
    """The sum, without the constant, by gathers of 32 bits, of which the lower 8 are the weight."""
    kind, mask_kind = ir.VectorType(i32, lanes), ir.VectorType(i1, lanes)
    starts = table_address(b, "pattern_starts", _OFFSETS + [0] * (-FEATURES % lanes), i32)
    base, zero = b.inttoptr(weights, i8.as_pointer()), vector([0] * lanes, i32)
    total = zero
    for first in range(0, FEATURES, lanes):
        index = b.zext(load(b, b.add(features, const(2 * first)), ir.VectorType(i16, lanes), 2 * lanes), kind)
        index = b.add(index, load(b, b.add(starts, const(4 * first)), kind, 4 * lanes))
        used = [1 if first + k < FEATURES else 0 for k in range(lanes)]
        if lanes == 16:
            mask = ir.Constant(mask_kind, [const(u, i1) for u in used])
            function = external(
                b, "llvm.x86.avx512.mask.gather.dpi.512", kind, [kind, i8.as_pointer(), kind, mask_kind, i32]
            )
            found = b.call(function, [zero, base, index, mask, const(1, i32)])
        else:
            mask = vector([-u for u in used], i32)
            function = external(b, "llvm.x86.avx2.gather.d.d.256", kind, [kind, i8.as_pointer(), kind, kind, i8])
            found = b.call(function, [zero, base, index, mask, const(1, i8)])
        above = vector([24] * lanes, i32)
        total = b.add(total, b.ashr(b.shl(found, above), above))
    return reduce(b, "add", total)


def _loaded(b, features, weights):
    """The sum, without the constant, one load at a time; the features come in pairs."""
    total = const(0, i32)
    for k in range(0, FEATURES, 2):
        pair = b.zext(load(b, b.add(features, const(2 * k)), i32, 4), i64)
        for j, index in enumerate((b.and_(pair, const(0xFFFF)), b.lshr(pair, const(16)))[: FEATURES - k]):
            address = b.add(b.add(weights, const(_OFFSETS[k + j])), index)
            total = b.add(total, b.sext(load(b, address, i8, 1), i32))
    return total


def _emit_sum(b, features, weights):
    # AMD's gathers are microcode: single loads are faster (26 against 33 ns with the update, measured on Zen 4).
    if AVX512 and not TARGET.cpu.startswith("znver"):
        total = _gathered(b, features, weights, 16)
    elif AVX2 and not TARGET.cpu.startswith("znver"):
        total = _gathered(b, features, weights, 8)
    else:
        total = _loaded(b, features, weights)
    constant = b.sext(load(b, b.add(weights, const(TABLE_SIZE)), i16, 1), i32)
    return b.sext(b.add(b.shl(total, const(_UNIT, i32)), constant), i64)


def _sum(features, weights):
    total = sum(
        interpreted.load(weights + offset + interpreted.load(features + 2 * k, 2, signed=False), 1, signed=True)
        for k, offset in enumerate(_OFFSETS)
    )
    return (total << _UNIT) + interpreted.load(weights + TABLE_SIZE, 2, signed=True)


sum_weights = simple(_emit_sum, _sum, s64, u64, u64)
"""(features, address of a row of weights) -> their sum, 128 a disc."""

_EMPTY_BOARD = [3 ** len(table.instances[0]) - 1 for table in patterns.TABLES for _ in table.instances]
_EMPTY_BOARD += [0] * (16 * _GROUPS - FEATURES)
_empty_board_at = constant_table("empty_board", _EMPTY_BOARD, i16)


@kernel("void(u64,u64,u64)")
def set_features(p, o, target):
    """Compute the features from scratch; ``p`` is side 0."""
    source = _empty_board_at()
    for k in range(FEATURE_BYTES // 8):
        st64(target + i2u(8 * k), ld64(source + i2u(8 * k)))
    while p:
        update_features(target, target, ctz(p), U(0), U(0))
        p &= p - U(1)
    while o:
        update_features(target, target, ctz(o), U(0), U(1))
        o &= o - U(1)


@kernel("u64(u64,u64,i64)", inline=True)
def weights_row(ctx, side, empties):
    ply = 60 - empties
    # Boards set up by hand may have fewer than four discs.
    if ply < 0:
        ply = 0
    return ld64(ctx + U(WEIGHTS)) + i2u(ply * (2 * ROW)) + side * U(ROW)


@kernel("i64(i64)", inline=True)
def curve_step(value):
    """The index of a sum, 128 a disc, in the tables of the score curve."""
    step = abs(value) >> _UNIT
    if step > CURVE_STEPS - 1:
        step = CURVE_STEPS - 1
    return step


@kernel("i64(u64,u64,u64,i64)", inline=True)
def evaluate(ctx, features, side, empties):
    """The static score of the side to move, rounded to discs, -63..63."""
    value = sum_weights(features, weights_row(ctx, side, empties))
    score = ldi8(ld64(ctx + U(CURVE)) + i2u(curve_step(value)))
    if value < 0:
        return -score
    return score


# A record for each part of each table: where the table begins and its size, whether it is the table's first part,
# where the class begins among all classes' configurations, its number of digits, and for each of them its value in
# a number of the table.
_RECORD = 16
_RECORDS = []
for _table, _order, _start in zip(patterns.TABLES, _ORDERS, _STARTS, strict=True):
    for _k, (_class, _places) in enumerate(_table.parts):
        _values = [3 ** (len(_order) - 1 - _order.index(_place)) for _place in _places]
        _record = [
            _start,
            3 ** len(_order),
            int(_k == 0),
            patterns.CLASSES[_class].table_offset,
            len(_values),
            *_values,
        ]
        _RECORDS += _record + [0] * (_RECORD - len(_record))
_NUMBER_OF_RECORDS = len(_RECORDS) // _RECORD
_records_at = constant_table("pattern_parts", _RECORDS, i32)

MAP_SIZE = TABLE_SIZE + sum(_RECORDS[1::_RECORD])
"""Entries (int32) of the map that `expand_weights` works with."""


@kernel("i64(i64,i64)", inline=True)
def exchanged(number, size):
    """A configuration with the sides' digits exchanged; ``size`` is that of its table."""
    other = 0
    power = 1
    rest = i2u(number)
    while power < size:
        digit = u2i(rest % U(3))
        rest = rest // U(3)
        if digit < 2:
            digit = 1 - digit
        other += digit * power
        power *= 3
    return other


@kernel("void(u64,u64)")
def map_weights(places, target):
    """Write, for each configuration of each part of each table, the index of its weight among the packed ones; then for
    each configuration the index of the one with the sides exchanged. ``places``: see `patterns.packing`; ``target``:
    MAP_SIZE int32.
    """
    records = _records_at()
    for k in range(_NUMBER_OF_RECORDS):
        record = records + i2u(4 * _RECORD * k)
        for number in range(ldi32(record + U(4))):
            own = 0
            for j in range(ldi32(record + U(16))):
                value = i2u(ldi32(record + i2u(20 + 4 * j)))
                own = own * 3 + u2i((i2u(number) // value) % U(3))
            st32(target, ldi32(places + i2u(4 * (ldi32(record + U(12)) + own))))
            target += U(4)
    for k in range(_NUMBER_OF_RECORDS):
        record = records + i2u(4 * _RECORD * k)
        if ldi32(record + U(8)) != 0:
            size = ldi32(record + U(4))
            for number in range(size):
                st32(target, exchanged(number, size))
                target += U(4)


@kernel("i64(i64)", inline=True)
def rounded(weight):
    """A weight of 128 a disc rounded to 8 a disc, halves away from 0, clamped to int8."""
    half = 1 << (_UNIT - 1)
    size = (half + abs(weight)) >> _UNIT
    if size > 127:
        size = 127
    if weight < 0:
        return -size
    return size


@kernel("void(u64,u64,u64,u64)")
def expand_weights(packed, map_, scratch, target):
    """From one packed table a ply to the layout of this module.

    ``packed``: 61 rows of PACKED_SIZE int16; ``map_``: see `map_weights`; ``scratch``: for TABLE_SIZE int32.
    """
    records = _records_at()
    for ply in range(61):
        source = packed + i2u(2 * patterns.PACKED_SIZE * ply)
        row = target + i2u(2 * ROW * ply)
        entry = map_
        for k in range(_NUMBER_OF_RECORDS):
            record = records + i2u(4 * _RECORD * k)
            place = scratch + i2u(4 * ldi32(record))
            first = ldi32(record + U(8))
            for _ in range(ldi32(record + U(4))):
                weight = ldi16(source + i2u(2 * ldi32(entry)))
                if first == 0:
                    weight += ldi32(place)
                st32(place, weight)
                entry += U(4)
                place += U(4)
        for k in range(_NUMBER_OF_RECORDS):
            record = records + i2u(4 * _RECORD * k)
            if ldi32(record + U(8)) != 0:
                place = scratch + i2u(4 * ldi32(record))
                own = row + i2u(ldi32(record))
                other = own + U(ROW)
                for _ in range(ldi32(record + U(4))):
                    weight = rounded(ldi32(place))
                    st8(own, weight)
                    st8(other + i2u(ldi32(entry)), weight)
                    entry += U(4)
                    place += U(4)
                    own += U(1)
        weight = ldi16(source + U(2 * patterns.CONSTANT))
        st16(row + U(TABLE_SIZE), weight)
        st16(row + U(ROW + TABLE_SIZE), weight)


@kernel("i64(u64,u64,u64,u64)")
def static_sum(ctx, p, o, features):
    """The unrounded evaluation of (p, o) from scratch, 128 a disc; ``features`` is memory for them."""
    set_features(p, o, features)
    empties = 64 - popc(p | o)
    value = sum_weights(features, weights_row(ctx, U(0), empties))
    step = curve_step(value)
    border = ld64(ctx + U(CURVE)) + U(CURVE_STEPS) + i2u(2 * step)
    low = ldi16(border)
    rest = abs(value) - (step << _UNIT)
    score = low + (((ldi16(border + U(2)) - low) * rest + (1 << (_UNIT - 1))) >> _UNIT)
    if value < 0:
        return -score
    return score
