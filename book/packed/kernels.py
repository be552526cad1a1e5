"""The pages of a packed book: whole records are read, pages written. Look-ups: `desdaemon.book.kernels.packed`."""

from desdaemon.book.kernels.packed import (
    CURSOR,
    TO_KEYS,
    begin_page,
    colours_of,
    next_position,
    page_count,
    read_record,
    reordered,
    sound_page,
)
from desdaemon.book.kernels.records import opponent_of, player_of
from desdaemon.book.layout import (
    LEAF_LEVEL,
    LEAF_MOVE,
    LEAF_SCORE,
    LEVEL,
    LOWER,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    PACKED_BITS,
    PACKED_COUNT,
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
    PACKED_ROW,
    PACKED_ROW_BITS,
    PACKED_WHOLE,
    PACKED_WIDTHS,
    RECORD_BYTES,
    SCORE,
    UPPER,
    WORD,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, bit, clz, i2u, ld64, ldu8, popc, st8, st16, st64, stack_buf, u2i


@kernel("i64(u64,i64,u64)")
def packed_record(packed, row, record):
    """Write the record in a row of an open packed file. Returns 1, or 0 if it has no such row."""
    cursor = stack_buf(CURSOR)
    number = i2u(row - PACKED_ROW) >> U(PACKED_ROW_BITS)
    wanted = i2u(row) & U(PACKED_MOST)
    if row < PACKED_ROW or number >= ld64(packed + U(PACKED_NUMBER)):
        return 0
    page = sound_page(packed, number)
    if page == U(0) or wanted >= page_count(page):
        return 0
    begin_page(page, cursor)
    index = U(0)
    while index < wanted:
        if next_position(page, cursor) == 0:
            return 0
        index += U(1)
    read_record(page, cursor, index, record)
    return 1


@kernel("i64(u64,u64,u64)")
def packed_records(packed, number, records):
    """Write the records of a page; return their number, 0 if the page is damaged."""
    cursor = stack_buf(CURSOR)
    page = sound_page(packed, number)
    if page == U(0):
        return 0
    count = page_count(page)
    begin_page(page, cursor)
    index = U(0)
    while True:
        read_record(page, cursor, index, records + index * U(RECORD_BYTES))
        index += U(1)
        if index == count:
            return u2i(count)
        if next_position(page, cursor) == 0:
            return 0


@kernel("void(u64,u64,u64,u64)", inline=True)
def put_few(page, place, count, value):
    """Write ``count`` bits (0 to 32) of ``value`` into a page of zeros at bit ``place``."""
    word = page + (place >> U(3))
    st64(word, ld64(word) | ((value & (bit(count) - U(1))) << (place & U(7))))


@kernel("void(u64,u64,u64,u64)", inline=True)
def put_bits(page, place, count, value):
    """Write ``count`` bits (0 to 64) of ``value`` into a page of zeros at bit ``place``."""
    if count <= U(32):
        put_few(page, place, count, value)
    else:
        put_few(page, place, U(32), value)
        put_few(page, place + U(32), count - U(32), value >> U(32))


@kernel("void(u64,i64,u64)")
def packed_keys(records, count, keys):
    """Write the keys of ``count`` records."""
    k = U(0)
    while k < i2u(count):
        record = records + k * U(RECORD_BYTES)
        key = keys + k * U(PACKED_KEY_BYTES)
        st64(key, reordered(player_of(record) | opponent_of(record), U(TO_KEYS)))
        st64(key + U(WORD), reordered(player_of(record), U(TO_KEYS)))
        k += U(1)


@kernel("u64(u64,u64)", inline=True)
def fields_of(record, fields):
    """Write the fields of a record as a page has them, a byte each. Returns 1 if those of the leaf count, else 0."""
    st64(fields, ld64(record + U(SCORE)))
    score = u2i(ldu8(record + U(SCORE)))
    level = u2i(ldu8(record + U(LEVEL)))
    st8(fields + U(LOWER - SCORE), score - u2i(ldu8(record + U(LOWER))))
    st8(fields + U(UPPER - SCORE), u2i(ldu8(record + U(UPPER))) - score)
    st8(fields + U(LEAF_SCORE - SCORE), score - u2i(ldu8(record + U(LEAF_SCORE))))
    st8(fields + U(LEAF_LEVEL - SCORE), level - u2i(ldu8(record + U(LEAF_LEVEL))))
    if ldu8(record + U(LEAF_MOVE)) == U(NO_MOVE):
        if ldu8(record + U(LEAF_SCORE)) == U(NO_SCORE & 255) and ldu8(record + U(LEAF_LEVEL)) == U(NO_LEVEL & 255):
            return U(0)
        st8(fields + U(LEAF_MOVE - SCORE), PACKED_OTHER_LEAF)
    return U(1)


@kernel("u64(u64,u64)", inline=True)
def is_of_leaf(field, leaf):
    """Return 1 if a field has no meaning in a position without a leaf (``leaf`` 0), else 0."""
    if leaf == U(0) and (field == U(LEAF_SCORE - SCORE) or field == U(LEAF_LEVEL - SCORE)):
        return U(1)
    return U(0)


@kernel("i64(u64,u64,i64,i64,u64)")
def packed_fill(keys, records, start, count, page):
    """Pack as many records as a page of zeros holds, all but its checksum, from number ``start`` of ``count`` on. Keys
    and records are in order, without repetition. Returns the number of the first record that is not in the page.
    """
    fields = stack_buf(PACKED_FIELDS)
    least = stack_buf(PACKED_FIELDS)
    most = stack_buf(PACKED_FIELDS)
    tried_least = stack_buf(PACKED_FIELDS)
    tried_most = stack_buf(PACKED_FIELDS)
    st64(least, U(0xFFFFFFFFFFFFFFFF))
    st64(most, U(0))
    first = keys + i2u(start) * U(PACKED_KEY_BYTES)
    st64(page + U(PACKED_FIRST), ld64(first))
    place = U(8 * PACKED_KEYS)
    before = ld64(first)
    row = start
    while row < count and row - start < PACKED_MOST:
        occupied = ld64(keys + i2u(row) * U(PACKED_KEY_BYTES))
        discs = ld64(keys + i2u(row) * U(PACKED_KEY_BYTES) + U(WORD))
        leaf = fields_of(records + i2u(row) * U(RECORD_BYTES), fields)
        squares = i2u(popc(occupied))
        length = U(64) - clz(occupied - before)
        following = place + squares
        if row != start:
            following += U(PACKED_LENGTH_BITS)
            if length >= U(PACKED_WHOLE):
                following += U(64)
            elif length != U(0):
                following += length - U(1)
        st64(tried_least, ld64(least))
        st64(tried_most, ld64(most))
        widths = U(0)
        k = U(0)
        while k < U(PACKED_FIELDS):
            if is_of_leaf(k, leaf) == U(0):
                value = ldu8(fields + k)
                if value < ldu8(tried_least + k):
                    st8(tried_least + k, u2i(value))
                if value > ldu8(tried_most + k):
                    st8(tried_most + k, u2i(value))
            if ldu8(tried_most + k) > ldu8(tried_least + k):
                widths += U(64) - clz(ldu8(tried_most + k) - ldu8(tried_least + k))
            k += U(1)
        if ((following + U(7)) & ~U(7)) + i2u(row - start + 1) * widths > U(PACKED_BITS):
            break
        if row != start:
            if length >= U(PACKED_WHOLE):
                put_few(page, place, U(PACKED_LENGTH_BITS), U(PACKED_WHOLE))
                put_bits(page, place + U(PACKED_LENGTH_BITS), U(64), occupied - before)
            else:
                put_few(page, place, U(PACKED_LENGTH_BITS), length)
                if length != U(0):
                    put_bits(page, place + U(PACKED_LENGTH_BITS), length - U(1), occupied - before)
        put_bits(page, following - squares, squares, colours_of(discs, occupied))
        st64(least, ld64(tried_least))
        st64(most, ld64(tried_most))
        place = following
        before = occupied
        row += 1
    place = (place + U(7)) & ~U(7)
    st16(page + U(PACKED_COUNT), row - start)
    st16(page + U(PACKED_FIELDS_AT), u2i(place >> U(3)))
    k = U(0)
    while k < U(PACKED_FIELDS):
        if ldu8(most + k) < ldu8(least + k):
            # No position has a leaf.
            st8(least + k, 0)
            st8(most + k, 0)
        st8(page + U(PACKED_LEAST) + k, u2i(ldu8(least + k)))
        if ldu8(most + k) > ldu8(least + k):
            st8(page + U(PACKED_WIDTHS) + k, u2i(U(64) - clz(ldu8(most + k) - ldu8(least + k))))
        k += U(1)
    packed = start
    while packed < row:
        leaf = fields_of(records + i2u(packed) * U(RECORD_BYTES), fields)
        k = U(0)
        while k < U(PACKED_FIELDS):
            width = ldu8(page + U(PACKED_WIDTHS) + k)
            if is_of_leaf(k, leaf) == U(0):
                put_few(page, place, width, ldu8(fields + k) - ldu8(least + k))
            place += width
            k += U(1)
        packed += 1
    return row
