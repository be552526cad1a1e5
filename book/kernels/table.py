"""The table of positions: dense rows in chunks, found through an open-addressing index in segments.

A context is 16 words; the names below are byte offsets in it. Rows live in chunks of 2^14 records of 40 bytes, so
that growing never copies a row. The index is 1,024 segments, chosen by the top bits of the hash; each grows alone.
A segment is ``capacity`` one-byte tags (0: free) and as many 32-bit row numbers, searched by linear probing. A miss
reads tags only.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    byte_swap,
    i2u,
    ld64,
    ldu8,
    ldu32,
    mirror_columns,
    prefetch,
    st8,
    st32,
    st64,
    transpose,
    u2i,
)

from .blocks import check_range

COUNT = U(8)
SEGMENTS = U(16)
WIDE = U(24)
WIDE_COUNT = U(32)
WIDE_ROOM = U(40)
ROOM = U(48)
FULL = U(56)
RESULTS = U(64)
GUARD = U(72)

ROW_BYTES = U(40)
RESULT_BYTES = U(24)
CHUNK_BITS = U(14)
CHUNK_MASK = U((1 << 14) - 1)
SEGMENT_BYTES = U(32)


@kernel("void(u64,u64,u64)", inline=True)
def ensure(ctx, at, size):
    """Compare what lies at ``at`` with its checksum, where it is mapped from a file that was not compared yet."""
    guard = ld64(ctx + GUARD)
    if guard != U(0):
        check_range(guard, at, size)


@kernel("u64(u64,u64)", inline=True)
def row_place(ctx, row):
    """Where a row's record lies, to be prefetched; to be read or written it has to come from `row_at`."""
    return ld64(ld64(ctx) + ((row >> CHUNK_BITS) << U(3))) + (row & CHUNK_MASK) * ROW_BYTES


@kernel("u64(u64,u64)", inline=True)
def row_at(ctx, row):
    """The address of a row's record."""
    at = row_place(ctx, row)
    ensure(ctx, at, ROW_BYTES)
    return at


@kernel("u64(u64,u64)", inline=True)
def result_at(ctx, row):
    """The address of a row's game results."""
    at = ld64(ld64(ctx + RESULTS) + ((row >> CHUNK_BITS) << U(3))) + (row & CHUNK_MASK) * RESULT_BYTES
    ensure(ctx, at, RESULT_BYTES)
    return at


@kernel("u64(u64,u64)", inline=True)
def hash_of(p, o):
    """Top 10 bits: segment; bits 32..39: tag; low 32 bits: place in the segment."""
    h = (p * U(0x9E3779B97F4A7C15)) ^ (o * U(0xC2B2AE3D27D4EB4F))
    h ^= h >> U(32)
    h *= U(0xD6E8FEB86659FD93)
    return h ^ (h >> U(29))


@kernel("u64(u64)", inline=True)
def tag_of(h):
    """1..255."""
    tag = (h >> U(32)) & U(0xFF)
    if tag == U(0):
        return U(1)
    return tag


@kernel("u64(u64,u64)", inline=True)
def segment_of(ctx, h):
    """The address of the descriptor: tags, rows, capacity, used."""
    return ld64(ctx + SEGMENTS) + (h >> U(54)) * SEGMENT_BYTES


@kernel("u64(u64,u64)", inline=True)
def place_of(h, capacity):
    """Where probing starts."""
    return ((h & U(0xFFFFFFFF)) * capacity) >> U(32)


@kernel("i64(u64,u64,u64)")
def find_row(ctx, p, o):
    """The row of a canonical position; -1 when it is not there."""
    h = hash_of(p, o)
    segment = segment_of(ctx, h)
    tags = ld64(segment)
    rows = ld64(segment + U(8))
    capacity = ld64(segment + U(16))
    tag = tag_of(h)
    count = ld64(ctx + COUNT)
    guard = ld64(ctx + GUARD)
    i = place_of(h, capacity)
    while True:
        if guard != U(0):
            check_range(guard, tags + i, U(1))
        found = ldu8(tags + i)
        if found == U(0):
            return -1
        if found == tag:
            if guard != U(0):
                check_range(guard, rows + (i << U(2)), U(4))
            row = ldu32(rows + (i << U(2)))
            # A damaged file that was not checked must not lead outside.
            if row < count:
                at = row_at(ctx, row)
                if ld64(at) == p and ld64(at + U(8)) == o:
                    return u2i(row)
        i += U(1)
        if i == capacity:
            i = U(0)


@kernel("u64(u64,u64)", inline=True)
def probe(ctx, h):
    """Where the number of the first row lies that a position of hash ``h`` may be in; 0 when it is in none.

    Only for a table that is not guarded.
    """
    segment = segment_of(ctx, h)
    tags = ld64(segment)
    capacity = ld64(segment + U(16))
    tag = tag_of(h)
    i = place_of(h, capacity)
    found = ldu8(tags + i)
    while found != U(0) and found != tag:
        i += U(1)
        if i == capacity:
            i = U(0)
        found = ldu8(tags + i)
    if found == U(0):
        return U(0)
    return ld64(segment + U(8)) + (i << U(2))


@kernel("void(u64,u64)", inline=True)
def prefetch_row(ctx, row):
    """Ask for a row's record, which may lie in two cache lines."""
    if row < ld64(ctx + COUNT):
        at = row_place(ctx, row)
        prefetch(at)
        prefetch(at + ROW_BYTES - U(1))


@kernel("i64(u64,u64,u64,u64)", inline=True)
def found_at(ctx, slot, p, o):
    """The row of a canonical position for which `probe` gave ``slot``; -1 when it is not there."""
    if slot == U(0):
        return -1
    row = ldu32(slot)
    if row < ld64(ctx + COUNT):
        at = row_place(ctx, row)
        if ld64(at) == p and ld64(at + U(8)) == o:
            return u2i(row)
    return find_row(ctx, p, o)


@kernel("void(u64,u64,u64,u64)", inline=True)
def index_row(ctx, segment, h, row):
    """Put a row that is not there yet into its segment, which has room."""
    tags = ld64(segment)
    capacity = ld64(segment + U(16))
    i = place_of(h, capacity)
    while ldu8(tags + i) != U(0):
        i += U(1)
        if i == capacity:
            i = U(0)
    slot = ld64(segment + U(8)) + (i << U(2))
    # The tags up to here were compared when the row was looked up.
    ensure(ctx, slot, U(4))
    st8(tags + i, u2i(tag_of(h)))
    st32(slot, u2i(row))
    st64(segment + U(24), ld64(segment + U(24)) + U(1))


@kernel("void(u64)", inline=True)
def blank_row(at):
    """No score, no bounds, no leaf: what a new position starts from."""
    st64(at + U(16), U(0))
    st64(at + U(24), U(0))
    # score -127, lower -127, upper 127, level -1, no leaf move, leaf score -127, leaf level -1, no flags
    st64(at + U(32), U(0x00FF8141FF7F8181))


@kernel("i64(u64,u64,u64)")
def insert_row(ctx, p, o):
    """Find or add a canonical position: 2 * row, + 1 when it is new.

    -1: its segment (number left in FULL) has to grow first; -2: a chunk is missing.
    """
    known = find_row(ctx, p, o)
    if known >= 0:
        return known * 2
    h = hash_of(p, o)
    segment = segment_of(ctx, h)
    if (ld64(segment + U(24)) + U(1)) * U(5) > ld64(segment + U(16)) * U(4):
        st64(ctx + FULL, h >> U(54))
        return -1
    row = ld64(ctx + COUNT)
    if row >= ld64(ctx + ROOM):
        return -2
    at = row_at(ctx, row)
    st64(at, p)
    st64(at + U(8), o)
    blank_row(at)
    index_row(ctx, segment, h, row)
    st64(ctx + COUNT, row + U(1))
    return u2i(row) * 2 + 1


@kernel("void(u64,u64)", inline=True)
def copy_payload(to, source):
    """Everything of a record but its key."""
    st64(to + U(16), ld64(source + U(16)))
    st64(to + U(24), ld64(source + U(24)))
    st64(to + U(32), ld64(source + U(32)))


@kernel("i64(u64,u64,i64,i64,i64,u64)")
def insert_records(ctx, records, start, count, overwrite, out):
    """Insert records ``start..count`` (40 bytes each, canonical); where it stopped, and why at ``out`` (0, -1, -2).

    A known position keeps its payload unless ``overwrite``. ``out`` + 8 counts the known ones.
    """
    k = i2u(start)
    end = i2u(count)
    st64(out, U(0))
    while k < end:
        at = records + k * ROW_BYTES
        answer = insert_row(ctx, ld64(at), ld64(at + U(8)))
        if answer < 0:
            st64(out, i2u(answer))
            return u2i(k)
        if answer & 1 or overwrite:
            copy_payload(row_at(ctx, i2u(answer >> 1)), at)
        if answer & 1 == 0:
            st64(out + U(8), ld64(out + U(8)) + U(1))
        k += U(1)
    return count


@kernel("void(u64,u64,u64,u64,u64)")
def rehash_segment(ctx, number, tags, rows, capacity):
    """Move segment ``number`` into new arrays (tags all 0) of ``capacity``."""
    segment = ld64(ctx + SEGMENTS) + number * SEGMENT_BYTES
    old_tags = ld64(segment)
    old_rows = ld64(segment + U(8))
    old_capacity = ld64(segment + U(16))
    ensure(ctx, old_tags, old_capacity)
    ensure(ctx, old_rows, old_capacity << U(2))
    st64(segment, tags)
    st64(segment + U(8), rows)
    st64(segment + U(16), capacity)
    st64(segment + U(24), U(0))
    i = U(0)
    while i < old_capacity:
        if ldu8(old_tags + i) != U(0):
            row = ldu32(old_rows + (i << U(2)))
            if row < ld64(ctx + COUNT):
                at = row_at(ctx, row)
                index_row(ctx, segment, hash_of(ld64(at), ld64(at + U(8))), row)
        i += U(1)


@kernel("u64(u64,u64,u64)")
def slot_of(segment, h, row):
    """The place in the segment that holds ``row``, which is there."""
    rows = ld64(segment + U(8))
    tags = ld64(segment)
    capacity = ld64(segment + U(16))
    i = place_of(h, capacity)
    while ldu8(tags + i) == U(0) or ldu32(rows + (i << U(2))) != row:
        i += U(1)
        if i == capacity:
            i = U(0)
    return i


@kernel("void(u64,u64,u64)")
def unindex(ctx, segment, hole):
    """Free a place by moving back what probing would otherwise no longer reach."""
    tags = ld64(segment)
    rows = ld64(segment + U(8))
    capacity = ld64(segment + U(16))
    i = hole
    j = hole
    while True:
        j += U(1)
        if j == capacity:
            j = U(0)
        if ldu8(tags + j) == U(0):
            break
        at = row_at(ctx, ldu32(rows + (j << U(2))))
        home = place_of(hash_of(ld64(at), ld64(at + U(8))), capacity)
        # The entry at j may move to i unless its home lies cyclically in (i, j].
        stays = (i < home and home <= j) if i <= j else (i < home or home <= j)
        if not stays:
            st8(tags + i, u2i(ldu8(tags + j)))
            st32(rows + (i << U(2)), u2i(ldu32(rows + (j << U(2)))))
            i = j
    st8(tags + i, 0)
    st64(segment + U(24), ld64(segment + U(24)) - U(1))


@kernel("i64(u64,u64,i64,i64)")
def remove_rows(ctx, marks, start, end):
    """Remove every row ``start..end`` whose byte at ``marks`` is not 0; the last row takes its place.

    Of several ranges the later ones come first. Answers how many.
    """
    row = i2u(end)
    gone = 0
    while row > i2u(start):
        row -= U(1)
        if ldu8(marks + row) == U(0):
            continue
        at = row_at(ctx, row)
        h = hash_of(ld64(at), ld64(at + U(8)))
        segment = segment_of(ctx, h)
        unindex(ctx, segment, slot_of(segment, h, row))
        last = ld64(ctx + COUNT) - U(1)
        if last != row:
            source = row_at(ctx, last)
            h = hash_of(ld64(source), ld64(source + U(8)))
            segment = segment_of(ctx, h)
            place = slot_of(segment, h, last)
            st32(ld64(segment + U(8)) + (place << U(2)), u2i(row))
            st64(at, ld64(source))
            st64(at + U(8), ld64(source + U(8)))
            copy_payload(at, source)
            if ld64(ctx + RESULTS) != U(0):
                to = result_at(ctx, row)
                source = result_at(ctx, last)
                st64(to, ld64(source))
                st64(to + U(8), ld64(source + U(8)))
                st64(to + U(16), ld64(source + U(16)))
        st64(ctx + COUNT, last)
        gone += 1
    return gone


@kernel("void(u64,u64,u64)", inline=True)
def canonical(p, o, out):
    """Store the smallest of the eight images of (p, o) at ``out``."""
    best_p = p
    best_o = o
    for _ in range(2):
        if p < best_p or (p == best_p and o < best_o):
            best_p = p
            best_o = o
        a = byte_swap(p)
        b = byte_swap(o)
        if a < best_p or (a == best_p and b < best_o):
            best_p = a
            best_o = b
        a = mirror_columns(p)
        b = mirror_columns(o)
        if a < best_p or (a == best_p and b < best_o):
            best_p = a
            best_o = b
        a = byte_swap(a)
        b = byte_swap(b)
        if a < best_p or (a == best_p and b < best_o):
            best_p = a
            best_o = b
        p = transpose(p)
        o = transpose(o)
    st64(out, best_p)
    st64(out + U(8), best_o)
