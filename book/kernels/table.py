"""The table of positions: dense rows in chunks, found by an open-addressing index in segments.

Rows live in chunks of 2^`CHUNK_BITS` records, so that growing never copies a row. The index has 2^`SEGMENT_BITS`
segments, chosen by the top bits of the hash; each grows alone. A segment has a byte (tag) for each slot, 0 if it is
free, and the slots' 32-bit row numbers; it is searched by linear probing, and a miss reads tags only. `layout` has the
words of a context (``ctx``) and of a segment's descriptor. In the book's kernels ``p`` and ``o`` are the discs
of the side to move and of the other side.
"""

from desdaemon.book.layout import (
    CHUNK_BITS,
    CHUNK_MISSING,
    CHUNKS,
    COUNT,
    FULL,
    GUARD,
    INSERTED_KNOWN,
    INSERTED_REASON,
    LISTED_BYTES,
    RECORD_BYTES,
    RESULT_BYTES,
    RESULTS,
    ROW_CAPACITY,
    SEGMENT_BITS,
    SEGMENT_BYTES,
    SEGMENT_CAPACITY,
    SEGMENT_FULL,
    SEGMENT_ROWS,
    SEGMENT_TAGS,
    SEGMENT_USED,
    SEGMENTS,
    WORD,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    i2u,
    ld64,
    ldu8,
    ldu32,
    prefetch,
    st8,
    st32,
    st64,
    sts64,
    u2i,
)

from .blocks import check_range, note_damage
from .records import blank_payload, copy_payload, opponent_of, player_of, set_board

CHUNK_MASK = (1 << CHUNK_BITS) - 1


@kernel("void(u64,u64,u64)", inline=True)
def ensure(ctx, address, size):
    """Verify the blocks that hold the ``size`` bytes at ``address``, if they belong to a mapped file and are not
    verified. A damaged block is filled with zeros, which stand for no position, and noted in the guard.
    """
    guard = ld64(ctx + U(GUARD))
    if guard != U(0):
        check_range(guard, address, size)


@kernel("u64(u64,u64)", inline=True)
def row_slot(rows, number):
    """Return the address of entry ``number`` in a list of row numbers."""
    return rows + number * U(LISTED_BYTES)


@kernel("u64(u64,u64)", inline=True)
def listed_row(rows, number):
    """Return entry ``number`` of a list of row numbers, such as an order of rows or the slots of a segment."""
    return ldu32(row_slot(rows, number))


@kernel("void(u64,u64,u64)", inline=True)
def list_row(rows, number, row):
    st32(row_slot(rows, number), u2i(row))


@kernel("u64(u64,u64)", inline=True)
def chunk_of(chunks, row):
    """Return the address of the chunk that holds a row; ``chunks`` is the address of the chunks' addresses."""
    return ld64(chunks + (row >> U(CHUNK_BITS)) * U(WORD))


@kernel("u64(u64,u64)", inline=True)
def row_place(ctx, row):
    """Return the address of a row's record for a prefetch. To read it use `row_at`, which verifies its block."""
    return chunk_of(ld64(ctx + U(CHUNKS)), row) + (row & U(CHUNK_MASK)) * U(RECORD_BYTES)


@kernel("u64(u64,u64)", inline=True)
def row_at(ctx, row):
    """Return the address of a row's record, with its block verified if a file is mapped."""
    record = row_place(ctx, row)
    ensure(ctx, record, U(RECORD_BYTES))
    return record


@kernel("u64(u64,u64)", inline=True)
def result_at(ctx, row):
    """Return the address of a row's game results, their block verified if a file is mapped. There must be results."""
    result = chunk_of(ld64(ctx + U(RESULTS)), row) + (row & U(CHUNK_MASK)) * U(RESULT_BYTES)
    ensure(ctx, result, U(RESULT_BYTES))
    return result


@kernel("void(u64,u64)", inline=True)
def copy_result(to, source):
    """Copy game results from one address to another."""
    done = U(0)
    while done < U(RESULT_BYTES):
        st64(to + done, ld64(source + done))
        done += U(WORD)


@kernel("u64(u64,u64)", inline=True)
def hash_of(p, o):
    """Return the hash of a board: segment in the top SEGMENT_BITS, tag in bits 32..39, place in the low 32."""
    h = (p * U(0x9E3779B97F4A7C15)) ^ (o * U(0xC2B2AE3D27D4EB4F))
    h ^= h >> U(32)
    h *= U(0xD6E8FEB86659FD93)
    return h ^ (h >> U(29))


@kernel("u64(u64)", inline=True)
def tag_of(h):
    """Return the tag of hash ``h``, 1..255."""
    tag = (h >> U(32)) & U(0xFF)
    if tag == U(0):
        return U(1)
    return tag


@kernel("u64(u64)", inline=True)
def segment_number(h):
    return h >> U(64 - SEGMENT_BITS)


@kernel("u64(u64)", inline=True)
def tags_of(segment):
    return ld64(segment + U(SEGMENT_TAGS))


@kernel("u64(u64)", inline=True)
def slots_of(segment):
    """Return the address of a segment's row numbers."""
    return ld64(segment + U(SEGMENT_ROWS))


@kernel("u64(u64)", inline=True)
def capacity_of(segment):
    return ld64(segment + U(SEGMENT_CAPACITY))


@kernel("u64(u64)", inline=True)
def used_of(segment):
    return ld64(segment + U(SEGMENT_USED))


@kernel("void(u64,u64)", inline=True)
def set_used(segment, used):
    st64(segment + U(SEGMENT_USED), used)


@kernel("u64(u64,u64)", inline=True)
def segment_of(ctx, h):
    """Return the address of the descriptor of the segment for hash ``h``."""
    return ld64(ctx + U(SEGMENTS)) + segment_number(h) * U(SEGMENT_BYTES)


@kernel("u64(u64,u64)", inline=True)
def place_of(h, capacity):
    """Return the slot where probing for hash ``h`` starts in a segment of ``capacity`` slots."""
    return ((h & U(0xFFFFFFFF)) * capacity) >> U(32)


@kernel("i64(u64,u64,u64)")
def find_row(ctx, p, o):
    """Return the row of a canonical position; -1 if it is not in the table.

    In a mapped file what is read is verified first, and an index without a free slot is noted as damaged.
    """
    h = hash_of(p, o)
    segment = segment_of(ctx, h)
    tags = tags_of(segment)
    rows = slots_of(segment)
    capacity = capacity_of(segment)
    tag = tag_of(h)
    count = ld64(ctx + U(COUNT))
    guard = ld64(ctx + U(GUARD))
    i = place_of(h, capacity)
    # The index of a damaged file may have no free slot.
    left = capacity
    while left != U(0):
        left -= U(1)
        if guard != U(0):
            check_range(guard, tags + i, U(1))
        slot_tag = ldu8(tags + i)
        if slot_tag == U(0):
            return -1
        if slot_tag == tag:
            if guard != U(0):
                check_range(guard, row_slot(rows, i), U(LISTED_BYTES))
            row = listed_row(rows, i)
            # A damaged file that was not checked must not lead outside.
            if row < count:
                record = row_at(ctx, row)
                if player_of(record) == p and opponent_of(record) == o:
                    return u2i(row)
        i += U(1)
        if i == capacity:
            i = U(0)
    if guard != U(0):
        note_damage(guard, tags)
    return -1


@kernel("u64(u64,u64)", inline=True)
def first_slot(ctx, h):
    """Return the address of the first slot with the tag of hash ``h``, 0 if there is none. There must be no guard."""
    segment = segment_of(ctx, h)
    tags = tags_of(segment)
    capacity = capacity_of(segment)
    tag = tag_of(h)
    i = place_of(h, capacity)
    slot_tag = ldu8(tags + i)
    left = capacity
    while slot_tag != U(0) and slot_tag != tag and left != U(0):
        left -= U(1)
        i += U(1)
        if i == capacity:
            i = U(0)
        slot_tag = ldu8(tags + i)
    if slot_tag != tag:
        return U(0)
    return row_slot(slots_of(segment), i)


@kernel("void(u64,u64)", inline=True)
def prefetch_row(ctx, row):
    """Prefetch a row's record, which may span two cache lines; do nothing beyond the rows in use."""
    if row < ld64(ctx + U(COUNT)):
        record = row_place(ctx, row)
        prefetch(record)
        prefetch(record + U(RECORD_BYTES) - U(1))


@kernel("i64(u64,u64,u64,u64)", inline=True)
def found_at(ctx, slot, p, o):
    """Return the row of a canonical position whose `first_slot` is ``slot``; -1 if it is not in the table."""
    if slot == U(0):
        return -1
    row = ldu32(slot)
    if row < ld64(ctx + U(COUNT)):
        record = row_place(ctx, row)
        if player_of(record) == p and opponent_of(record) == o:
            return u2i(row)
    return find_row(ctx, p, o)


@kernel("void(u64,u64,u64,u64)", inline=True)
def index_row(ctx, segment, h, row):
    """Insert a new row, whose board has hash ``h``, into the index of ``segment``, which has a free slot.

    A damaged file's segment may have none: the row then takes the place of another.
    """
    tags = tags_of(segment)
    capacity = capacity_of(segment)
    i = place_of(h, capacity)
    left = capacity
    while ldu8(tags + i) != U(0) and left != U(0):
        left -= U(1)
        i += U(1)
        if i == capacity:
            i = U(0)
    rows = slots_of(segment)
    # The tags up to here were verified when the row was looked up.
    ensure(ctx, row_slot(rows, i), U(LISTED_BYTES))
    st8(tags + i, u2i(tag_of(h)))
    list_row(rows, i, row)
    set_used(segment, used_of(segment) + U(1))


@kernel("i64(u64,u64,u64)")
def insert_row(ctx, p, o):
    """Find or add a canonical position. Returns 2 * row, + 1 if it is new.

    Returns SEGMENT_FULL if its segment must grow first (its number is left at FULL in the context), CHUNK_MISSING if a
    chunk must be added.
    """
    present = find_row(ctx, p, o)
    if present >= 0:
        return present * 2
    h = hash_of(p, o)
    segment = segment_of(ctx, h)
    if (used_of(segment) + U(1)) * U(5) > capacity_of(segment) * U(4):
        st64(ctx + U(FULL), segment_number(h))
        return SEGMENT_FULL
    row = ld64(ctx + U(COUNT))
    if row >= ld64(ctx + U(ROW_CAPACITY)):
        return CHUNK_MISSING
    record = row_at(ctx, row)
    set_board(record, p, o)
    blank_payload(record)
    index_row(ctx, segment, h, row)
    st64(ctx + U(COUNT), row + U(1))
    return u2i(row) * 2 + 1


@kernel("i64(u64,u64,i64,i64,i64,u64)")
def insert_records(ctx, records, start, count, overwrite, out):
    """Insert the canonical records ``start`` to ``count`` - 1 of those at ``records``. Returns the number of the record
    where it stopped, ``count`` at the end.

    ``out`` gets INSERTED_REASON (0, or the answer of `insert_row`), and INSERTED_KNOWN grows by the number of positions
    that were in the table; unless ``overwrite``, these keep their data.
    """
    k = i2u(start)
    end = i2u(count)
    st64(out + U(INSERTED_REASON), U(0))
    while k < end:
        record = records + k * U(RECORD_BYTES)
        answer = insert_row(ctx, player_of(record), opponent_of(record))
        if answer < 0:
            sts64(out + U(INSERTED_REASON), answer)
            return u2i(k)
        if answer & 1 or overwrite:
            copy_payload(row_at(ctx, i2u(answer >> 1)), record)
        if answer & 1 == 0:
            present = out + U(INSERTED_KNOWN)
            st64(present, ld64(present) + U(1))
        k += U(1)
    return count


@kernel("void(u64,u64,u64,u64,u64)")
def rehash_segment(ctx, number, tags, rows, capacity):
    """Move segment ``number`` into the zeroed arrays of ``capacity`` slots at ``tags`` and ``rows``; entries for rows
    that do not exist are dropped.
    """
    segment = ld64(ctx + U(SEGMENTS)) + number * U(SEGMENT_BYTES)
    old_tags = tags_of(segment)
    old_rows = slots_of(segment)
    old_capacity = capacity_of(segment)
    ensure(ctx, old_tags, old_capacity)
    ensure(ctx, old_rows, old_capacity * U(LISTED_BYTES))
    st64(segment + U(SEGMENT_TAGS), tags)
    st64(segment + U(SEGMENT_ROWS), rows)
    st64(segment + U(SEGMENT_CAPACITY), capacity)
    set_used(segment, U(0))
    i = U(0)
    while i < old_capacity:
        if ldu8(old_tags + i) != U(0):
            row = listed_row(old_rows, i)
            if row < ld64(ctx + U(COUNT)):
                record = row_at(ctx, row)
                index_row(ctx, segment, hash_of(player_of(record), opponent_of(record)), row)
        i += U(1)


@kernel("u64(u64,u64,u64)")
def slot_of(segment, h, row):
    """Return the slot of ``segment`` that holds ``row``, of hash ``h``; the capacity if a damaged index lacks it."""
    rows = slots_of(segment)
    tags = tags_of(segment)
    capacity = capacity_of(segment)
    i = place_of(h, capacity)
    left = capacity
    while ldu8(tags + i) == U(0) or listed_row(rows, i) != row:
        left -= U(1)
        if left == U(0):
            return capacity
        i += U(1)
        if i == capacity:
            i = U(0)
    return i


@kernel("void(u64,u64,u64)")
def unindex(ctx, segment, hole):
    """Free slot ``hole`` of a segment, and move back entries that probing would no longer reach."""
    tags = tags_of(segment)
    rows = slots_of(segment)
    capacity = capacity_of(segment)
    i = hole
    j = hole
    while True:
        j += U(1)
        if j == capacity:
            j = U(0)
        if ldu8(tags + j) == U(0) or j == hole:
            break
        if listed_row(rows, j) >= ld64(ctx + U(COUNT)):
            continue
        record = row_at(ctx, listed_row(rows, j))
        home = place_of(hash_of(player_of(record), opponent_of(record)), capacity)
        # The entry at j may move to i unless its home lies cyclically in (i, j].
        stays = (i < home and home <= j) if i <= j else (i < home or home <= j)
        if not stays:
            st8(tags + i, u2i(ldu8(tags + j)))
            list_row(rows, i, listed_row(rows, j))
            i = j
    st8(tags + i, 0)
    set_used(segment, used_of(segment) - U(1))


@kernel("i64(u64,u64,i64,i64)")
def remove_rows(ctx, marks, start, end):
    """Remove each of rows ``start`` to ``end`` - 1 with a byte at ``marks`` other than 0; the last row takes its place.

    Later ranges must be processed first. Returns the number of rows removed.
    """
    row = i2u(end)
    gone = 0
    while row > i2u(start):
        row -= U(1)
        if ldu8(marks + row) == U(0):
            continue
        record = row_at(ctx, row)
        h = hash_of(player_of(record), opponent_of(record))
        segment = segment_of(ctx, h)
        place = slot_of(segment, h, row)
        if place != capacity_of(segment):
            unindex(ctx, segment, place)
        last = ld64(ctx + U(COUNT)) - U(1)
        if last != row:
            source = row_at(ctx, last)
            h = hash_of(player_of(source), opponent_of(source))
            segment = segment_of(ctx, h)
            place = slot_of(segment, h, last)
            if place != capacity_of(segment):
                list_row(slots_of(segment), place, row)
            set_board(record, player_of(source), opponent_of(source))
            copy_payload(record, source)
            if ld64(ctx + U(RESULTS)) != U(0):
                copy_result(result_at(ctx, row), result_at(ctx, last))
        st64(ctx + U(COUNT), last)
        gone += 1
    return gone
