"""Blocks of a mapped file, each compared with its checksum before it is used or written to for the first time.

`layout` has the words of a guard. A block that does not match is filled with zeros, which are no position and no index
entry, and noted in GUARD_DAMAGED.
"""

from desdaemon.book.layout import (
    CHECKED,
    DAMAGED,
    GUARD_DAMAGED,
    GUARD_END,
    GUARD_FIRST,
    GUARD_NEXT,
    GUARD_SERVED,
    GUARD_SHIFT,
    GUARD_STATES,
    GUARD_SUMS,
    GUARD_TABLES,
    UNCHECKED,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, agreed64, atomic_add64, ld64, ldu8, ldu32, st8, st64


@kernel("u64(u64,u64)", inline=True)
def crc_entry(table, byte):
    """An entry of one of the eight tables of 256."""
    return ldu32(table + ((byte & U(0xFF)) << U(2)))


@kernel("u64(u64,u64,u64)")
def crc32_of(tables, at, size):
    """The CRC-32 (zlib's) of memory, eight bytes at a time; ``tables``: see `storage/blocks.py`."""
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


@kernel("void(u64,u64)")
def check_block(guard, block):
    """Compare a block, unless another thread has done so: one thread at a time, before the first write to it."""
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
        if crc32_of(ld64(guard + U(GUARD_TABLES)), at, size) == ldu32(ld64(guard + U(GUARD_SUMS)) + (block << U(2))):
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


@kernel("void(u64,u64,u64)")
def check_range(guard, at, size):
    """Compare the blocks that hold ``size`` (at least 1) bytes from ``at`` on, within the file."""
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
