"""Records of Edax's book.dat, version 4: reading with every check, comparing and writing their links."""

from desdaemon.book.edax.layout import (
    DAT_BOUND,
    DAT_COUNTS,
    DAT_FIXED,
    DAT_LEAST,
    DAT_LEVEL,
    DAT_LINK_BYTES,
    DAT_LINKS,
    DAT_MOST,
    DAT_SCORE,
)
from desdaemon.book.kernels.graph import (
    BATCH,
    BOARD,
    FAMILIES,
    FAMILY,
    family_of,
    find_rows,
    gather_children,
    is_finished,
    link_count,
    link_move,
    link_row,
    links_of,
    prefetch_key,
)
from desdaemon.book.kernels.imports import (
    PACKED_OPPONENT,
    at_fault,
    check_board,
    half_at,
    packed_opponent,
    packed_player,
    set_word,
    word_of,
)
from desdaemon.book.kernels.negamax import MOST_NARROW, count_of
from desdaemon.book.kernels.records import (
    clamped,
    empties_of,
    flags_of,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    level_of,
    lower_bound_of,
    opponent_of,
    player_of,
    score_of,
    set_board,
    set_leaf,
    set_level,
    set_score,
    upper_bound_of,
)
from desdaemon.book.kernels.table import insert_row, list_row, listed_row, row_at
from desdaemon.book.layout import (
    BAD_LEAF,
    BAD_LEAF_SCORE,
    BAD_LEVEL,
    BAD_LINK,
    BAD_LINK_SCORE,
    BAD_SCORE,
    COUNTS,
    CUT,
    EGAROUCID_LEVELS,
    IMPORT_REASON,
    IMPORT_REPEATED,
    LEAF_LINKED,
    LINK_TWICE,
    MAX_BOUND,
    MAX_LEVEL,
    MAX_SCORE,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    PASS,
    SQUARES,
    TOO_MANY_LINKS,
    UNDEFINED_SCORE,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    i2u,
    ld64,
    ldi8,
    ldu8,
    ldu16,
    moves,
    popc,
    st8,
    st16,
    st32,
    st64,
    stack_buf,
    u2i,
)

ROWS_BYTES = 4 * BATCH
WORDS_BYTES = 8 * BATCH
KEYS_BYTES = BOARD * BATCH
AHEAD = 12
"""Number of records between a prefetch of the index and its use."""
LINKS_BYTES = 64 * DAT_LINK_BYTES
SPECIAL = 16
"""Bytes of an entry of `dat_write`'s ``special``: row and address, 64 bits each."""
SPECIAL_LINKS = 8
NOTE = 16
"""Bytes of a note of `dat_compare`: row and byte in the file, 64 bits each."""
NOTE_BYTE = 8
WRITTEN_NEXT = 8
"""Offset in the ``stats`` of `dat_write` of the next row to be written."""


@kernel("i64(u64)", inline=True)
def short_at(address):
    """Return the signed 16-bit word at an address that need not be aligned."""
    return (u2i(ldu8(address + U(1)) ^ U(0x80)) - 128) * 256 + u2i(ldu8(address))


@kernel("u64(u64)", inline=True)
def dat_link_count(record):
    return ldu8(record + U(DAT_LINKS))


@kernel("u64(u64)", inline=True)
def dat_links_end(record):
    """Return the address of the leaf, which stands behind the links of ``record``."""
    return record + U(DAT_FIXED) + dat_link_count(record) * U(DAT_LINK_BYTES)


@kernel("i64(u64)", inline=True)
def dat_link_score(link):
    """Return the score of the link or leaf at address ``link``."""
    return ldi8(link)


@kernel("u64(u64)", inline=True)
def dat_link_move(link):
    return ldu8(link + U(1))


@kernel("i64(u64,u64)")
def dat_check(record, out):
    """Return the fault of the record at ``record``, 0 for none; the byte at fault goes to IMPORT_BYTE in ``out``."""
    p = packed_player(record)
    o = packed_opponent(record)
    fault = check_board(p, o)
    if fault:
        return at_fault(out, 0, fault)
    k = 0
    while k < 3:
        value = short_at(record + i2u(DAT_SCORE + 2 * k))
        most = MAX_BOUND if k == 0 else DAT_BOUND
        if value < -most or value > most:
            return at_fault(out, DAT_SCORE + 2 * k, BAD_SCORE)
        k += 1
    if ldu8(record + U(DAT_LEVEL)) > U(MAX_LEVEL):
        return at_fault(out, DAT_LEVEL, BAD_LEVEL)
    legal = moves(p, o)
    stuck = legal == U(0)
    can_pass = stuck and moves(o, p) != U(0)
    linked = U(0)
    passed = False
    count = dat_link_count(record)
    if u2i(count) > popc(legal) and not (can_pass and count == U(1)):
        return at_fault(out, DAT_LINKS, TOO_MANY_LINKS)
    leaf = dat_links_end(record)
    link = record + U(DAT_FIXED)
    while link < leaf:
        move = dat_link_move(link)
        place = u2i(link - record)
        if can_pass:
            if move != U(PASS):
                return at_fault(out, place, BAD_LINK)
            passed = True
        else:
            if move >= U(PASS) or legal & bit(move & U(63)) == U(0):
                return at_fault(out, place, BAD_LINK)
            if linked & bit(move):
                return at_fault(out, place, LINK_TWICE)
            linked |= bit(move)
        if dat_link_score(link) == -128:
            return at_fault(out, place, BAD_LINK_SCORE)
        link += U(DAT_LINK_BYTES)
    place = u2i(leaf - record)
    move = dat_link_move(leaf)
    score = dat_link_score(leaf)
    if move == U(NO_MOVE):
        # No score, perhaps as Egaroucid exports that.
        if NO_SCORE <= score <= UNDEFINED_SCORE:
            return 0
        if not stuck or can_pass:
            return at_fault(out, place, BAD_LEAF)
    elif move == U(PASS):
        if not can_pass:
            return at_fault(out, place, BAD_LEAF)
        if passed:
            return at_fault(out, place, LEAF_LINKED)
    else:
        if move > U(63) or legal & bit(move & U(63)) == U(0):
            return at_fault(out, place, BAD_LEAF)
        if linked & bit(move):
            return at_fault(out, place, LEAF_LINKED)
    if score < -MAX_SCORE or score > MAX_SCORE:
        return at_fault(out, place, BAD_LEAF_SCORE)
    return 0


@kernel("u64(u64,u64)", inline=True)
def prefetch_record(ctx, record):
    """Prefetch the index for a look-up of the position of ``record``; return the address of the next record."""
    prefetch_key(ctx, packed_player(record), packed_opponent(record))
    return dat_links_end(record) + U(DAT_LINK_BYTES)


@kernel("i64(u64,u64,i64,i64,i64,u64)")
def dat_load(ctx, data, size, start, most, out):
    """Insert up to ``most`` records of the ``size`` bytes at ``data``, from byte ``start`` on. Returns the byte
    where it stopped.

    ``out`` gets the words IMPORT_REASON (also CUT, for a record cut short), IMPORT_BYTE and IMPORT_REPEATED. Of
    repeated positions the first is kept.
    """
    record = data + i2u(start)
    end = data + i2u(size)
    ahead = record
    lead = 0
    set_word(out, IMPORT_REASON, U(0))
    while record < end and most > 0:
        most -= 1
        while lead < AHEAD and ahead + U(DAT_LEAST) <= end:
            ahead = prefetch_record(ctx, ahead)
            lead += 1
        lead -= 1
        fault = 0
        answer = 0
        if record + U(DAT_LEAST) > end or dat_links_end(record) + U(DAT_LINK_BYTES) > end:
            fault = at_fault(out, 0, CUT)
        else:
            fault = dat_check(record, out)
        if fault == 0:
            answer = insert_row(ctx, packed_player(record), packed_opponent(record))
            if answer < 0:
                fault = answer
        if fault:
            set_word(out, IMPORT_REASON, i2u(fault))
            return u2i(record - data)
        leaf = dat_links_end(record)
        if answer & 1:
            to = row_at(ctx, i2u(answer >> 1))
            k = U(0)
            while k < U(16):
                st32(to + U(COUNTS) + k, u2i(half_at(record + U(DAT_COUNTS) + k)))
                k += U(4)
            level = u2i(ldu8(record + U(DAT_LEVEL)))
            set_score(
                to,
                clamped(short_at(record + U(DAT_SCORE))),
                clamped(short_at(record + U(DAT_SCORE + 2))),
                clamped(short_at(record + U(DAT_SCORE + 4))),
            )
            set_level(to, level)
            if dat_link_score(leaf) >= -MAX_SCORE:
                set_leaf(to, u2i(dat_link_move(leaf)), dat_link_score(leaf), level)
        else:
            set_word(out, IMPORT_REPEATED, word_of(out, IMPORT_REPEATED) + U(1))
        record = leaf + U(DAT_LINK_BYTES)
    return u2i(record - data)


@kernel("i64(u64,u64,u64)")
def sorted_links(ctx, family, out):
    """Write the links of a row, whose family is at address ``family``, to ``out`` as Edax has them: score and move, a
    byte each, best first, then by move. Returns their number.
    """
    links = links_of(family)
    k = U(0)
    while k < link_count(family):
        score = -score_of(row_at(ctx, i2u(link_row(links, k))))
        link = out + k * U(DAT_LINK_BYTES)
        while link > out and dat_link_score(link - U(DAT_LINK_BYTES)) < score:
            st16(link, u2i(ldu16(link - U(DAT_LINK_BYTES))))
            link -= U(DAT_LINK_BYTES)
        st8(link, score)
        st8(link + U(1), u2i(link_move(links, k)))
        k += U(1)
    return u2i(k)


@kernel("i64(u64,u64,u64)", inline=True)
def same_bytes(a, b, size):
    k = U(0)
    while k < size:
        if ldu8(a + k) != ldu8(b + k):
            return 0
        k += U(1)
    return 1


@kernel("i64(u64,u64,i64,i64,i64,u64,i64,u64,u64)")
def dat_compare(ctx, data, size, start, most, out, capacity, stats, filters):
    """Find records, all in the table, whose links differ from the computed ones: in order, scores or number.

    Reads about ``most`` records from byte ``start`` on and notes (row, byte in ``data``) of each that differs at
    ``out``; stops if fewer than `BATCH` of ``capacity`` notes are free. Returns the byte where it stopped; ``stats``
    gets the number of notes. ``filters`` is the address of the filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    links = stack_buf(LINKS_BYTES)
    places = stack_buf(WORDS_BYTES)
    keys = stack_buf(KEYS_BYTES)
    found_rows = stack_buf(WORDS_BYTES)
    rows = stack_buf(ROWS_BYTES)
    next_record = data + i2u(start)
    end = data + i2u(size)
    number = U(0)
    while next_record < end and most > 0 and u2i(number) + BATCH <= capacity:
        batch = U(0)
        while batch < U(BATCH) and next_record < end:
            set_board(keys + batch * U(BOARD), packed_player(next_record), packed_opponent(next_record))
            st64(places + (batch << U(3)), next_record)
            next_record = dat_links_end(next_record) + U(DAT_LINK_BYTES)
            batch += U(1)
        find_rows(ctx, keys, u2i(batch), found_rows)
        k = U(0)
        while k < batch:
            list_row(rows, k, ld64(found_rows + (k << U(3))))
            k += U(1)
        gather_children(ctx, rows, U(0), batch, filters, families)
        k = U(0)
        while k < batch:
            record = ld64(places + (k << U(3)))
            mine = sorted_links(ctx, families + k * U(FAMILY), links)
            count = dat_link_count(record)
            same = mine == u2i(count) and same_bytes(links, record + U(DAT_FIXED), count * U(DAT_LINK_BYTES))
            if not same:
                st64(out + number * U(NOTE), listed_row(rows, k))
                st64(out + number * U(NOTE) + U(NOTE_BYTE), record - data)
                number += U(1)
            k += U(1)
        most -= BATCH
    st64(stats, number)
    return u2i(next_record - data)


@kernel("void(u64,u64,i64,u64,u64)")
def dat_same_links(ctx, special, specials, out, filters):
    """Write a byte to ``out`` for each of the ``specials`` entries of `dat_write`'s ``special``: 1 if its links are the
    computed ones, in any order, else 0.
    """
    families = stack_buf(FAMILIES)
    links = stack_buf(LINKS_BYTES)
    rows = stack_buf(ROWS_BYTES)
    k = U(0)
    while k < i2u(specials):
        source = ld64(special + k * U(SPECIAL) + U(SPECIAL_LINKS))
        count = ldu8(source)
        list_row(rows, U(0), ld64(special + k * U(SPECIAL)))
        gather_children(ctx, rows, U(0), U(1), filters, families)
        same = sorted_links(ctx, families, links) == u2i(count)
        j = U(0)
        while same and j < count:
            # No move occurs twice, so each link of the file need only be one of the table's.
            link = source + U(1) + j * U(DAT_LINK_BYTES)
            i = U(0)
            while i < count and same_bytes(links + i * U(DAT_LINK_BYTES), link, U(DAT_LINK_BYTES)) == 0:
                i += U(1)
            same = i < count
            j += U(1)
        st8(out + k, 1 if same else 0)
        k += U(1)


@kernel("void(u64,u64)", inline=True)
def put_word(address, word):
    """Store 64 bits at an address that need not be aligned."""
    k = U(0)
    while k < U(8):
        st8(address + k, u2i((word >> (k << U(3))) & U(0xFF)))
        k += U(1)


@kernel("void(u64,i64)", inline=True)
def put_short(address, value):
    """Store 16 bits at an address that need not be aligned; ``value`` is -256..255."""
    st8(address, value)
    st8(address + U(1), -1 if value < 0 else 0)


@kernel("i64(u64,i64,i64,u64,i64,u64,i64,u64,u64,u64)")
def dat_write(ctx, start, end, out, size, special, specials, stats, filters, scale):
    """Write rows ``start`` to ``end`` - 1 as records to the ``size`` bytes at ``out`` while `DAT_MOST` bytes are left.
    Returns the number of bytes written.

    ``special`` lists ``specials`` rows, ascending, whose links are not computed: each entry is a row and the address of
    a byte with the number of links, which the links follow. The first word at ``stats`` is the number of the next entry
    and is updated; the second receives the next row to write. ``filters`` is the address of the filters by number of
    empty squares; ``scale`` has Egaroucid's levels in our scale, by level and empty squares.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    row = first
    target = out
    last = out + i2u(size) - U(DAT_MOST)
    while row < i2u(end) and target <= last:
        family = family_of(ctx, U(0), first, row, i2u(end), filters, families)
        record = row_at(ctx, row)
        put_word(target, player_of(record))
        put_word(target + U(PACKED_OPPONENT), opponent_of(record))
        k = U(0)
        while k < U(4):
            total = count_of(ctx, record, k)
            put_word(target + U(DAT_COUNTS) + (k << U(2)), U(MOST_NARROW) if total > U(MOST_NARROW) else total)
            k += U(1)
        put_short(target + U(DAT_SCORE), score_of(record))
        put_short(target + U(DAT_SCORE + 2), lower_bound_of(record))
        put_short(target + U(DAT_SCORE + 4), upper_bound_of(record))
        leaf_move = leaf_move_of(record)
        leaf_score = leaf_score_of(record)
        level = level_of(record)
        if level > MAX_LEVEL and leaf_move < U(NO_MOVE) and leaf_score >= -MAX_SCORE:
            # The level of a human's score would make Edax take the leaf for solved.
            level = leaf_level_of(record)
        if flags_of(record) & U(EGAROUCID_LEVELS):
            level = ldi8(scale + i2u((level - NO_LEVEL) * SQUARES + empties_of(record)))
        st8(target + U(DAT_LEVEL), 0 if level < 0 else MAX_LEVEL if level > MAX_LEVEL else level)
        link = target + U(DAT_FIXED)
        next_special = ld64(stats)
        entry = special + next_special * U(SPECIAL)
        if u2i(next_special) < specials and ld64(entry) == row:
            source = ld64(entry + U(SPECIAL_LINKS))
            count = ldu8(source)
            k = U(0)
            while k < count * U(DAT_LINK_BYTES):
                st8(link + k, u2i(ldu8(source + U(1) + k)))
                k += U(1)
            st64(stats, next_special + U(1))
        else:
            count = i2u(sorted_links(ctx, family, link))
        st8(target + U(DAT_LINKS), u2i(count))
        leaf = dat_links_end(target)
        while link < leaf:
            if dat_link_move(link) == leaf_move:
                leaf_move = U(NO_MOVE)
                leaf_score = NO_SCORE
            link += U(DAT_LINK_BYTES)
        surplus = leaf_move == U(NO_MOVE) and not is_finished(family)
        if leaf_move > U(NO_MOVE) or leaf_score < -MAX_SCORE or surplus:
            leaf_move = U(NO_MOVE)
            leaf_score = NO_SCORE
            if is_finished(family):
                # In Edax's file the leaf of a finished game holds the score.
                leaf_score = score_of(record)
        st8(leaf, leaf_score)
        st8(leaf + U(1), u2i(leaf_move))
        target = leaf + U(DAT_LINK_BYTES)
        row += U(1)
    st64(stats + U(WRITTEN_NEXT), row)
    return u2i(target - out)
