"""The order in which moves are tried: by rank, the sum of small cheap terms, the greatest first.

The weights of the terms were chosen by node counts of the test problems (docs/notes/constants-of-the-search.md).
"""

from llvmlite import ir

from desdaemon.engine.compiler import INTERPRETED, interpreted
from desdaemon.engine.compiler.jit import kernel
from desdaemon.protocol.othello.rules import CORNERS

from .bits import INNER_COLUMNS, U, bit, blsr, ctz, emit_flip, emit_moves_of, flip, i2u, ld64, moves, popc, st64
from .emit import (
    BYTE_COMPRESSION,
    call,
    const,
    external,
    i1,
    i8,
    i32,
    i64,
    load,
    lookup8,
    lookup64,
    reduce,
    simple,
    splat,
    store,
    u64,
    v8,
    vector,
)

QUADRANTS = (0x000000000F0F0F0F, 0x00000000F0F0F0F0, 0x0F0F0F0F00000000, 0xF0F0F0F000000000)
quadrant = lookup64("quadrant", [QUADRANTS[((s & 7) >> 2) + 2 * (s >> 5)] for s in range(64)])
"""Square -> mask of the 16 squares of its quadrant."""

# Ranks of the ten kinds of squares: corners first, X-squares last.
_RANKS = ((18, 4, 16, 12), (4, 2, 6, 8), (16, 6, 14, 10), (12, 8, 10, 0))
_SQUARE_RANKS = [_RANKS[min(s >> 3, 7 - (s >> 3))][min(s & 7, 7 - (s & 7))] for s in range(64)]
square_rank = lookup8("square_rank", _SQUARE_RANKS)


@kernel("u64(u64)", inline=True)
def odd_quadrants(empty):
    """Return a mask of the quadrants with an odd number of empty squares; ``empty`` is the mask of these squares."""
    odd = U(0)
    while empty:
        odd ^= quadrant(ctz(empty))
        empty = blsr(empty)
    return odd


@kernel("i64(u64)", inline=True)
def weighted_mobility(moves_):
    """Return the number of moves in the mask, corners counted twice."""
    return popc(moves_) + popc(moves_ & U(CORNERS))


@kernel("i64(u64,u64)", inline=True)
def potential_mobility(p, empty):
    """Return the number of squares of the mask ``empty`` next to the discs ``p``, where the other side may be able to
    move later. Discs on the files A and H count only along their file.
    """
    inner = p & U(INNER_COLUMNS)
    across = (inner << U(1)) | (inner >> U(1))
    wide = p | across
    return popc((across | (wide << U(8)) | (wide >> U(8))) & empty)


_C_SQUARES = 0x4281000000008142


@kernel("i64(u64)", inline=True)
def corner_stability(p):
    """Return the number of ``p``'s discs on corners and on C-squares next to its own corners.

    The cheap shift takes A2 for a neighbour of H1, and H7 for one of A8.
    """
    corners = p & U(CORNERS)
    beside = ((corners << U(1)) | (corners >> U(1)) | (corners << U(8)) | (corners >> U(8))) & p
    return popc(corners) + popc(beside & U(_C_SQUARES))


# Ranks of the table's moves: more than the terms of any other move add up to.
FIRST_TABLE_MOVE = 1 << 24
SECOND_TABLE_MOVE = 1 << 23
SECOND_TABLE_MOVE_SEARCHED = 1 << 29
"""Rank of the table's second move in the general search, where other moves may rank above SECOND_TABLE_MOVE."""

# Weights of the terms, as shifts. Those of mobility and corners differ for the exact solver (`kernels.endgame`),
# searches to the end above it, and searches before the end. A mobility counts as `_MOST_MOVES` minus it.
_MOST_MOVES = 40
SOLVER_MOBILITY, EXACT_MOBILITY, MOBILITY = 12, 11, 8
SOLVER_CORNERS, EXACT_CORNERS, CORNER_STABILITY = 9, 9, 6
_POTENTIAL_MOBILITY = 4
_ODD_QUADRANT = 1 << 5
_VALUE = 9
_IN_TABLE = 1 << 10

# Five times eight rows: the vectors fill eight at a time, and no position has more than 33 moves.
RANKED_COLUMN = 8 * 40
RANKED_BYTES = 3 * RANKED_COLUMN
"""Bytes of `rank_moves`' output, which is aligned to 64: three columns of words with a row for each move.

The columns are the key (rank << 16 | square << 8 | row), the mask of the discs that the move turns, and the mask of the
opponent's replies.
"""


@kernel("i64(i64,u64)", inline=True)
def looked_at(value, data):
    """Return what a shallow search after a move adds to the move's rank: ``value`` is the search's score in discs for
    the mover, ``data`` the table's data word for the position after the move, 0 for none.
    """
    rank = (64 + value) << _VALUE
    if data:
        rank += _IN_TABLE
    return rank


def _emit_flips_of_eight(b, p, o, legal):
    """Emit code for the discs that the first eight of the moves ``legal`` turn. Returns a vector with a mask for each
    of these moves, and the mask of the other moves.
    """
    entry_block = b.block
    loop, done = b.append_basic_block("flips.loop"), b.append_basic_block("flips.done")
    b.branch(loop)
    b.position_at_end(loop)
    waiting, lane, turned = b.phi(i64), b.phi(i8), b.phi(v8)
    x = b.call(external(b, "llvm.cttz.i64", i64, [i64, i1]), [waiting, const(1, i1)])
    here = b.bitcast(lane, ir.VectorType(i1, 8))
    grown = b.select(here, splat(b, emit_flip(b, x, p, o), 8), turned)
    left, next_lane = b.and_(waiting, b.sub(waiting, const(1))), b.shl(lane, const(1, i8))
    for phi, value, next_value in (
        (waiting, legal, left),
        (lane, const(1, i8), next_lane),
        (turned, vector([0] * 8), grown),
    ):
        phi.add_incoming(value, entry_block)
        phi.add_incoming(next_value, loop)
    more = b.and_(b.icmp_unsigned("!=", left, const(0)), b.icmp_unsigned("!=", next_lane, const(0, i8)))
    b.cbranch(more, loop, done)
    b.position_at_end(done)
    return grown, left


def _every(value):
    return vector([value] * 8)


def _each(b, word):
    return splat(b, word, 8)


def _number(b, words):
    return call(b, "llvm.ctpop.v8i64", v8, words)


def _of_squares(b, legal, values):
    """Emit code for a vector of the entries in ``values``, which has one for each square, of the first eight of the
    moves ``legal``.
    """
    kind = ir.VectorType(i8, 64)
    squares = b.bitcast(legal, ir.VectorType(i1, 64))
    compress = external(b, "llvm.x86.avx512.mask.compress.v64i8", kind, [kind, kind, squares.type])
    chosen = b.call(compress, [vector(values, i8), vector([0] * 64, i8), squares])
    return b.zext(b.shuffle_vector(chosen, chosen, vector(range(8), i32)), v8)


def _added_where(b, rank, condition, value):
    return b.add(rank, b.select(condition, _every(value), _every(0)))


class _EightMoves:
    """Emits code that makes the first eight of the moves ``legal``, each in a lane of 64 bits.

    A lane without a move has undefined values.
    """

    def __init__(self, b, p, o, legal):
        self._b = b
        self._legal = legal
        self.turned, self._left = _emit_flips_of_eight(b, p, o, legal)
        self.x = _of_squares(b, legal, range(64))
        self.here = b.shl(_every(1), self.x)
        self._q = b.xor(_each(b, o), self.turned)
        self.r = b.or_(b.or_(_each(b, p), self.turned), self.here)
        self.replies = emit_moves_of(b, self._q, self.r, 8)

    def mobility(self):
        """Emit `weighted_mobility` of the replies."""
        b = self._b
        return b.add(_number(b, self.replies), _number(b, b.and_(self.replies, _every(CORNERS))))

    def in_odd(self, odd):
        """Emit the comparison whether moves are in the quadrants ``odd``."""
        return self._b.icmp_unsigned("!=", self._b.and_(self.here, _each(self._b, odd)), _every(0))

    def store(self, rank, n, ranked):
        """Emit the storing of the rows from ``n`` on. Returns the mask of the other moves; all squares if a move takes
        the opponent's last disc.
        """
        b = self._b
        numbers = b.add(_each(b, n), vector(range(8)))
        key = b.or_(b.shl(rank, _every(16)), b.or_(b.shl(self.x, _every(8)), numbers))
        used = b.icmp_unsigned("<", vector(range(8)), _each(b, call(b, "llvm.ctpop.i64", i64, self._legal)))
        row = b.add(ranked, b.shl(n, const(3)))
        for column, words in enumerate((b.select(used, key, _every(0)), self.turned, self.replies)):
            store(b, words, b.add(row, const(column * RANKED_COLUMN)), 64)
        wiped = b.icmp_unsigned("!=", b.bitcast(b.icmp_unsigned("==", self._q, _every(0)), i8), const(0, i8))
        return b.select(wiped, const(-1), self._left)


def _emit_rank_eight(b, p, o, legal, odd, first, second, mobility_shift, corner_shift, n, ranked):
    """Emit the code of `_rank_eight`; rows without a move get the key 0, their other columns are undefined."""
    made = _EightMoves(b, p, o, legal)
    r = made.r
    corners = b.and_(r, _every(CORNERS))
    beside = b.or_(b.or_(b.shl(corners, _every(1)), b.lshr(corners, _every(1))), b.shl(corners, _every(8)))
    beside = b.and_(b.and_(b.or_(beside, b.lshr(corners, _every(8))), r), _every(_C_SQUARES))
    inner = b.and_(r, _every(INNER_COLUMNS))
    across = b.or_(b.shl(inner, _every(1)), b.lshr(inner, _every(1)))
    wide = b.or_(r, across)
    around = b.or_(across, b.or_(b.shl(wide, _every(8)), b.lshr(wide, _every(8))))
    potential = _number(b, b.and_(around, b.xor(_each(b, b.not_(b.or_(p, o))), made.here)))
    rank = b.shl(b.sub(_every(_MOST_MOVES), made.mobility()), _each(b, mobility_shift))
    rank = b.add(rank, b.shl(_number(b, b.or_(corners, beside)), _each(b, corner_shift)))
    rank = b.add(rank, b.shl(b.sub(_every(_MOST_MOVES), potential), _every(_POTENTIAL_MOBILITY)))
    rank = b.add(rank, _of_squares(b, legal, _SQUARE_RANKS))
    rank = _added_where(b, rank, made.in_odd(odd), _ODD_QUADRANT)
    rank = _added_where(b, rank, b.icmp_unsigned("==", made.x, _each(b, second)), SECOND_TABLE_MOVE)
    rank = _added_where(b, rank, b.icmp_unsigned("==", made.x, _each(b, first)), FIRST_TABLE_MOVE)
    return made.store(rank, n, ranked)


def _emit_rank_by_mobility(b, p, o, legal, odd, ranked):
    """Emit the code of `_rank_eight_by_mobility`, like `_emit_rank_eight`."""
    made = _EightMoves(b, p, o, legal)
    rank = b.shl(b.sub(_every(_MOST_MOVES), made.mobility()), _every(1))
    return made.store(_added_where(b, rank, made.in_odd(odd), 1), const(0), ranked)


# Replies and ranks of eight moves together take some 150 instructions, as many as those of one.
if BYTE_COMPRESSION and not INTERPRETED:
    _rank_eight = simple(_emit_rank_eight, None, u64, *[u64] * 10)
    _rank_eight_by_mobility = simple(_emit_rank_by_mobility, None, u64, *[u64] * 5)
else:

    @kernel("u64(u64,u64,u64,u64,u64,u64,u64,u64,u64,u64)", inline=True)
    def _rank_eight(p, o, legal, odd, first, second, mobility_shift, corner_shift, n, ranked):
        """Fill the rows ``n`` to ``n + 7`` of `rank_moves`' output for the first eight of the moves ``legal``; rows
        without a move get the key 0. The other parameters are those of `rank_moves`.

        Returns the mask of the other moves; all squares if a move takes the opponent's last disc.
        """
        free = ~(p | o)
        row = ranked + (n << U(3))
        end = row + U(64)
        while row < end and legal:
            x = ctz(legal)
            legal = blsr(legal)
            f = flip(x, p, o)
            here = bit(x)
            q = o ^ f
            r = p | f | here
            if q == U(0):
                return ~U(0)
            replies = moves(q, r)
            rank = i2u(_MOST_MOVES - weighted_mobility(replies)) << mobility_shift
            rank += i2u(corner_stability(r)) << corner_shift
            rank += i2u(_MOST_MOVES - potential_mobility(r, free ^ here)) << U(_POTENTIAL_MOBILITY)
            rank += i2u(square_rank(x))
            if odd & here:
                rank += U(_ODD_QUADRANT)
            if x == second:
                rank += U(SECOND_TABLE_MOVE)
            if x == first:
                rank += U(FIRST_TABLE_MOVE)
            st64(row, (rank << U(16)) | (x << U(8)) | n)
            st64(row + U(RANKED_COLUMN), f)
            st64(row + U(2 * RANKED_COLUMN), replies)
            row += U(8)
            n += U(1)
        while row < end:
            st64(row, U(0))
            row += U(8)
        return legal

    @kernel("u64(u64,u64,u64,u64,u64)", inline=True)
    def _rank_eight_by_mobility(p, o, legal, odd, ranked):
        """Fill the first eight rows for `rank_by_mobility`; rows without a move get the key 0. Returns all squares if a
        move takes the opponent's last disc, else 0.
        """
        n = U(0)
        row = ranked
        end = row + U(64)
        while legal:
            x = ctz(legal)
            legal = blsr(legal)
            f = flip(x, p, o)
            q = o ^ f
            if q == U(0):
                return ~U(0)
            replies = moves(q, p | f | bit(x))
            rank = i2u(_MOST_MOVES - weighted_mobility(replies)) << U(1)
            if odd & bit(x):
                rank += U(1)
            st64(row, (rank << U(16)) | (x << U(8)) | n)
            st64(row + U(RANKED_COLUMN), f)
            st64(row + U(2 * RANKED_COLUMN), replies)
            row += U(8)
            n += U(1)
        while row < end:
            st64(row, U(0))
            row += U(8)
        return U(0)


@kernel("u64(u64,u64,u64,u64,u64,u64,u64,u64,u64)")
def rank_moves(p, o, legal, odd, first, second, mobility_shift, corner_shift, ranked):
    """Write a row for each of the moves ``legal``, in the order of squares, to the `RANKED_BYTES` at address
    ``ranked``; the keys of rows up to the next multiple of eight become 0.

    ``odd`` is the mask of odd quadrants if they count, else 0; ``first`` and ``second`` are the table's moves or
    NO_MOVE; the shifts give mobility and corners the weights 2**shift. Returns the number of moves; 0, with the rows
    undefined, if a move takes the opponent's last disc.
    """
    number = i2u(popc(legal))
    n = U(0)
    while legal:
        legal = _rank_eight(p, o, legal, odd, first, second, mobility_shift, corner_shift, n, ranked)
        if legal == ~U(0):
            return U(0)
        n += U(8)
    return number


@kernel("u64(u64,u64,u64,u64,u64)", inline=True)
def rank_by_mobility(p, o, legal, odd, ranked):
    """Do what `rank_moves` does for at most eight moves, by the opponent's mobility alone; among equals those in the
    quadrants ``odd`` rank higher.
    """
    if _rank_eight_by_mobility(p, o, legal, odd, ranked) == ~U(0):
        return U(0)
    return i2u(popc(legal))


@kernel("u64(u64)", inline=True)
def row_of(key):
    """Return the row of `rank_moves`' output that ``key`` names by its low byte, for `turned_by` and `replies_to`."""
    return key & U(255)


@kernel("u64(u64)", inline=True)
def square_of(key):
    """Return the square of the move that ``key``, from `rank_moves`, stands for."""
    return (key >> U(8)) & U(63)


@kernel("u64(u64)", inline=True)
def rank_of(key):
    """Return the rank in ``key``, from `rank_moves`: the greater, the more promising the move."""
    return key >> U(16)


@kernel("u64(u64,u64)", inline=True)
def turned_by(ranked, row):
    """Return a mask of the discs that the move of ``row`` turns; ``ranked`` is the address that `rank_moves` filled."""
    return ld64(ranked + U(RANKED_COLUMN) + (row << U(3)))


@kernel("u64(u64,u64)", inline=True)
def replies_to(ranked, row):
    """Return a mask of the opponent's replies to the move of ``row``; `rank_moves` filled the address ``ranked``."""
    return ld64(ranked + U(2 * RANKED_COLUMN) + (row << U(3)))


def _greatest(address):
    return max(interpreted.load(address + 8 * k, 8, signed=False) for k in range(8))


_greatest_of_eight = simple(lambda b, address: reduce(b, "umax", load(b, address, v8, 64)), _greatest, u64, u64)


@kernel("u64(u64,u64)", inline=True)
def take_greatest(ranked, n):
    """Return the greatest key of the first ``n`` rows that `rank_moves` wrote at ``ranked``, and set it to 0 there. At
    least one key must be left.
    """
    top = U(0)
    i = U(0)
    while i < n:
        key = _greatest_of_eight(ranked + (i << U(3)))
        if key > top:
            top = key
        i += U(8)
    st64(ranked + ((top & U(255)) << U(3)), U(0))
    return top
