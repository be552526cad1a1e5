"""The pattern evaluation: features, updated move by move, and the score that the weights give for them.

The features of a position are signed 16-bit numbers, FEATURE_BYTES in all, aligned to 32. For each pattern of
`patterns.TABLES` the feature is the sum of 3**k over its squares with a disc, plus for side 0, minus for side 1. Seen
from side 1 the signs are the opposite. A table's entry for the feature 0, no disc, is in its middle.

Weights are of one of two kinds (`desdaemon.engine.evaluation.weights`), both for the side to move.

Linear ones, at WEIGHTS: a row for each ply, with an int8 for each configuration of each table, in eighths of a disc. As
bytes more of them stay in the cache; rounding changes a score by a quarter of a disc (root mean square).

A network, at NETWORK: a head for each ply, then a table of `LANES` int8 for each configuration, shared by the plies of
a band. The lanes of the position's configurations are added to the head's biases. The first LINEAR_LANES are clamped to
-LINEAR_MOST .. LINEAR_MOST; the others are clamped to 0 .. HIDDEN_ONE and squared; then the head's factors weight and
sum them. It is a network with one hidden layer whose first matrix is looked up. The squares let patterns interact.

The tables at CURVE turn the result into a score: CURVE_STEPS bytes, whole discs for each eighth of a disc of the sum's
absolute value, then CURVE_STEPS + 1 scores of 16 bits, in 128ths of a disc, at the borders of the eighths
(`desdaemon.engine.evaluation.curve`).
"""

from llvmlite import ir

from desdaemon.engine.compiler import interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.evaluation import patterns
from desdaemon.engine.layout import (
    CURVE,
    CURVE_STEP_BITS,
    CURVE_STEPS,
    HEAD_BYTES,
    HEAD_CONSTANT,
    HEAD_FACTORS,
    HEAD_TABLE,
    HIDDEN_ONE,
    LANES,
    LINEAR_LANES,
    LINEAR_MOST,
    LINEAR_SCALE,
    NETWORK,
    NETWORK_SHIFT,
    WEIGHTS,
    WEIGHTS_ROW_BYTES,
    WEIGHTS_TABLE_BYTES,
)

from .bits import U, ctz, i2u, ld64, ldi8, ldi16, ldi32, popc, st8, st16, st32, st64
from .emit import (
    AVX2,
    AVX512,
    TARGET,
    call,
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
    splat,
    store,
    table_address,
    u64,
    vector,
    void,
)

FEATURES = sum(len(table.instances) for table in patterns.TABLES)
"""Number of features of a position, and of look-ups in an evaluation besides the constant."""

# Write 32 bytes at a time: they can be read back sooner than after writes of 64 (Zen 4).
_LANES_AT_ONCE = 16
_AT_A_TIME = ir.VectorType(i16, _LANES_AT_ONCE)
_GROUPS = (FEATURES + 15) // 16
FEATURE_BYTES = 32 * _GROUPS
"""Bytes of a position's features."""

_TURNED_AT_ONCE = 3
"""Turned discs that are added without a loop; few moves turn more."""


def _digits(squares):
    """Return the indices of a table's ``squares`` in the order of its digits, most significant first.

    The board's centre, which changes most, comes last, so that configurations that follow one another in a search are
    close in memory.
    """
    return sorted(range(len(squares)), key=lambda k: -abs(2 * (squares[k] & 7) - 7) - abs(2 * (squares[k] >> 3) - 7))


_ORDERS = [_digits(table.instances[0]) for table in patterns.TABLES]
_SIZES = [3 ** len(order) for order in _ORDERS]
_STARTS = [sum(_SIZES[:k]) for k in range(len(_SIZES))]
TABLE_SIZE = sum(_SIZES)
"""Number of configurations of all tables."""

if TABLE_SIZE != WEIGHTS_TABLE_BYTES:
    raise ValueError(f"the patterns have {TABLE_SIZE} configurations, layout.py says {WEIGHTS_TABLE_BYTES}")
ROW = WEIGHTS_ROW_BYTES

_UNIT = CURVE_STEP_BITS
"""Bits by which the constant is more precise than a weight."""

_POWERS = [[0] * (16 * _GROUPS) for _ in range(65)]
_MIDDLES = []
for _table, _order, _start, _size in zip(patterns.TABLES, _ORDERS, _STARTS, _SIZES, strict=True):
    for _squares in _table.instances:
        for _k, _digit in enumerate(_order):
            _POWERS[_squares[_digit]][len(_MIDDLES)] = 3 ** (len(_order) - 1 - _k)
        _MIDDLES.append(_start + _size // 2)
# One more row, of zeros, to be added for a missing disc.
_POWER_TABLE = [power for row in _POWERS for power in row]


def _emit_update(b, source, target, x, flips, side):
    base = table_address(b, "pattern_powers", _POWER_TABLE, i16)

    def row(square):
        address = b.add(base, b.mul(square, const(FEATURE_BYTES)))
        return [load(b, b.add(address, const(32 * k)), _AT_A_TIME, 32) for k in range(_GROUPS)]

    def next_row(left):
        square = b.call(external(b, "llvm.cttz.i64", i64, [i64, i1]), [left, const(0, i1)])
        return row(square), b.and_(left, b.sub(left, const(1)))

    first, left = next_row(flips)
    for _ in range(_TURNED_AT_ONCE - 1):
        more, left = next_row(left)
        first = [b.add(s, r) for s, r in zip(first, more, strict=True)]
    entry_block = b.block
    loop = b.append_basic_block("update.loop")
    done = b.append_basic_block("update.done")
    b.cbranch(b.icmp_unsigned("!=", left, const(0)), loop, done)
    b.position_at_end(loop)
    rest = b.phi(i64)
    sums = [b.phi(_AT_A_TIME) for _ in range(_GROUPS)]
    more, new_rest = next_row(rest)
    new_sums = [b.add(s, r) for s, r in zip(sums, more, strict=True)]
    for phi, start, following in zip([rest, *sums], [left, *first], [new_rest, *new_sums], strict=True):
        phi.add_incoming(start, entry_block)
        phi.add_incoming(following, loop)
    b.cbranch(b.icmp_unsigned("!=", new_rest, const(0)), loop, done)
    b.position_at_end(done)
    turned_rows = [b.phi(_AT_A_TIME) for _ in range(_GROUPS)]
    for phi, start, following in zip(turned_rows, first, new_sums, strict=True):
        phi.add_incoming(start, entry_block)
        phi.add_incoming(following, loop)
    sign = _sign(b, side)
    for k, (turned, placed) in enumerate(zip(turned_rows, row(x), strict=True)):
        shift = const(32 * k)
        old = load(b, b.add(source, shift), _AT_A_TIME, 32)
        change = b.add(b.add(turned, turned), placed)
        store(b, b.add(old, _signed(b, change, sign)), b.add(target, shift), 32)


def _sign(b, side):
    """Emit the sign for `_signed`: 16-bit lanes with all bits set (-1) for side 1, zeros for side 0."""
    return splat(b, b.trunc(b.sub(const(0), side), i16), _LANES_AT_ONCE)


def _signed(b, numbers, sign):
    return b.sub(b.xor(numbers, sign), sign)


def _update(source, target, x, flips, side):
    """Do what `update_features` does, pattern by pattern, for kernels that run as Python."""
    turned = [square for square in range(64) if flips >> square & 1]
    for place in range(16 * _GROUPS):
        change = 2 * sum(_POWERS[square][place] for square in turned) + _POWERS[x][place]
        old = interpreted.load(source + 2 * place, 2, signed=True)
        interpreted.store(target + 2 * place, 2, old - change if side else old + change)


update_features = simple(_emit_update, _update, void, u64, u64, u64, u64, u64)
"""(source, target, square, flips, side): write to ``target`` the features at ``source`` after ``side`` (0 or 1) has
played ``square`` and turned ``flips``.
"""


def _entries(b, features, side):
    """Emit code that finds the table entries of the position in ``features`` for ``side``, the mover. Yields their
    indices, counted from the start of the first table, in vectors of 16 int32.
    """
    sign = _sign(b, side)
    kind = ir.VectorType(i32, _LANES_AT_ONCE)
    middles = table_address(b, "pattern_middles", _MIDDLES + [0] * (-FEATURES % _LANES_AT_ONCE), i32)
    for k in range(_GROUPS):
        seen = _signed(b, load(b, b.add(features, const(32 * k)), _AT_A_TIME, 32), sign)
        yield b.add(b.sext(seen, kind), load(b, b.add(middles, const(64 * k)), kind, 64))


def _addresses(b, features, side, base, size):
    """Emit code that finds the table entries of the position in ``features`` for ``side``, the mover. Yields the
    address of each; the tables begin at ``base``, an entry has ``size`` bytes.

    The features are read one by one as they were stored, which is faster than to read vectors, change their signs and
    store them again. XOR with all ones gives the negative minus 1; ``base`` makes up for that.
    """
    sign = b.sub(const(0), side)
    base = b.sub(base, b.mul(sign, const(size)))
    for k, middle in enumerate(_MIDDLES):
        number = b.xor(b.sext(load(b, b.add(features, const(2 * k)), i16, 2), i64), sign)
        yield b.add(b.add(base, const(size * middle)), b.mul(number, const(size)))


def _gathered(b, features, weights, side, lanes):
    """Emit code that adds up the ply's weights for ``side``, the mover, without the constant. It gathers ``lanes``
    words at once: 32 bits from the address of each weight, of which the lower 8 are the weight.
    """
    kind, mask_kind = ir.VectorType(i32, lanes), ir.VectorType(i1, lanes)
    base, zero = b.inttoptr(weights, i8.as_pointer()), vector([0] * lanes, i32)
    total = zero
    for group, entries in enumerate(_entries(b, features, side)):
        for first in range(0, _LANES_AT_ONCE, lanes):
            chosen = ir.Constant(ir.VectorType(i32, lanes), [const(first + k, i32) for k in range(lanes)])
            index = b.shuffle_vector(entries, ir.Constant(entries.type, ir.Undefined), chosen)
            used = [int(_LANES_AT_ONCE * group + first + k < FEATURES) for k in range(lanes)]
            if lanes == 16:
                mask = ir.Constant(mask_kind, [const(u, i1) for u in used])
                function = external(
                    b, "llvm.x86.avx512.mask.gather.dpi.512", kind, [kind, i8.as_pointer(), kind, mask_kind, i32]
                )
                words = b.call(function, [zero, base, index, mask, const(1, i32)])
            else:
                mask = vector([-u for u in used], i32)
                function = external(b, "llvm.x86.avx2.gather.d.d.256", kind, [kind, i8.as_pointer(), kind, kind, i8])
                words = b.call(function, [zero, base, index, mask, const(1, i8)])
            above = vector([24] * lanes, i32)
            total = b.add(total, b.ashr(b.shl(words, above), above))
    return reduce(b, "add", total)


def _loaded(b, features, weights, side):
    """Emit code that adds up the ply's weights for ``side``, the mover, without the constant, one load for each."""
    total = const(0, i32)
    for address in _addresses(b, features, side, weights, 1):
        total = b.add(total, b.sext(load(b, address, i8, 1), i32))
    return total


def _emit_sum(b, features, weights, side):
    # AMD's gathers are microcode: single loads are faster (26 against 33 ns with the update, measured on Zen 4).
    if AVX512 and not TARGET.cpu.startswith("znver"):
        total = _gathered(b, features, weights, side, 16)
    elif AVX2 and not TARGET.cpu.startswith("znver"):
        total = _gathered(b, features, weights, side, 8)
    else:
        total = _loaded(b, features, weights, side)
    constant = b.sext(load(b, b.add(weights, const(TABLE_SIZE)), i16, 1), i32)
    return b.sext(b.add(b.shl(total, const(_UNIT, i32)), constant), i64)


def _seen(features, side):
    """Return a list of the indices that the code of `_entries` computes, for kernels that run as Python."""
    numbers = [interpreted.load(features + 2 * k, 2, signed=True) for k in range(FEATURES)]
    return [middle + (-number if side else number) for middle, number in zip(_MIDDLES, numbers, strict=True)]


def _sum(features, weights, side):
    total = sum(interpreted.load(weights + entry, 1, signed=True) for entry in _seen(features, side))
    return (total << _UNIT) + interpreted.load(weights + TABLE_SIZE, 2, signed=True)


sum_weights = simple(_emit_sum, _sum, s64, u64, u64, u64)
"""(features, address of a row of weights, mover's side) -> sum of the position's weights, in 128ths of a disc."""

_LEAST = [-LINEAR_MOST] * LINEAR_LANES + [0] * (LANES - LINEAR_LANES)
_MOST = [LINEAR_MOST] * LINEAR_LANES + [HIDDEN_ONE] * (LANES - LINEAR_LANES)


def _emit_network(b, features, head, side):
    kind = ir.VectorType(i16, LANES)
    table_ = b.add(head, load(b, b.add(head, const(HEAD_TABLE)), i64, 8))
    # Two chains of additions, for the processor to work on both at once.
    sums = [load(b, head, kind, 32), vector([0] * LANES, i16)]
    for k, address in enumerate(_addresses(b, features, side, table_, LANES)):
        lanes = load(b, address, ir.VectorType(i8, LANES), LANES)
        sums[k & 1] = b.add(sums[k & 1], b.sext(lanes, kind))
    hidden = b.add(*sums)
    name = f"v{LANES}i16"
    hidden = call(b, f"llvm.smax.{name}", kind, hidden, vector(_LEAST, i16))
    hidden = call(b, f"llvm.smin.{name}", kind, hidden, vector(_MOST, i16))
    is_linear = ir.Constant(ir.VectorType(i1, LANES), [const(int(k < LINEAR_LANES), i1) for k in range(LANES)])
    hidden = b.mul(hidden, b.select(is_linear, vector([LINEAR_SCALE] * LANES, i16), hidden))
    wide = ir.VectorType(i32, LANES)
    factors = load(b, b.add(head, const(HEAD_FACTORS)), kind, 32)
    total = reduce(b, "add", b.mul(b.sext(hidden, wide), b.sext(factors, wide)))
    total = b.add(total, load(b, b.add(head, const(HEAD_CONSTANT)), i32, 4))
    return b.sext(b.ashr(total, const(NETWORK_SHIFT, i32)), i64)


def _network(features, head, side):
    table_ = head + interpreted.load(head + HEAD_TABLE, 8, signed=False)
    total = interpreted.load(head + HEAD_CONSTANT, 4, signed=True)
    entries = _seen(features, side)
    for lane in range(LANES):
        hidden = interpreted.load(head + 2 * lane, 2, signed=True)
        hidden += sum(interpreted.load(table_ + LANES * entry + lane, 1, signed=True) for entry in entries)
        hidden = max(_LEAST[lane], min(_MOST[lane], hidden))
        hidden *= LINEAR_SCALE if lane < LINEAR_LANES else hidden
        total += hidden * interpreted.load(head + HEAD_FACTORS + 2 * lane, 2, signed=True)
    return total >> NETWORK_SHIFT


network_sum = simple(_emit_network, _network, s64, u64, u64, u64)
"""(features, address of a head, mover's side) -> the network's result, in 128ths of a disc."""


@kernel("void(u64,u64,u64)")
def set_features(p, o, target):
    """Write the features of a position to FEATURE_BYTES at ``target``. The owner of the discs ``p`` is side 0, that of
    ``o`` side 1.
    """
    for k in range(FEATURE_BYTES // 8):
        st64(target + i2u(8 * k), U(0))
    while p:
        update_features(target, target, ctz(p), U(0), U(0))
        p &= p - U(1)
    while o:
        update_features(target, target, ctz(o), U(0), U(1))
        o &= o - U(1)


@kernel("i64(u64,u64,u64,i64)", inline=True)
def weighted_result(ctx, features, side, empties):
    """Return what the network or the linear weights give for ``side``, the side to move, before the curve, in 128ths of
    a disc. Sides are numbered as in `evaluate`.
    """
    ply = 60 - empties
    # Boards set up by hand may have fewer than four discs.
    if ply < 0:
        ply = 0
    network = ld64(ctx + U(NETWORK))
    if network:
        return network_sum(features, network + i2u(ply * HEAD_BYTES), side)
    return sum_weights(features, ld64(ctx + U(WEIGHTS)) + i2u(ply * ROW), side)


@kernel("i64(i64)", inline=True)
def curve_step(value):
    """Return the index of ``value``, in 128ths of a disc of either sign, in the tables of the score curve, at most
    CURVE_STEPS - 1.
    """
    step = abs(value) >> _UNIT
    if step > CURVE_STEPS - 1:
        step = CURVE_STEPS - 1
    return step


@kernel("i64(u64,u64,u64,i64)", inline=True)
def evaluate(ctx, features, side, empties):
    """Return the static score in whole discs, -63..63, for the side to move. ``side`` is its number in ``features``: 0
    if its discs are counted with a plus there, 1 if with a minus.
    """
    value = weighted_result(ctx, features, side, empties)
    score = ldi8(ld64(ctx + U(CURVE)) + i2u(curve_step(value)))
    if value < 0:
        return -score
    return score


# A record for each class that is part of a table: where the table begins, its size, whether the class is the table's
# first, where the class begins among all classes' configurations, its number of digits, and the value of each digit
# in a number of the table.
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

MAP_SIZE = sum(_RECORDS[1::_RECORD])
"""Entries (int32) of the map that `map_weights` writes and the expanding kernels read."""

# The patterns' digits for the digits of an entry's number: opponent, empty, side to move.
_DIGITS = (patterns.OPPONENT, patterns.EMPTY, patterns.OWN)
_digits_at = constant_table("pattern_digits", _DIGITS, i32)


@kernel("void(u64,u64)")
def map_weights(places, target):
    """Write, for each configuration of each part of each table, the index of its weight among the packed ones.

    ``places`` is the address of the numbers that `patterns.packing` returns, ``target`` that of MAP_SIZE int32.
    """
    records = _records_at()
    for k in range(_NUMBER_OF_RECORDS):
        record = records + i2u(4 * _RECORD * k)
        for number in range(ldi32(record + U(4))):
            own = 0
            for j in range(ldi32(record + U(16))):
                value = i2u(ldi32(record + i2u(20 + 4 * j)))
                own = own * 3 + ldi32(_digits_at() + ((i2u(number) // value) % U(3) << U(2)))
            st32(target, ldi32(places + i2u(4 * (ldi32(record + U(12)) + own))))
            target += U(4)


@kernel("i64(i64)", inline=True)
def rounded(weight):
    """Return a weight in 128ths of a disc rounded to eighths, halves away from 0, clamped to -127..127."""
    half = 1 << (_UNIT - 1)
    size = (half + abs(weight)) >> _UNIT
    if size > 127:
        size = 127
    if weight < 0:
        return -size
    return size


@kernel("void(u64,u64,u64,u64)")
def expand_weights(packed, map_, scratch, target):
    """Expand packed weights to 61 rows of linear weights at ``target``, as `sum_weights` reads them.

    All arguments are addresses: ``packed`` of 61 rows of PACKED_SIZE int16, ``map_`` of what `map_weights` wrote,
    ``scratch`` of room for TABLE_SIZE int32.
    """
    records = _records_at()
    for ply in range(61):
        source = packed + i2u(2 * patterns.PACKED_SIZE * ply)
        row = target + i2u(ROW * ply)
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
        for number in range(TABLE_SIZE):
            st8(row + i2u(number), rounded(ldi32(scratch + i2u(4 * number))))
        st16(row + U(TABLE_SIZE), ldi16(source + U(2 * patterns.CONSTANT)))


@kernel("void(u64,u64,u64)")
def expand_network(packed, map_, target):
    """Expand one band's packed lanes into its table at ``target``, by the map that `map_weights` wrote at ``map_``.

    ``packed`` is the address of LANES rows of PACKED_SIZE int8. Only weights of a table's full width are used, not
    those of its parts.
    """
    records = _records_at()
    entry = map_
    for k in range(_NUMBER_OF_RECORDS):
        record = records + i2u(4 * _RECORD * k)
        size = ldi32(record + U(4))
        place = target + i2u(LANES * ldi32(record))
        widest = 1
        for _ in range(ldi32(record + U(16))):
            widest *= 3
        if widest == size:
            for number in range(size):
                source = packed + i2u(ldi32(entry + i2u(4 * number)))
                for _ in range(LANES):
                    st8(place, ldi8(source))
                    place += U(1)
                    source += U(patterns.PACKED_SIZE)
        entry += i2u(4 * size)


@kernel("i64(u64,u64,u64,u64)")
def static_sum(ctx, p, o, features):
    """Return the unrounded evaluation of (p, o) for ``p``, in 128ths of a disc. The position's features are written to
    FEATURE_BYTES at ``features``.
    """
    set_features(p, o, features)
    empties = 64 - popc(p | o)
    value = weighted_result(ctx, features, U(0), empties)
    step = curve_step(value)
    border = ld64(ctx + U(CURVE)) + U(CURVE_STEPS) + i2u(2 * step)
    low = ldi16(border)
    rest = abs(value) - (step << _UNIT)
    score = low + (((ldi16(border + U(2)) - low) * rest + (1 << (_UNIT - 1))) >> _UNIT)
    if value < 0:
        return -score
    return score
