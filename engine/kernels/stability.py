"""Discs that can never be turned again, and the bound on the score that follows from them.

The stable discs are a lower bound: on edges by a table of all 3^8 edges; elsewhere discs whose four lines are full,
then, until nothing changes, discs each of whose lines is full or has a stable neighbour of the same side.
"""

from desdaemon.engine.compiler import interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import EDGES
from desdaemon.protocol.othello.rules import A_FILE, H_FILE

from .bits import DIRECTIONS, DOWN_RAYS, SHIFTS, UP_RAYS, U, i2u, ld64, ldu8, popc, st8, u2i
from .emit import BMI2, MASK, call, const, i8, i64, load, lookup8, reduce, simple, splat, u64, vector

_INNER = 0x007E7E7E7E7E7E00


def _line_masks():
    """Return two lists of masks, the first for steps to higher bits, the second for steps to lower ones. Each list has
    three parts, for k = 1, 2 and 4, with a mask for each direction: the squares from which k steps back lead off the
    board.
    """

    def off(dx, dy, k):
        mask = 0
        for square in range(64):
            x, y = (square & 7) - k * dx, (square >> 3) - k * dy
            if not (0 <= x < 8 and 0 <= y < 8):
                mask |= 1 << square
        return mask

    up = [[off(dx, dy, k) for dx, dy in DIRECTIONS] for k in (1, 2, 4)]
    down = [[off(-dx, -dy, k) for dx, dy in DIRECTIONS] for k in (1, 2, 4)]
    return up, down


_OFF_UP, _OFF_DOWN = _line_masks()


def _file_to_byte(b, board, file_mask, shift):
    if BMI2:
        return call(b, "llvm.x86.bmi.pext.64", i64, board, const(file_mask))
    lowered = b.and_(b.lshr(board, const(shift)), const(A_FILE))
    return b.lshr(b.mul(lowered, const(0x0102040810204080)), const(56))


def _byte_to_file(b, byte, file_mask, shift):
    if BMI2:
        return call(b, "llvm.x86.bmi.pdep.64", i64, byte, const(file_mask))
    low = b.and_(b.mul(b.and_(byte, const(0x7F)), const(0x0002040810204081)), const(A_FILE))
    high = b.shl(b.and_(byte, const(0x80)), const(49))
    return b.shl(b.or_(low, high), const(shift))


def _emit_stable(b, p, o, edges):
    def edge(own, other):
        return b.zext(load(b, b.add(edges, b.or_(b.shl(own, const(8)), other)), i8, 1), i64)

    byte = const(255)
    stable = edge(b.and_(p, byte), b.and_(o, byte))
    stable = b.or_(stable, b.shl(edge(b.lshr(p, const(56)), b.lshr(o, const(56))), const(56)))
    for file_mask, shift in ((A_FILE, 0), (H_FILE, 7)):
        own, other = _file_to_byte(b, p, file_mask, shift), _file_to_byte(b, o, file_mask, shift)
        stable = b.or_(stable, _byte_to_file(b, edge(own, other), file_mask, shift))
    taken = splat(b, b.or_(p, o), 4)
    up = down = taken
    for row, k in enumerate((1, 2, 4)):
        steps = vector([s * k for s in (1, 8, 9, 7)])
        up = b.and_(up, b.or_(b.shl(up, steps), vector(_OFF_UP[row])))
        down = b.and_(down, b.or_(b.lshr(down, steps), vector(_OFF_DOWN[row])))
    full = b.and_(up, down)
    inner = b.and_(p, const(_INNER))
    stable = b.or_(stable, b.and_(reduce(b, "and", full), inner))
    entry_block = b.block
    loop = b.append_basic_block("stable.loop")
    done = b.append_basic_block("stable.done")
    b.cbranch(b.icmp_unsigned("!=", stable, const(0)), loop, done)
    b.position_at_end(loop)
    last_stable = b.phi(i64)
    last_stable.add_incoming(stable, entry_block)
    around = splat(b, last_stable, 4)
    steps = vector((1, 8, 9, 7))
    leaning = b.or_(b.or_(b.shl(around, steps), b.lshr(around, steps)), full)
    grown = b.or_(last_stable, b.and_(reduce(b, "and", leaning), inner))
    last_stable.add_incoming(grown, loop)
    b.cbranch(b.icmp_unsigned("!=", grown, last_stable), loop, done)
    b.position_at_end(done)
    result = b.phi(i64)
    result.add_incoming(const(0), entry_block)
    result.add_incoming(grown, loop)
    return result


def _stable(p, o, edges):
    """Return what `stable_discs` does, square by square, for kernels run as Python; ``p`` are the owner's discs."""

    def along(squares):
        """Return a mask of the discs of ``p`` that are stable on the edge ``squares``, by the table at ``edges``."""
        own = sum((p >> s & 1) << k for k, s in enumerate(squares))
        other = sum((o >> s & 1) << k for k, s in enumerate(squares))
        mask = interpreted.load(edges + own * 256 + other, 1, signed=False)
        return sum(1 << s for k, s in enumerate(squares) if mask >> k & 1)

    stable = along(range(8)) | along(range(56, 64)) | along(range(0, 64, 8)) | along(range(7, 64, 8))
    free = ~(p | o)
    full = [
        sum(
            1 << square
            for square in range(64)
            if not free & (UP_RAYS[square][way] | DOWN_RAYS[square][way] | 1 << square) & MASK
        )
        for way in range(len(DIRECTIONS))
    ]
    inner = p & _INNER
    stable |= inner & full[0] & full[1] & full[2] & full[3]
    while stable:
        leaning = inner
        for way, step in enumerate(SHIFTS):
            leaning &= stable << step | stable >> step | full[way]
        if leaning & ~stable == 0:
            break
        stable |= leaning
    return stable


stable_discs = simple(_emit_stable, _stable, u64, u64, u64, u64)
"""(owner's discs, other's discs, address of the edge table) -> mask of stable discs of the owner, perhaps not all."""

# The bound pays only if enough discs can be stable: by empties, the least alpha at which to try.
_TRY_FROM = [99] * 4 + [max(6, 2 * n - 2 if n < 10 else 2 * n) for n in range(4, 61)] + [99] * 3
stability_threshold = lookup8("stability_threshold", [min(value, 99) for value in _TRY_FROM])


@kernel("i64(u64,u64,u64)", inline=True)
def stability_bound(ctx, p, o):
    """Return an upper bound of the score in discs for ``p``: 64 minus twice the number of stable discs of ``o``."""
    return 64 - 2 * popc(stable_discs(o, p, ld64(ctx + U(EDGES))))


@kernel("u64(u64,u64,u64)", inline=True)
def _turned_on_edge(own, other, place):
    """Return a mask of the discs that a move on ``place`` (0..7) turns along an edge; ``own`` and ``other`` are the
    mover's and the opponent's discs on it, masks of 8 bits.
    """
    turned = U(0)
    run = U(0)
    k = place + U(1)
    while k < U(8) and (other >> k) & U(1):
        run |= U(1) << k
        k += U(1)
    if k < U(8) and (own >> k) & U(1):
        turned |= run
    run = U(0)
    k = place
    while k > U(0) and (other >> (k - U(1))) & U(1):
        k -= U(1)
        run |= U(1) << k
    if k > U(0) and (own >> (k - U(1))) & U(1):
        turned |= run
    return turned


@kernel("void(u64)")
def fill_edge_table(address):
    """Fill the table of 65,536 bytes at ``address``: entry own * 256 + other is the mask of own discs on an edge that
    no play along it can turn. Entries whose masks overlap are left as they are.

    Either player may play any empty square at any time, since discs may be turned from elsewhere. Stable discs stay in
    every continuation; edges with fewer empties are computed first.
    """
    for empties in range(9):
        for own in range(256):
            for other in range(256):
                if own & other:
                    continue
                p = i2u(own)
                o = i2u(other)
                free = ~(p | o) & U(255)
                if popc(free) != empties:
                    continue
                stable = p
                x = U(0)
                while x < U(8):
                    if (free >> x) & U(1):
                        f = _turned_on_edge(p, o, x)
                        q = p | f | (U(1) << x)
                        stable &= ldu8(address + (q << U(8)) + (o & ~f)) | (U(1) << x)
                        f = _turned_on_edge(o, p, x)
                        q = o | f | (U(1) << x)
                        stable &= ldu8(address + ((p & ~f) << U(8)) + q)
                    x += U(1)
                st8(address + (p << U(8)) + o, u2i(stable))
