"""Edax's book.dat (version 4) records: reading with every check, comparing and writing their links."""

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
    sts64,
    u2i,
)

from .graph import barren, list_links, prefetch_key
from .negamax import NARROW, clamp, count_of
from .table import canonical, find_row, insert_row, row_at

FIXED = U(40)
CENTRE = U(0x0000001818000000)
NO_SCORE = -127
AHEAD = 12

CUT = 1
OVERLAP = 2
CENTRE_EMPTY = 3
NOT_CANONICAL = 4
BAD_VALUE = 5
BAD_LEVEL = 6
TOO_MANY_LINKS = 7
BAD_LINK = 8
LINK_TWICE = 9
BAD_LINK_SCORE = 10
BAD_LEAF = 11
BAD_LEAF_SCORE = 12
LEAF_LINKED = 13


@kernel("u64(u64)", inline=True)
def word_at(at):
    """The 64-bit word at an address that may be odd."""
    word = U(0)
    k = U(8)
    while k > U(0):
        k -= U(1)
        word = (word << U(8)) | ldu8(at + k)
    return word


@kernel("u64(u64)", inline=True)
def half_at(at):
    """The 32-bit word at an address that may be odd."""
    return ldu8(at) | (ldu8(at + U(1)) << U(8)) | (ldu8(at + U(2)) << U(16)) | (ldu8(at + U(3)) << U(24))


@kernel("i64(u64)", inline=True)
def short_at(at):
    """The signed 16-bit word at an address that may be odd."""
    return (u2i(ldu8(at + U(1)) ^ U(0x80)) - 128) * 256 + u2i(ldu8(at))


@kernel("i64(u64,u64)")
def dat_check(at, out):
    """What is wrong with the whole record at ``at`` (0: nothing); the byte in the record at ``out``."""
    key = stack_buf(16)
    p = word_at(at)
    o = word_at(at + U(8))
    st64(out, U(0))
    if p & o:
        return OVERLAP
    if (p | o) & CENTRE != CENTRE:
        return CENTRE_EMPTY
    canonical(p, o, key)
    if ld64(key) != p or ld64(key + U(8)) != o:
        return NOT_CANONICAL
    k = U(32)
    while k < U(38):
        value = short_at(at + k)
        most = 127 if k == U(32) else 512
        if value < -most or value > most:
            st64(out, k)
            return BAD_VALUE
        k += U(2)
    st64(out, U(39))
    if ldu8(at + U(39)) > U(60):
        return BAD_LEVEL
    legal = moves(p, o)
    stuck = legal == U(0)
    can_pass = stuck and moves(o, p) != U(0)
    linked = U(0)
    passed = False
    count = ldu8(at + U(38))
    st64(out, U(38))
    if u2i(count) > popc(legal) and not (can_pass and count == U(1)):
        return TOO_MANY_LINKS
    k = U(0)
    while k < count:
        here = FIXED + (k << U(1))
        move = ldu8(at + here + U(1))
        st64(out, here)
        if can_pass:
            if move != U(64):
                return BAD_LINK
            passed = True
        else:
            if move > U(63) or legal & bit(move & U(63)) == U(0):
                return BAD_LINK
            if linked & bit(move):
                return LINK_TWICE
            linked |= bit(move)
        if ldi8(at + here) == -128:
            return BAD_LINK_SCORE
        k += U(1)
    here = FIXED + (count << U(1))
    st64(out, here)
    move = ldu8(at + here + U(1))
    score = ldi8(at + here)
    if move == U(65):
        if score == NO_SCORE:
            return 0
        if not stuck or can_pass:
            return BAD_LEAF
    elif move == U(64):
        if not can_pass:
            return BAD_LEAF
        if passed:
            return LEAF_LINKED
    else:
        if move > U(63) or legal & bit(move & U(63)) == U(0):
            return BAD_LEAF
        if linked & bit(move):
            return LEAF_LINKED
    if score < -64 or score > 64:
        return BAD_LEAF_SCORE
    return 0


@kernel("u64(u64,u64,u64)", inline=True)
def prefetch_record(ctx, data, here):
    """Ask for the tags that looking up the record at byte ``here`` will read; where the next record begins."""
    at = data + here
    prefetch_key(ctx, word_at(at), word_at(at + U(8)))
    return here + U(42) + (ldu8(at + U(38)) << U(1))


@kernel("i64(u64,u64,i64,i64,i64,u64)")
def dat_load(ctx, data, size, start, most, out):
    """Insert ``most`` records of ``data`` at most, from byte ``start``; answers where it stopped.

    ``out``: + 0 why (0: the end, or so many; -1, -2: see `insert_row`; else what is wrong, in the record that begins
    where it stopped), + 8 at which byte of the record, + 16 known positions met.
    """
    here = i2u(start)
    end = i2u(size)
    ahead = here
    lead = 0
    st64(out, U(0))
    while here < end and most > 0:
        most -= 1
        while lead < AHEAD and ahead + U(42) <= end:
            ahead = prefetch_record(ctx, data, ahead)
            lead += 1
        lead -= 1
        at = data + here
        if here + U(42) > end or here + U(42) + (ldu8(at + U(38)) << U(1)) > end:
            sts64(out, CUT)
            sts64(out + U(8), 0)
            return u2i(here)
        wrong = dat_check(at, out + U(8))
        if wrong:
            sts64(out, wrong)
            return u2i(here)
        answer = insert_row(ctx, word_at(at), word_at(at + U(8)))
        if answer < 0:
            sts64(out, answer)
            return u2i(here)
        leaf = at + FIXED + (ldu8(at + U(38)) << U(1))
        if answer & 1:
            to = row_at(ctx, i2u(answer >> 1))
            k = U(16)
            while k < U(32):
                st32(to + k, u2i(half_at(at + k)))
                k += U(4)
            st8(to + U(32), clamp(short_at(at + U(32))))
            st8(to + U(33), clamp(short_at(at + U(34))))
            st8(to + U(34), clamp(short_at(at + U(36))))
            st8(to + U(35), u2i(ldu8(at + U(39))))
            st8(to + U(36), u2i(ldu8(leaf + U(1))))
            st8(to + U(37), ldi8(leaf))
            st8(to + U(38), -1 if ldi8(leaf) == NO_SCORE else u2i(ldu8(at + U(39))))
        else:
            st64(out + U(16), ld64(out + U(16)) + U(1))
        here = here + U(42) + (ldu8(at + U(38)) << U(1))
    return u2i(here)


@kernel("i64(u64,u64,u64,u64)")
def sorted_links(ctx, at, out, empties):
    """The links of the record at ``at`` as Edax stores them (score, move), best first, then by move.

    ``empties``: see `barren`.
    """
    found = stack_buf(1024)
    count = u2i(U(0))
    if barren(ld64(at), ld64(at + U(8)), empties):
        return 0
    total = list_links(ctx, ld64(at), ld64(at + U(8)), found)
    k = U(0)
    while k < i2u(total):
        row = ld64(found + (k << U(4)) + U(8))
        if u2i(row) >= 0:
            score = -ldi8(row_at(ctx, row) + U(32))
            j = i2u(count)
            while j > U(0) and ldi8(out + ((j - U(1)) << U(1))) < score:
                st16(out + (j << U(1)), u2i(ldu16(out + ((j - U(1)) << U(1)))))
                j -= U(1)
            st8(out + (j << U(1)), score)
            st8(out + (j << U(1)) + U(1), u2i(ld64(found + (k << U(4)))))
            count += 1
        k += U(1)
    return count


@kernel("i64(u64,u64,i64,i64,i64,u64,i64,u64,u64)")
def dat_compare(ctx, data, size, start, done, out, room, stats, empties):
    """Look for records whose links differ from what the table says (another order, stale scores, missing ones).

    From byte ``start`` on, at most ``done`` records; each that differs is noted at ``out`` as (row, byte in
    ``data``); stops when ``room`` are noted. Answers where it stopped; ``stats`` + 0 how many were noted.
    ``empties``: see `sorted_links`.
    """
    links = stack_buf(256)
    here = i2u(start)
    noted = U(0)
    ahead = here
    lead = 0
    while here < i2u(size) and done > 0 and noted < i2u(room):
        while lead < AHEAD and ahead < i2u(size):
            ahead = prefetch_record(ctx, data, ahead)
            lead += 1
        lead -= 1
        at = data + here
        count = ldu8(at + U(38))
        row = find_row(ctx, word_at(at), word_at(at + U(8)))
        mine = sorted_links(ctx, row_at(ctx, i2u(row)), links, empties)
        same = mine == u2i(count)
        k = U(0)
        while same and k < (count << U(1)):
            same = ldu8(links + k) == ldu8(at + FIXED + k)
            k += U(1)
        if not same:
            sts64(out + (noted << U(4)), row)
            st64(out + (noted << U(4)) + U(8), here)
            noted += U(1)
        here = here + U(42) + (count << U(1))
        done -= 1
    st64(stats, noted)
    return u2i(here)


@kernel("void(u64,u64,i64,u64,u64)")
def dat_same_links(ctx, special, specials, out, empties):
    """For each (row, address of a count byte and links) of `dat_write`'s ``special`` a byte at ``out``: 1 where the
    links are the table's, with its scores, in whatever order. ``empties``: see `sorted_links`."""
    links = stack_buf(256)
    k = U(0)
    while k < i2u(specials):
        source = ld64(special + (k << U(4)) + U(8))
        count = ldu8(source)
        mine = sorted_links(ctx, row_at(ctx, ld64(special + (k << U(4)))), links, empties)
        same = mine == u2i(count)
        j = U(0)
        while same and j < count:
            # No move is there twice, so it is enough that each link of the file is one of the table's.
            i = U(0)
            while i < count and ldu16(links + (i << U(1))) != ldu8(source + U(1) + (j << U(1))) | (
                ldu8(source + U(2) + (j << U(1))) << U(8)
            ):
                i += U(1)
            same = i < count
            j += U(1)
        st8(out + k, 1 if same else 0)
        k += U(1)


@kernel("void(u64,u64)", inline=True)
def put_word(at, word):
    """Store 64 bits at an address that may be odd."""
    k = U(0)
    while k < U(8):
        st8(at + k, u2i((word >> (k << U(3))) & U(0xFF)))
        k += U(1)


@kernel("i64(u64,i64,i64,u64,i64,u64,i64,u64,u64)")
def dat_write(ctx, start, end, out, size, special, specials, stats, empties):
    """Write rows ``start..end`` as records at ``out`` while at least 170 bytes are left; answers the bytes written.

    ``special`` lists, by ascending row, (row, address of a count byte and links) to be written instead of the
    table's links; ``stats``: + 0 in and out, the next special; + 8 out, the next row. ``empties``:
    see `sorted_links`.
    """
    links = stack_buf(256)
    row = i2u(start)
    here = out
    last = out + i2u(size) - U(170)
    while row < i2u(end) and here <= last:
        at = row_at(ctx, row)
        put_word(here, ld64(at))
        put_word(here + U(8), ld64(at + U(8)))
        k = U(0)
        while k < U(4):
            total = count_of(ctx, at, k)
            put_word(here + U(16) + (k << U(2)), NARROW if total > NARROW else total)
            k += U(1)
        k = U(0)
        while k < U(3):
            score = ldi8(at + U(32) + k)
            st8(here + U(32) + (k << U(1)), score)
            st8(here + U(33) + (k << U(1)), -1 if score < 0 else 0)
            k += U(1)
        next_special = ld64(stats)
        entry = special + (next_special << U(4))
        if u2i(next_special) < specials and ld64(entry) == row:
            source = ld64(entry + U(8))
            count = ldu8(source)
            k = U(0)
            while k < (count << U(1)):
                st8(links + k, u2i(ldu8(source + U(1) + k)))
                k += U(1)
            st64(stats, next_special + U(1))
        else:
            count = i2u(sorted_links(ctx, at, links, empties))
        st8(here + U(38), u2i(count))
        leaf_move = ldu8(at + U(36))
        leaf_score = ldi8(at + U(37))
        level = ldi8(at + U(35))
        if level > 60 and leaf_move < U(65) and leaf_score >= -64:
            # A human's score: Edax would take the leaf for one that was searched to the end.
            level = ldi8(at + U(38))
        st8(here + U(39), 0 if level < 0 else 60 if level > 60 else level)
        k = U(0)
        while k < (count << U(1)):
            st8(here + U(40) + k, u2i(ldu8(links + k)))
            if k & U(1) and ldu8(links + k) == leaf_move:
                leaf_move = U(65)
                leaf_score = NO_SCORE
            k += U(1)
        if leaf_move > U(65) or leaf_score < -64:
            leaf_move = U(65)
            leaf_score = NO_SCORE
            if moves(ld64(at), ld64(at + U(8))) == U(0) and moves(ld64(at + U(8)), ld64(at)) == U(0):
                # A finished game: its score is its leaf there.
                leaf_score = ldi8(at + U(32))
        here = here + U(40) + (count << U(1))
        st8(here, leaf_score)
        st8(here + U(1), u2i(leaf_move))
        here += U(2)
        row += U(1)
    st64(stats + U(8), row)
    return u2i(here - out)
