"""Blocks of a mapped file, each compared with its checksum before its first use or change.

`layout` describes the words of a guard. A block that does not match, or holds numbers out of range, is filled with
zeros, which stand for no position and no index entry, and is noted in GUARD_DAMAGED. A block of an index without a free
slot is noted too, but stays as it is.
"""

from desdaemon.book.layout import (
    CHECKED,
    DAMAGED,
    EGAROUCID_LEVELS,
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
    UNDEFINED_MOVE,
    WIDE,
    WORD,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, agreed64, atomic_add64, ld64, ldu8, ldu32, st8, st64, u2i

from .records import flags_of, leaf_level_of, leaf_move_of, leaf_score_of, level_of, score_of


@kernel("u64(u64,u64)", inline=True)
def crc_entry(table, byte):
    """Return an entry of the CRC table at ``table``: the one that the low eight bits of ``byte`` choose."""
    return ldu32(table + ((byte & U(0xFF)) << U(2)))


@kernel("u64(u64,u64,u64)")
def crc32_of(tables, address, size):
    """Return zlib's CRC-32 of ``size`` bytes at ``address``, computed eight at a time; ``tables`` is the address of the
    eight tables of `memory.blocks`.
    """
    crc = U(0xFFFFFFFF)
    end = address + size
    while address + U(8) <= end:
        word = ld64(address) ^ crc
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
        address += U(8)
    while address < end:
        crc = crc_entry(tables, crc ^ ldu8(address)) ^ (crc >> U(8))
        address += U(1)
    return crc ^ U(0xFFFFFFFF)


@kernel("i64(i64)", inline=True)
def no_level(level):
    """Return 1 if ``level`` is invalid, neither -1..60 nor that of a score set by hand; else 0."""
    return 1 if (level < NO_LEVEL or level > MAX_LEVEL) and level != HUMAN_LEVEL else 0


@kernel("i64(u64,u64,u64)")
def find_impossible(first, start, end):
    """Return the number of the first invalid record of those whose last word lies between the addresses ``start`` and
    ``end``; -1 if all are valid. Record 0 is at address ``first``.

    A record may lie in two blocks, a word never does.
    """
    row = U(0)
    if start > first:
        row = (start - first + U(RECORD_BYTES - SCORE - 1)) // U(RECORD_BYTES)
    record = first + row * U(RECORD_BYTES)
    while record + U(SCORE + WORD) <= end:
        move = leaf_move_of(record)
        if (
            (move > U(NO_MOVE) and move != U(UNDEFINED_MOVE))
            or score_of(record) == -128
            or leaf_score_of(record) == -128
            or flags_of(record) > U(HUMAN | WIDE | EGAROUCID_LEVELS)
            or no_level(level_of(record))
            or no_level(leaf_level_of(record))
        ):
            return u2i(row)
        row += U(1)
        record += U(RECORD_BYTES)
    return -1


@kernel("i64(u64,u64)")
def bad_results(start, end):
    """Return 1 if a game result between two addresses is not a number from 0 to 2^53, else 0."""
    address = start
    while address < end:
        word = ld64(address)
        if word > U(MOST_GAMES) and word != U(MINUS_ZERO):
            return 1
        address += U(WORD)
    return 0


@kernel("u64(u64,u64)", inline=True)
def smaller_of(a, b):
    return a if a < b else b


@kernel("i64(u64,u64,u64)")
def bad_numbers_in(guard, address, end):
    """Return 1 if a block from ``address`` to ``end`` has records or results with numbers out of range, else 0."""
    records_end = smaller_of(ld64(guard + U(GUARD_RECORDS_END)), end)
    if find_impossible(ld64(guard + U(GUARD_FIRST)), address, records_end) >= 0:
        return 1
    results = ld64(guard + U(GUARD_RESULTS))
    if results < address:
        results = address
    return bad_results(results, smaller_of(ld64(guard + U(GUARD_RESULTS_END)), end))


@kernel("void(u64,u64)")
def check_block(guard, block):
    """Verify block number ``block`` unless it is verified already. A damaged block is filled with zeros, and noted if
    none was noted before. Threads take turns.
    """
    ticket = atomic_add64(guard + U(GUARD_NEXT), U(1))
    while agreed64(guard + U(GUARD_SERVED)) != ticket:
        pass
    state = ld64(guard + U(GUARD_STATES)) + block
    if ldu8(state) == U(UNCHECKED):
        shift = ld64(guard + U(GUARD_SHIFT))
        address = ld64(guard + U(GUARD_FIRST)) + (block << shift)
        size = U(1) << shift
        if address + size > ld64(guard + U(GUARD_END)):
            size = ld64(guard + U(GUARD_END)) - address
        if (
            crc32_of(ld64(guard + U(GUARD_TABLES)), address, size)
            == ldu32(ld64(guard + U(GUARD_SUMS)) + (block << U(2)))
            and bad_numbers_in(guard, address, address + size) == 0
        ):
            st8(state, CHECKED)
        else:
            end = address + size
            while address < end:
                st8(address, 0)
                address += U(1)
            if ld64(guard + U(GUARD_DAMAGED)) == U(0):
                st64(guard + U(GUARD_DAMAGED), block + U(1))
            st8(state, DAMAGED)
    atomic_add64(guard + U(GUARD_SERVED), U(1))


@kernel("void(u64,u64)")
def note_damage(guard, address):
    """Note the block of ``address`` as damaged, unless it is outside the file or another block was noted before."""
    first = ld64(guard + U(GUARD_FIRST))
    if address >= first and address < ld64(guard + U(GUARD_END)) and ld64(guard + U(GUARD_DAMAGED)) == U(0):
        st64(guard + U(GUARD_DAMAGED), ((address - first) >> ld64(guard + U(GUARD_SHIFT))) + U(1))


@kernel("void(u64,u64,u64)")
def check_range(guard, address, size):
    """Verify the blocks that hold ``size`` bytes (at least 1) from ``address`` on; outside the file do nothing."""
    first = ld64(guard + U(GUARD_FIRST))
    end = ld64(guard + U(GUARD_END))
    if address >= first and address < end:
        shift = ld64(guard + U(GUARD_SHIFT))
        last = address + size - U(1)
        if last >= end:
            last = end - U(1)
        block = (address - first) >> shift
        last = (last - first) >> shift
        states = ld64(guard + U(GUARD_STATES))
        while block <= last:
            # No order of memory is needed for a block that matched: nothing in it was changed. For another block a
            # thread waits for its turn, and then sees the zeros.
            if ldu8(states + block) != U(CHECKED):
                check_block(guard, block)
            block += U(1)
