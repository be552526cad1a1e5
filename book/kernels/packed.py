"""The pages of a packed book: look-ups, reading and writing. `layout` and book/packed/FORMAT.md describe a page.

Nothing of a page is used on its word: walks stay inside it whatever it holds, and its first use checks all of it.
"""

from desdaemon.book.layout import (
    CHECKED,
    COUNTS,
    DAMAGED,
    LEAF_LEVEL,
    LEAF_MOVE,
    LEAF_SCORE,
    LEVEL,
    LOWER,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    PACKED,
    PACKED_BITS,
    PACKED_COUNT,
    PACKED_DAMAGED,
    PACKED_DIRECTORY,
    PACKED_FIELDS,
    PACKED_FIELDS_AT,
    PACKED_FIRST,
    PACKED_KEY_BYTES,
    PACKED_KEYS,
    PACKED_LEAST,
    PACKED_LENGTH_BITS,
    PACKED_MOST,
    PACKED_NUMBER,
    PACKED_OTHER_LEAF,
    PACKED_PAGE,
    PACKED_PAGES,
    PACKED_ROW,
    PACKED_ROW_BITS,
    PACKED_SQUARES,
    PACKED_STATES,
    PACKED_TABLES,
    PACKED_WHOLE,
    PACKED_WIDTHS,
    RECORD_BYTES,
    SCORE,
    UNCHECKED,
    UPPER,
    WORD,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    ctz,
    i2u,
    ld64,
    ldu8,
    ldu16,
    ldu32,
    popc,
    st8,
    st64,
    stack_buf,
    u2i,
)
from desdaemon.engine.kernels.emit import lookup64

from .blocks import crc32_of, find_impossible
from .records import opponent_of, player_of, set_board
from .table import find_row

_BIT_OF = {square: 63 - place for place, square in enumerate(PACKED_SQUARES)}
_bytes_moved = lookup64(
    "packed_bytes_moved",
    [
        sum(1 << places[8 * k + j] for j in range(8) if byte >> j & 1)
        for places in ([_BIT_OF[square] for square in range(64)], [PACKED_SQUARES[63 - place] for place in range(64)])
        for k in range(8)
        for byte in range(256)
    ],
)
TO_KEYS, TO_BOARDS = 0, 1 << 11
"""Where the table of `reordered` begins for each direction: to the order of squares in keys, and back."""

# A cursor stands at a position of a page: words.
_NEXT = 0
"""The bit where the next position begins."""
_OCCUPIED = 8
_COLOURS = 16
"""The bit where the position's colours begin: of each occupied square from the lowest on, 1 for the mover's."""
CURSOR = 24


@kernel("u64(u64,u64)", inline=True)
def reordered(board, table):
    """Return a board with its squares in the order of keys (``table`` `TO_KEYS`), or back (`TO_BOARDS`)."""
    word = U(0)
    k = U(0)
    while k < U(8):
        word |= _bytes_moved(table | (k << U(8)) | ((board >> (k << U(3))) & U(255)))
        k += U(1)
    return word


@kernel("u64(u64,u64)", inline=True)
def colours_of(discs, occupied):
    """Return a bit for each square of ``occupied`` from the lowest on: 1 if it is one of ``discs``."""
    colours = U(0)
    place = U(0)
    while occupied:
        colours |= ((discs >> ctz(occupied)) & U(1)) << place
        occupied = blsr(occupied)
        place += U(1)
    return colours


@kernel("u64(u64,u64)", inline=True)
def discs_of(colours, occupied):
    """Return the discs that `colours_of` has made ``colours`` of."""
    discs = U(0)
    while occupied:
        discs |= (colours & U(1)) << ctz(occupied)
        colours >>= U(1)
        occupied = blsr(occupied)
    return discs


@kernel("u64(u64,u64,u64)", inline=True)
def few_bits(page, place, count):
    """Return ``count`` bits (0 to 32) of a page from bit ``place`` on."""
    return (ld64(page + (place >> U(3))) >> (place & U(7))) & (bit(count) - U(1))


@kernel("u64(u64,u64,u64)", inline=True)
def bits_at(page, place, count):
    """Return ``count`` bits (0 to 64) of a page from bit ``place`` on."""
    if count <= U(32):
        return few_bits(page, place, count)
    return few_bits(page, place, U(32)) | (few_bits(page, place + U(32), count - U(32)) << U(32))


# ---------------------------------------------------------------------------------------------------- reading


@kernel("u64(u64)", inline=True)
def page_count(page):
    return ldu16(page + U(PACKED_COUNT))


@kernel("u64(u64)", inline=True)
def bits_of_fields(page):
    """Return the number of bits of a position's fields in a page."""
    widths = U(0)
    k = U(0)
    while k < U(PACKED_FIELDS):
        widths += ldu8(page + U(PACKED_WIDTHS) + k)
        k += U(1)
    return widths


@kernel("void(u64,u64)", inline=True)
def begin_page(page, cursor):
    """Place a cursor at the first position of a page."""
    occupied = ld64(page + U(PACKED_FIRST))
    st64(cursor + U(_OCCUPIED), occupied)
    st64(cursor + U(_COLOURS), U(8 * PACKED_KEYS))
    st64(cursor + U(_NEXT), U(8 * PACKED_KEYS) + i2u(popc(occupied)))


@kernel("i64(u64,u64)", inline=True)
def next_position(page, cursor):
    """Move a cursor to the next position. Returns 1, or 0 where the page is damaged."""
    place = ld64(cursor + U(_NEXT))
    if place > U(PACKED_BITS):
        return 0
    length = few_bits(page, place, U(PACKED_LENGTH_BITS))
    place += U(PACKED_LENGTH_BITS)
    before = ld64(cursor + U(_OCCUPIED))
    occupied = before
    if length == U(PACKED_WHOLE):
        occupied += bits_at(page, place, U(64))
        place += U(64)
    elif length != U(0):
        length -= U(1)
        occupied += bit(length) | bits_at(page, place, length)
        place += length
    st64(cursor + U(_OCCUPIED), occupied)
    st64(cursor + U(_COLOURS), place)
    st64(cursor + U(_NEXT), place + i2u(popc(occupied)))
    return 1 if occupied >= before else 0


@kernel("u64(u64,u64)", inline=True)
def colours_at(page, cursor):
    """Return the colours of the position where a cursor stands."""
    return bits_at(page, ld64(cursor + U(_COLOURS)), i2u(popc(ld64(cursor + U(_OCCUPIED)))))


@kernel("void(u64,u64,u64)", inline=True)
def read_fields(page, index, record):
    """Write the fields of a page's position number ``index`` into a record, and zeros for its path counts."""
    st64(record + U(COUNTS), U(0))
    st64(record + U(COUNTS + WORD), U(0))
    place = (ldu16(page + U(PACKED_FIELDS_AT)) << U(3)) + index * bits_of_fields(page)
    if place > U(PACKED_BITS):
        place = U(PACKED_BITS)
    k = U(0)
    while k < U(PACKED_FIELDS):
        width = ldu8(page + U(PACKED_WIDTHS) + k)
        st8(record + U(SCORE) + k, u2i(ldu8(page + U(PACKED_LEAST) + k) + few_bits(page, place, width & U(15))))
        place += width & U(15)
        k += U(1)
    score = ldu8(record + U(SCORE))
    level = ldu8(record + U(LEVEL))
    st8(record + U(LOWER), u2i(score) - u2i(ldu8(record + U(LOWER))))
    st8(record + U(UPPER), u2i(score) + u2i(ldu8(record + U(UPPER))))
    move = ldu8(record + U(LEAF_MOVE))
    if move == U(NO_MOVE):
        st8(record + U(LEAF_SCORE), NO_SCORE)
        st8(record + U(LEAF_LEVEL), NO_LEVEL)
    else:
        st8(record + U(LEAF_SCORE), u2i(score) - u2i(ldu8(record + U(LEAF_SCORE))))
        st8(record + U(LEAF_LEVEL), u2i(level) - u2i(ldu8(record + U(LEAF_LEVEL))))
        if move == U(PACKED_OTHER_LEAF):
            st8(record + U(LEAF_MOVE), NO_MOVE)


@kernel("void(u64,u64,u64,u64)", inline=True)
def read_record(page, cursor, index, record):
    """Write the position where a cursor stands, number ``index`` of its page, into a record."""
    occupied = ld64(cursor + U(_OCCUPIED))
    discs = discs_of(colours_at(page, cursor), occupied)
    set_board(record, reordered(discs, U(TO_BOARDS)), reordered(occupied ^ discs, U(TO_BOARDS)))
    read_fields(page, index, record)


@kernel("i64(u64,u64)")
def packed_whole(page, key):
    """Return 1 if a page has a possible content and begins with the position of the directory's ``key``, else 0."""
    cursor = stack_buf(CURSOR)
    record = stack_buf(RECORD_BYTES)
    count = page_count(page)
    if count == U(0) or count > U(PACKED_MOST):
        return 0
    k = U(0)
    while k < U(PACKED_FIELDS):
        if ldu8(page + U(PACKED_WIDTHS) + k) > U(8):
            return 0
        k += U(1)
    fields = ldu16(page + U(PACKED_FIELDS_AT)) << U(3)
    if fields + count * bits_of_fields(page) > U(PACKED_BITS):
        return 0
    begin_page(page, cursor)
    if ld64(cursor + U(_OCCUPIED)) != ld64(key):
        return 0
    if discs_of(colours_at(page, cursor), ld64(key)) != ld64(key + U(WORD)):
        return 0
    index = U(0)
    while True:
        if ld64(cursor + U(_NEXT)) > fields:
            return 0
        read_record(page, cursor, index, record)
        if find_impossible(record, record, record + U(RECORD_BYTES)) >= 0:
            return 0
        index += U(1)
        if index == count:
            return 1
        occupied = ld64(cursor + U(_OCCUPIED))
        colours = colours_at(page, cursor)
        if next_position(page, cursor) == 0 or ld64(cursor + U(_NEXT)) > fields:
            return 0
        if ld64(cursor + U(_OCCUPIED)) == occupied and colours_at(page, cursor) <= colours:
            return 0


@kernel("u64(u64,u64)", inline=True)
def sound_page(packed, number):
    """Return the address of a page of an open packed file, checked at its first use; 0 if it is damaged."""
    page = ld64(packed + U(PACKED_PAGES)) + number * U(PACKED_PAGE)
    state = ld64(packed + U(PACKED_STATES)) + number
    # Threads that check the same page at the same time come to the same end.
    if ldu8(state) == U(UNCHECKED):
        whole = crc32_of(ld64(packed + U(PACKED_TABLES)), page + U(4), U(PACKED_PAGE - 4)) == ldu32(page)
        if whole and packed_whole(page, ld64(packed + U(PACKED_DIRECTORY)) + number * U(PACKED_KEY_BYTES)):
            st8(state, CHECKED)
        else:
            st8(state, DAMAGED)
            if ld64(packed + U(PACKED_DAMAGED)) == U(0):
                st64(packed + U(PACKED_DAMAGED), number + U(1))
    return page if ldu8(state) == U(CHECKED) else U(0)


@kernel("i64(u64,u64,u64,u64)")
def packed_find(packed, p, o, record):
    """Return the row (from PACKED_ROW on) of a canonical position in an open packed file; -1 if it has none.

    Unless ``record`` is 0, the position's record is written there.
    """
    cursor = stack_buf(CURSOR)
    occupied = reordered(p | o, U(TO_KEYS))
    discs = reordered(p, U(TO_KEYS))
    directory = ld64(packed + U(PACKED_DIRECTORY))
    low = U(0)
    high = ld64(packed + U(PACKED_NUMBER))
    while low < high:
        middle = (low + high) >> U(1)
        key = directory + middle * U(PACKED_KEY_BYTES)
        first = ld64(key)
        if first < occupied or (first == occupied and ld64(key + U(WORD)) <= discs):
            low = middle + U(1)
        else:
            high = middle
    if low == U(0):
        return -1
    number = low - U(1)
    page = sound_page(packed, number)
    if page == U(0):
        return -1
    count = page_count(page)
    begin_page(page, cursor)
    index = U(0)
    while ld64(cursor + U(_OCCUPIED)) < occupied:
        index += U(1)
        if index == count or next_position(page, cursor) == 0:
            return -1
    colours = colours_of(discs, occupied)
    while ld64(cursor + U(_OCCUPIED)) == occupied:
        if colours_at(page, cursor) == colours:
            if record:
                set_board(record, p, o)
                read_fields(page, index, record)
            return PACKED_ROW + u2i((number << U(PACKED_ROW_BITS)) | index)
        index += U(1)
        if index == count or next_position(page, cursor) == 0:
            return -1
    return -1


@kernel("i64(u64,u64,u64)", inline=True)
def known_row(ctx, p, o):
    """Return the row of a canonical position in a table or, if it is not there, in the packed file below; else -1."""
    row = find_row(ctx, p, o)
    packed = ld64(ctx + U(PACKED))
    if row < 0 and packed != U(0):
        return packed_find(packed, p, o, U(0))
    return row


@kernel("void(u64,u64,i64,u64)")
def packed_find_many(packed, keys, count, rows):
    """Write the rows of ``count`` canonical positions at ``keys`` (player, opponent) to ``rows``, as `packed_find`."""
    k = U(0)
    while k < i2u(count):
        key = keys + k * U(2 * WORD)
        st64(rows + k * U(WORD), i2u(packed_find(packed, player_of(key), opponent_of(key), U(0))))
        k += U(1)


# ---------------------------------------------------------------------------------------------------- writing
