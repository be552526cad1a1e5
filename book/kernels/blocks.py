"""Blocks of a mapped file, each compared with its checksum before it is used or written to for the first time.

A guard is nine words, described in `storage/blocks.py`; the names below are byte offsets in it. A block that does not
match is filled with zeros, which are no position and no index entry, and noted in DAMAGED.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import U, atomic_add64, ld64, ldu8, ldu32, poll64, st8, st64

FIRST = U(0)
END = U(8)
SHIFT = U(16)
STATES = U(24)
SUMS = U(32)
TABLES = U(40)
NEXT = U(48)
SERVED = U(56)
DAMAGED = U(64)

UNCHECKED = U(0)
MATCHES = 1
SPOILT = 2


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
    """Compare a block, unless another thread has done so: one thread at a time, before anybody writes to it."""
    ticket = atomic_add64(guard + NEXT, U(1))
    while poll64(guard + SERVED) != ticket:
        pass
    state = ld64(guard + STATES) + block
    if ldu8(state) == UNCHECKED:
        shift = ld64(guard + SHIFT)
        at = ld64(guard + FIRST) + (block << shift)
        size = U(1) << shift
        if at + size > ld64(guard + END):
            size = ld64(guard + END) - at
        if crc32_of(ld64(guard + TABLES), at, size) == ldu32(ld64(guard + SUMS) + (block << U(2))):
            st8(state, MATCHES)
        else:
            end = at + size
            while at < end:
                st8(at, 0)
                at += U(1)
            if ld64(guard + DAMAGED) == U(0):
                st64(guard + DAMAGED, block + U(1))
            st8(state, SPOILT)
    atomic_add64(guard + SERVED, U(1))


@kernel("void(u64,u64,u64)")
def check_range(guard, at, size):
    """Compare the blocks that hold ``size`` (at least 1) bytes from ``at`` on, as far as they lie in the file."""
    first = ld64(guard + FIRST)
    end = ld64(guard + END)
    if at >= first and at < end:
        shift = ld64(guard + SHIFT)
        last = at + size - U(1)
        if last >= end:
            last = end - U(1)
        block = (at - first) >> shift
        last = (last - first) >> shift
        states = ld64(guard + STATES)
        while block <= last:
            if ldu8(states + block) == UNCHECKED:
                check_block(guard, block)
            block += U(1)
