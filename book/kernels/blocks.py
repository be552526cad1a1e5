"""Blocks of a mapped file, each compared with its checksum before it is used or written to for the first time.

`layout` describes the words of a guard. If a block does not match, or holds numbers outside their range, it is filled
with zeros, which stand for no position and no index entry, and is noted in GUARD_DAMAGED. So is a block of an index
without a free slot.
"""

from desdaemon.book.layout import (
    CHECKED,
    DAMAGED,
    EGAROUCID_LEVELS,
    EGBK_UNDEFINED_MOVE,
    GUARD_DAMAGED,
    GUARD_END,
    GUARD_FIRST,
    GUARD_NEXT,
    GUARD_RECORDS_END,
    GUARD_RESULTS,
    GUARD_RESULTS_END,
    GUARD_SERVED,
    GUARD_SHIFT,
    GUARD_STATES,
    GUARD_SUMS,
    GUARD_TABLES,
    HUMAN,
    HUMAN_LEVEL,
    MAX_LEVEL,
    MINUS_ZERO,
    MOST_GAMES,
    NO_LEVEL,
    NO_MOVE,
    RECORD_BYTES,
    SCORE,
    UNCHECKED,
    WIDE,
    WORD,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, agreed64, atomic_add64, ld64, ldu8, ldu32, st8, st64, u2i

from .records import flags_of, leaf_level_of, leaf_move_of, leaf_score_of, level_of, score_of


@kernel("u64(u64,u64)", inline=True)
def crc_entry(table, byte):
    """Return an entry of one of the eight tables of 256."""
    return ldu32(table + ((byte & U(0xFF)) << U(2)))


@kernel("u64(u64,u64,u64)")
def crc32_of(tables, at, size):
    """Return the CRC-32 (zlib's) of memory, eight bytes at a time; ``tables``: see `storage/blocks.py`."""
    crc = U(0xFFFFFFFF)
    end = at + size
    while at + U(8) <= end:
        word = ld64(at) ^ crc
        crc = (
            crc_entry(tables + U(7168), word)
            ^ crc_entry(tables + U(6144), word >> U(8))
            ^ crc_entry(tables + U(5120), word >> U(16))
            ^ crc_entry(tables + U(4096), word >> U(24))
            ^ crc_entry(tables + U(3072), word >> U(32))
            ^ crc_entry(tables + U(2048), word >> U(40))
            ^ crc_entry(tables + U(1024), word >> U(48))
            ^ crc_entry(tables, word >> U(56))
        )
        at += U(8)
    while at < end:
        crc = crc_entry(tables, crc ^ ldu8(at)) ^ (crc >> U(8))
        at += U(1)
    return crc ^ U(0xFFFFFFFF)


@kernel("i64(i64)", inline=True)
def no_level(level):
    """Whether a level is invalid: neither -1..60 nor a human's."""
    return 1 if (level < NO_LEVEL or level > MAX_LEVEL) and level != HUMAN_LEVEL else 0


@kernel("i64(u64,u64,u64)")
def find_impossible(first, start, end):
    """Find the first invalid record among those from address ``first`` on whose last word lies between ``start`` and
    ``end``; -1 if there is none. Unlike a record, a word is never in two blocks.
    """
    row = U(0)
    if start > first:
        row = (start - first + U(RECORD_BYTES - SCORE - 1)) // U(RECORD_BYTES)
    at = first + row * U(RECORD_BYTES)
    while at + U(SCORE + WORD) <= end:
        move = leaf_move_of(at)
        if (
            (move > U(NO_MOVE) and move != U(EGBK_UNDEFINED_MOVE))
            or score_of(at) == -128
            or leaf_score_of(at) == -128
            or flags_of(at) > U(HUMAN | WIDE | EGAROUCID_LEVELS)
            or no_level(level_of(at))
            or no_level(leaf_level_of(at))
        ):
            return u2i(row)
        row += U(1)
        at += U(RECORD_BYTES)
    return -1


@kernel("i64(u64,u64)")
def bad_results(start, end):
    """Whether any game result between two addresses is not a number from 0 to 2^53."""
    at = start
    while at < end:
        word = ld64(at)
        if word > U(MOST_GAMES) and word != U(MINUS_ZERO):
            return 1
        at += U(WORD)
    return 0


@kernel("u64(u64,u64)", inline=True)
def smaller_of(a, b):
    return a if a < b else b


@kernel("i64(u64,u64,u64)")
def bad_numbers_in(guard, at, end):
    """Whether a block from ``at`` to ``end`` has records or results with numbers outside their range."""
    records_end = smaller_of(ld64(guard + U(GUARD_RECORDS_END)), end)
    if find_impossible(ld64(guard + U(GUARD_FIRST)), at, records_end) >= 0:
        return 1
    results = ld64(guard + U(GUARD_RESULTS))
    if results < at:
        results = at
    return bad_results(results, smaller_of(ld64(guard + U(GUARD_RESULTS_END)), end))


@kernel("void(u64,u64)")
def check_block(guard, block):
    """Verify a block unless that was done: one thread at a time, before the first write to it."""
    ticket = atomic_add64(guard + U(GUARD_NEXT), U(1))
    while agreed64(guard + U(GUARD_SERVED)) != ticket:
        pass
    state = ld64(guard + U(GUARD_STATES)) + block
    if ldu8(state) == U(UNCHECKED):
        shift = ld64(guard + U(GUARD_SHIFT))
        at = ld64(guard + U(GUARD_FIRST)) + (block << shift)
        size = U(1) << shift
        if at + size > ld64(guard + U(GUARD_END)):
            size = ld64(guard + U(GUARD_END)) - at
        if (
            crc32_of(ld64(guard + U(GUARD_TABLES)), at, size) == ldu32(ld64(guard + U(GUARD_SUMS)) + (block << U(2)))
            and bad_numbers_in(guard, at, at + size) == 0
        ):
            st8(state, CHECKED)
        else:
            end = at + size
            while at < end:
                st8(at, 0)
                at += U(1)
            if ld64(guard + U(GUARD_DAMAGED)) == U(0):
                st64(guard + U(GUARD_DAMAGED), block + U(1))
            st8(state, DAMAGED)
    atomic_add64(guard + U(GUARD_SERVED), U(1))


@kernel("void(u64,u64)")
def note_damage(guard, at):
    """Note the block of an address within the file as damaged, unless another was noted before."""
    first = ld64(guard + U(GUARD_FIRST))
    if at >= first and at < ld64(guard + U(GUARD_END)) and ld64(guard + U(GUARD_DAMAGED)) == U(0):
        st64(guard + U(GUARD_DAMAGED), ((at - first) >> ld64(guard + U(GUARD_SHIFT))) + U(1))


@kernel("void(u64,u64,u64)")
def check_range(guard, at, size):
    """Verify the blocks that hold ``size`` (at least 1) bytes from ``at`` on, within the file."""
    first = ld64(guard + U(GUARD_FIRST))
    end = ld64(guard + U(GUARD_END))
    if at >= first and at < end:
        shift = ld64(guard + U(GUARD_SHIFT))
        last = at + size - U(1)
        if last >= end:
            last = end - U(1)
        block = (at - first) >> shift
        last = (last - first) >> shift
        states = ld64(guard + U(GUARD_STATES))
        while block <= last:
            # No order of memory is needed for a block that matched: nothing in it was changed. That others were cleared
            # is seen by who has waited for its turn.
            if ldu8(states + block) != U(CHECKED):
                check_block(guard, block)
            block += U(1)
