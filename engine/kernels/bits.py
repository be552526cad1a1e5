"""Bits, memory, and the rules of the game on pairs of 64-bit words (A1 = bit 0, H8 = bit 63).

An intrinsic is a function whose LLVM code is emitted here. Its arguments and result are scalars; inside it LLVM keeps
vectors in registers. Instructions that the target lacks are never emitted (`emit`), because LLVM would abort.

numba computes with floats where a ``uint64`` meets an ``int64``: convert one of them by `u2i` or `i2u`, and write
constants with `U`.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from desdaemon.engine.compiler import INTERPRETED, interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.protocol.othello import rules

from .emit import (
    AVX2,
    AVX512,
    BMI2,
    GFNI,
    MASK,
    U,
    call,
    const,
    external,
    i1,
    i8,
    i16,
    i32,
    i64,
    load,
    lookup64,
    reduce,
    s64,
    simple,
    splat,
    table_address,
    table_element,
    u64,
    v4,
    vector,
    void,
)

# ---------------------------------------------------------------------------------------------------- words

i2u = simple(lambda b, a: a, lambda a: a, u64, s64)
u2i = simple(lambda b, a: a, lambda a: a - (a >> 63 << 64), s64, u64)
popc = simple(lambda b, a: call(b, "llvm.ctpop.i64", i64, a), int.bit_count, s64, u64)
bit = simple(lambda b, x: b.shl(const(1), x), lambda x: 1 << x, u64, u64)
blsr = simple(lambda b, a: b.and_(a, b.sub(a, const(1))), lambda a: a & (a - 1), u64, u64)
byte_swap = simple(
    lambda b, a: call(b, "llvm.bswap.i64", i64, a),
    lambda a: int.from_bytes(a.to_bytes(8, "little"), "big"),
    u64,
    u64,
)


def _zeros(name, undefined):
    return lambda b, a: b.call(external(b, name, i64, [i64, i1]), [a, const(undefined, i1)])


def _lowest(a):
    if a == 0:
        raise ValueError("ctz(0) is undefined")
    return (a & -a).bit_length() - 1


# ctz(0) is undefined, which spares a branch where the host lacks TZCNT; clz(0) is 64.
ctz = simple(_zeros("llvm.cttz.i64", 1), _lowest, u64, u64)
clz = simple(_zeros("llvm.ctlz.i64", 0), lambda a: 64 - a.bit_length(), u64, u64)


def _emit_folded_product(b, x, y):
    wide = ir.IntType(128)
    product = b.mul(b.zext(x, wide), b.zext(y, wide))
    return b.xor(b.trunc(product, i64), b.trunc(b.lshr(product, const(64, wide)), i64))


def _folded_product(x, y):
    product = x * y
    return (product ^ product >> 64) & MASK


folded_product = simple(_emit_folded_product, _folded_product, u64, u64, u64)
"""(a, b) -> XOR of the two halves of their 128-bit product."""

# ---------------------------------------------------------------------------------------------------- memory


def _loader(kind, signed):
    def emit(b, address):
        value = b.load(b.inttoptr(address, kind.as_pointer()))
        return value if kind is i64 else (b.sext if signed else b.zext)(value, i64)

    size = kind.width // 8
    return simple(emit, lambda address: interpreted.load(address, size, signed), s64 if signed else u64, u64)


def _storer(kind, argument):
    def emit(b, address, value):
        b.store(value if kind is i64 else b.trunc(value, kind), b.inttoptr(address, kind.as_pointer()))

    size = kind.width // 8
    return simple(emit, lambda address, value: interpreted.store(address, size, value), void, u64, argument)


ld64, ldu8, ldu16, ldu32 = (_loader(kind, False) for kind in (i64, i8, i16, i32))
lds64, ldi8, ldi16, ldi32 = (_loader(kind, True) for kind in (i64, i8, i16, i32))
st64 = _storer(i64, u64)
sts64, st8, st16, st32 = (_storer(kind, s64) for kind in (i64, i8, i16, i32))

# Words that threads share without a lock. Relaxed order: each access reads or writes the whole word once, is never
# split, repeated, left out or moved out of a loop, and orders no other word.
poll64 = simple(
    lambda b, a: b.load_atomic(b.inttoptr(a, i64.as_pointer()), "monotonic", 8),
    lambda a: interpreted.poll(a),
    u64,
    u64,
)
post64 = simple(
    lambda b, a, v: b.store_atomic(v, b.inttoptr(a, i64.as_pointer()), "monotonic", 8),
    lambda a, v: interpreted.post(a, v),
    void,
    u64,
    u64,
)
# Sequentially consistent accesses, by which threads agree. Those that change a word return the old one.
atomic_add64 = simple(
    lambda b, a, v: b.atomic_rmw("add", b.inttoptr(a, i64.as_pointer()), v, "seq_cst"),
    lambda a, v: interpreted.add(a, v),
    u64,
    u64,
    u64,
)
exchange64 = simple(
    lambda b, a, v: b.atomic_rmw("xchg", b.inttoptr(a, i64.as_pointer()), v, "seq_cst"),
    lambda a, v: interpreted.exchange(a, v),
    u64,
    u64,
    u64,
)
agreed64 = simple(
    lambda b, a: b.load_atomic(b.inttoptr(a, i64.as_pointer()), "seq_cst", 8),
    lambda a: interpreted.agreed(a),
    u64,
    u64,
)


def _emit_hook(b, function, reason, thread):
    kind = ir.FunctionType(i64, [i64, i64])
    return b.call(b.inttoptr(function, kind.as_pointer()), [reason, thread])


call_hook = simple(_emit_hook, lambda f, r, t: interpreted.call_hook(f, r, t), s64, u64, s64, u64)
"""(address, reason, thread) -> result of the C function i64(i64, i64) at the address, called with the reason (a
HOOK_... of `layout`) and the thread's number.
"""


def _emit_prefetch(b, address):
    pointer = i8.as_pointer()
    function = external(b, "llvm.prefetch.p0", ir.VoidType(), [pointer, i32, i32, i32])
    b.call(function, [b.inttoptr(address, pointer), const(0, i32), const(3, i32), const(1, i32)])


prefetch = simple(_emit_prefetch, lambda address: None, void, u64)


@intrinsic(prefer_literal=True)
def _stack_buf(context, size):
    """Return the address of ``size`` bytes (a literal) in the caller's stack frame, aligned to 64."""
    if not isinstance(size, types.IntegerLiteral):
        return None
    count = size.literal_value

    def generate(context, b, signature, arguments):
        with b.goto_entry_block():
            buffer = b.alloca(ir.ArrayType(i8, count))
            buffer.align = 64
        return b.ptrtoint(buffer, i64)

    return u64(types.IntegerLiteral(count)), generate


stack_buf = interpreted.stack_buf if INTERPRETED else _stack_buf


# ---------------------------------------------------------------------------------------------------- geometry

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (-1, 1))
"""Steps (columns, rows) to higher bits: east, south, south-east, south-west. `SHIFTS` has them as bits."""

SHIFTS = (1, 8, 9, 7)


def _ray(square, dx, dy):
    mask = 0
    x, y = (square & 7) + dx, (square >> 3) + dy
    while 0 <= x < 8 and 0 <= y < 8:
        mask |= 1 << (x + 8 * y)
        x, y = x + dx, y + dy
    return mask


UP_RAYS = [[_ray(square, dx, dy) for dx, dy in DIRECTIONS] for square in range(64)]
DOWN_RAYS = [[_ray(square, -dx, -dy) for dx, dy in DIRECTIONS] for square in range(64)]
_NEIGHBOURS = [
    sum(1 << (x + 8 * y) for x in range(8) for y in range(8) if max(abs(x - (square & 7)), abs(y - (square >> 3))) == 1)
    for square in range(64)
]

neighbours = lookup64("neighbours", _NEIGHBOURS)
"""Square -> mask of the adjacent squares."""

# ---------------------------------------------------------------------------------------------------- legal moves

INNER_COLUMNS = 0x7E7E7E7E7E7E7E7E
_INNER4 = vector((INNER_COLUMNS, (1 << 64) - 1, INNER_COLUMNS, INNER_COLUMNS))


def _emit_moves4(b, p, o):
    """Emit the code of `moves`: four directions in one vector, by floods that double their reach (Kogge-Stone)."""

    def up(v, steps):
        return b.shl(v, vector([s * steps for s in SHIFTS]))

    def down(v, steps):
        return b.lshr(v, vector([s * steps for s in SHIFTS]))

    mover, other = splat(b, p, 4), splat(b, o, 4)
    mask = b.and_(other, _INNER4)
    left, right = b.and_(mask, up(mover, 1)), b.and_(mask, down(mover, 1))
    left = b.or_(left, b.and_(mask, up(left, 1)))
    right = b.or_(right, b.and_(mask, down(right, 1)))
    pairs_up = b.and_(mask, up(mask, 1))
    pairs_down = down(pairs_up, 1)
    for _ in range(2):
        left = b.or_(left, b.and_(pairs_up, up(left, 2)))
        right = b.or_(right, b.and_(pairs_down, down(right, 2)))
    reached = b.or_(up(left, 1), down(right, 1))
    return b.and_(reduce(b, "or", reached), b.not_(b.or_(p, o)))


def _by_lanes(b, data, matrix):
    """Emit code that multiplies the bytes of each 64-bit lane of ``data`` by the 8 x 8 bit matrix in the same lane of
    ``matrix``. Returns the products, a vector like ``data``.
    """
    bytes_ = ir.VectorType(i8, 64)
    product = external(b, "llvm.x86.vgf2p8affineqb.512", bytes_, [bytes_, bytes_, i8])
    return b.bitcast(b.call(product, [b.bitcast(data, bytes_), b.bitcast(matrix, bytes_), const(0, i8)]), data.type)


def emit_moves_of(b, p, o, lanes):
    """Emit code that finds the legal moves of ``lanes`` boards, and return the masks.

    ``p`` (movers), ``o`` (opponents) and the masks are vectors with a lane for each board; scalars if ``lanes`` is 0.
    """

    def every(value):
        return vector([value] * lanes) if lanes else const(value)

    def carried(mover, others):
        # To higher columns: an addition carries a one through the others' discs to the square behind them.
        return b.add(b.and_(b.add(mover, mover), others), others)

    def mirrored(board):
        return _by_lanes(b, board, every(0x8040201008040201))

    def turned(board):
        # About the diagonal from A8 to H1: rows become columns.
        return _by_lanes(b, every(0x0102040810204080), board)

    inner = b.and_(o, every(INNER_COLUMNS))
    reached = carried(p, inner)
    floods = [(1, inner, False), (8, o, True), (9, inner, True), (7, inner, True)]
    if GFNI and lanes == 8:
        reached = b.or_(reached, mirrored(carried(mirrored(p), mirrored(inner))))
        mover, others = turned(p), b.and_(turned(o), every(INNER_COLUMNS))
        back = mirrored(carried(mirrored(mover), mirrored(others)))
        reached = b.or_(reached, turned(b.or_(carried(mover, others), back)))
        floods = floods[2:]
    for step, mask, both in floods:
        pairs_up = b.and_(mask, b.shl(mask, every(step)))
        pairs_down = b.lshr(pairs_up, every(step))
        right = b.and_(mask, b.lshr(p, every(step)))
        right = b.or_(right, b.and_(mask, b.lshr(right, every(step))))
        for _ in range(2):
            right = b.or_(right, b.and_(pairs_down, b.lshr(right, every(2 * step))))
        reached = b.or_(reached, b.lshr(right, every(step)))
        if both:
            left = b.and_(mask, b.shl(p, every(step)))
            left = b.or_(left, b.and_(mask, b.shl(left, every(step))))
            for _ in range(2):
                left = b.or_(left, b.and_(pairs_up, b.shl(left, every(2 * step))))
            reached = b.or_(reached, b.shl(left, every(step)))
    return b.and_(reached, b.not_(b.or_(p, o)))


moves = simple(_emit_moves4 if AVX2 else lambda b, p, o: emit_moves_of(b, p, o, 0), rules.legal_moves, u64, u64, u64)
"""(mover, opponent) -> mask of the mover's legal moves."""

# ---------------------------------------------------------------------------------------------------- flips


def _emit_flip_lanes(b, x, p, o):
    """Emit the code of `flip` with four directions in a vector.

    Upwards, the first square without an opponent's disc is the lowest set bit; downwards it is found by leading zeros,
    which AVX-512 counts in four lanes at once.
    """
    rays = [ray for square in range(64) for ray in UP_RAYS[square] + DOWN_RAYS[square]]
    base = b.add(table_address(b, "rays", rays), b.shl(x, const(6)))
    up, down = load(b, base, v4, 32), load(b, b.add(base, const(32)), v4, 32)
    mover, free = splat(b, p, 4), splat(b, b.not_(o), 4)
    zero, one = vector([0] * 4), vector([1] * 4)
    counts = b.call(external(b, "llvm.ctlz.v4i64", v4, [v4, ir.IntType(1)]), [b.and_(free, down), const(0, i1)])
    # A lane of 64 leading zeros must give no bit: the x86 shift does, LLVM's own would be undefined.
    first = call(b, "llvm.x86.avx2.psrlv.q.256", v4, vector([1 << 63] * 4), counts)
    first = b.and_(first, mover)
    flips_down = b.and_(b.sub(zero, b.shl(first, one)), down)
    first = b.and_(free, up)
    first = b.and_(b.and_(first, b.sub(zero, first)), mover)
    closed = b.icmp_unsigned("!=", first, zero)
    flips_up = b.select(closed, b.and_(b.sub(first, one), up), zero)
    return reduce(b, "or", b.or_(flips_up, flips_down))


_LINES = [[up | down | (1 << s) for up, down in zip(UP_RAYS[s], DOWN_RAYS[s], strict=True)] for s in range(64)]
_LINE_OFFSETS = [256 * (line & ((1 << s) - 1)).bit_count() for s in range(64) for line in _LINES[s]]


def _outflanks(place, others):
    """Return a mask of the squares of a line of 8 where an own disc lets a move on ``place`` turn some of
    ``others``.
    """
    squares = 0
    for step in (1, -1):
        k = place + step
        while 0 <= k < 8 and others >> k & 1:
            k += step
        if 0 <= k < 8 and k != place + step:
            squares |= 1 << k
    return squares


def _between(place, ends):
    squares = 0
    for k in range(8):
        if ends >> k & 1:
            for inner in range(min(k, place) + 1, max(k, place)):
                squares |= 1 << inner
    return squares


def _emit_flip_pext(b, x, p, o):
    lines = [line for square in _LINES for line in square]
    outflanks = [_outflanks(place, others) for place in range(8) for others in range(256)]
    between = [_between(place, ends) for place in range(8) for ends in range(256)]
    first = b.shl(x, const(2))
    flips = None
    for k in range(4):
        index = b.or_(first, const(k))
        line = table_element(b, "lines", lines, index)
        offset = b.zext(table_element(b, "line_offsets", _LINE_OFFSETS, index, i16), i64)
        others = call(b, "llvm.x86.bmi.pext.64", i64, o, line)
        own = call(b, "llvm.x86.bmi.pext.64", i64, p, line)
        ends = b.and_(table_element(b, "outflanks", outflanks, b.or_(offset, others), i8), b.trunc(own, i8))
        run = table_element(b, "between", between, b.or_(offset, b.zext(ends, i64)), i8)
        turned = call(b, "llvm.x86.bmi.pdep.64", i64, b.zext(run, i64), line)
        flips = turned if flips is None else b.or_(flips, turned)
    return flips


def _emit_flip_flood(b, x, p, o):
    """Emit the code of `flip` for any processor: eight floods of one word each."""
    start = b.shl(const(1), x)
    inner = b.and_(o, const(INNER_COLUMNS))
    flips = const(0)
    for step, mask in zip(SHIFTS, (inner, o, inner, inner), strict=True):
        for shift in (b.shl, b.lshr):
            run = b.and_(mask, shift(start, const(step)))
            run = b.or_(run, b.and_(mask, shift(run, const(step))))
            pairs = b.and_(mask, shift(mask, const(step)))
            run = b.or_(run, b.and_(pairs, shift(run, const(2 * step))))
            run = b.or_(run, b.and_(pairs, shift(run, const(2 * step))))
            closed = b.icmp_unsigned("!=", b.and_(shift(run, const(step)), p), const(0))
            flips = b.or_(flips, b.select(closed, run, const(0)))
    return flips


emit_flip = _emit_flip_lanes if AVX512 else _emit_flip_pext if BMI2 and AVX2 else _emit_flip_flood


flip = simple(emit_flip, lambda x, p, o: rules.flips(p, o, x), u64, u64, u64, u64)
"""(empty square, mover, opponent) -> mask of the discs that a move on the square turns; 0 if it is illegal."""


def _last_count(place, own):
    """Return how much a move on ``place`` (0..7), the only empty square of a line of 8, changes the disc difference by
    flips: twice the discs turned. ``own`` is the mask of the mover's discs on the line.
    """
    total = 0
    for step in (1, -1):
        k = place + step
        run = 0
        while 0 <= k < 8 and not own >> k & 1:
            k += step
            run += 1
        if 0 <= k < 8:
            total += 2 * run
    return total


def _emit_last_flips(b, x, p):
    if not BMI2:
        others = b.xor(b.not_(p), b.shl(const(1), x))
        return b.shl(call(b, "llvm.ctpop.i64", i64, emit_flip(b, x, p, others)), const(1))
    lines = [line for square in _LINES for line in square]
    counts = [_last_count(place, own) for place in range(8) for own in range(256)]
    first = b.shl(x, const(2))
    total = None
    for k in range(4):
        index = b.or_(first, const(k))
        line = table_element(b, "lines", lines, index)
        offset = b.zext(table_element(b, "line_offsets", _LINE_OFFSETS, index, i16), i64)
        own = call(b, "llvm.x86.bmi.pext.64", i64, p, line)
        turned = b.zext(table_element(b, "last_counts", counts, b.or_(offset, own), i8), i64)
        total = turned if total is None else b.add(total, turned)
    return total


last_flips = simple(
    _emit_last_flips,
    lambda x, p: 2 * rules.flips(p & ~(1 << x), MASK & ~(p | 1 << x), x).bit_count(),
    s64,
    u64,
    u64,
)
"""(square, mover) -> twice the number of discs turned by a move on the board's only empty square."""

# ---------------------------------------------------------------------------------------------------- end, symmetries


@kernel("i64(u64,i64)", inline=True)
def final_score(player, empties):
    """Return the score of a finished game in discs for ``player``, empty squares counted for the winner."""
    difference = 2 * popc(player) - 64 + empties
    if difference > 0:
        return difference + empties
    if difference < 0:
        return difference - empties
    return 0


@kernel("u64(u64)", inline=True)
def mirror_columns(b):
    """Return the board with its columns mirrored, A and H exchanged."""
    b = ((b >> U(1)) & U(0x5555555555555555)) | ((b & U(0x5555555555555555)) << U(1))
    b = ((b >> U(2)) & U(0x3333333333333333)) | ((b & U(0x3333333333333333)) << U(2))
    return ((b >> U(4)) & U(0x0F0F0F0F0F0F0F0F)) | ((b & U(0x0F0F0F0F0F0F0F0F)) << U(4))


_TRANSPOSITION = ((0x00AA00AA00AA00AA, 7), (0x0000CCCC0000CCCC, 14), (0x00000000F0F0F0F0, 28))
"""Steps (mask, places) that exchange rows and columns: swap the bits in the mask with the bits that many
places above.
"""


def _emit_transpose(b, board, lanes=0):
    """Emit code that mirrors ``lanes`` boards in a vector, or with 0 lanes a scalar board, at the diagonal A1-H8."""

    def every(value):
        return vector([value] * lanes) if lanes else const(value)

    for mask, shift in _TRANSPOSITION:
        apart = b.and_(b.xor(board, b.lshr(board, every(shift))), every(mask))
        board = b.xor(b.xor(board, apart), b.shl(apart, every(shift)))
    return board


transpose = simple(_emit_transpose, lambda board: rules.transform(board, 4), u64, u64)
"""Board -> its mirror image at the diagonal A1-H8, rows and columns exchanged."""


@kernel("u64(u64,i64)")
def symmetric(b, which):
    """Return board ``b`` under symmetry ``which``: bit 0 mirrors columns, bit 1 rows, then bit 2 transposes."""
    if which & 1:
        b = mirror_columns(b)
    if which & 2:
        b = byte_swap(b)
    if which & 4:
        b = transpose(b)
    return b


def _emit_canonical(b, p, o, out):
    """Emit the code of `canonical`: make the eight images in four vectors and compare them in pairs, in three rounds.

    There are no branches, because which image is the smallest cannot be predicted.
    """
    pair, two = ir.VectorType(i64, 2), ir.Constant(ir.VectorType(i64, 2), ir.Undefined)

    def lanes(x, y, *numbers):
        return b.shuffle_vector(x, y, vector(numbers, i32))

    def smaller(boards, others):
        """Return, lane by lane, the smaller of two boards; each is a pair of vectors (movers, opponents)."""
        (p, o), (x, y) = boards, others
        less = b.icmp_signed("<", o, y)
        less = b.or_(b.icmp_signed("<", p, x), b.and_(b.icmp_signed("==", p, x), less))
        return b.select(less, p, x), b.select(less, o, y)

    board = b.insert_element(b.insert_element(two, p, const(0, i32)), o, const(1, i32))
    both = lanes(board, _emit_transpose(b, board, 2), 0, 1, 2, 3)
    rows = call(b, "llvm.bswap.v4i64", v4, both)
    centre = call(b, "llvm.bitreverse.v4i64", v4, both)
    columns = call(b, "llvm.bswap.v4i64", v4, centre)
    # LLVM compares these vectors as signed numbers.
    sign = vector([1 << 63] * 4)
    images = []
    for x, y in ((both, rows), (centre, columns)):
        images.append([b.xor(lanes(x, y, *places), sign) for places in ((0, 4, 2, 6), (1, 5, 3, 7))])
    least_boards = smaller(*images)
    least_boards = smaller(*([lanes(words, words, *places) for words in least_boards] for places in ((0, 1), (2, 3))))
    least_boards = smaller(least_boards, [lanes(words, words, 1, 0) for words in least_boards])
    least = b.xor(lanes(*least_boards, 0, 2), vector([1 << 63] * 2))
    b.store(least, b.inttoptr(out, pair.as_pointer())).align = 8


def _canonical(p, o, out):
    for place, word in enumerate(rules.canonical(p, o)):
        interpreted.store(out + 8 * place, 8, word)


canonical = simple(_emit_canonical, _canonical, void, u64, u64, u64)
"""(mover, opponent, address): write the smallest of the position's eight images, by mover and then by opponent, to two
words at the address.
"""


@kernel("i64(u64,u64)")
def canonical_symmetry(player, opponent):
    """Return the first symmetry (0..7, see `symmetric`) that makes a position canonical: its smallest image."""
    image = stack_buf(16)
    canonical(player, opponent, image)
    which = 0
    while symmetric(player, which) != ld64(image) or symmetric(opponent, which) != ld64(image + U(8)):
        which += 1
    return which
