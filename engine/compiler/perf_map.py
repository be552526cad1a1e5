"""Names of compiled kernels for Linux' `perf`, written to /tmp/perf-PID.map if ``DESDAEMON_PERF_MAP=1``.

The format is that of the kernel's tools/perf/Documentation/jit-interface.txt. Symbols are read from the object file,
which is ELF on systems with `perf` (System V Application Binary Interface, chapters 4 and 5).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_SYMBOL_TABLE = 2
_FUNCTION = 2


class Symbol(NamedTuple):
    """A function of an object file: its section, its offset there and its size, in bytes."""

    name: str
    section: int
    offset: int
    size: int


def functions(code: bytes) -> list[Symbol]:
    """Return the functions of a relocatable 64-bit little-endian ELF file; none for other files."""
    if not code.startswith(_ELF64_LITTLE):
        return []
    (sections_at,) = struct.unpack_from("<Q", code, 40)
    entry_bytes, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + k * entry_bytes) for k in range(count)]
    listed = []
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names_at = sections[link][4]
        for place in range(offset, offset + size, 24):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", code, place)
            if info & 15 == _FUNCTION:
                end = code.index(b"\0", names_at + name)
                listed.append(Symbol(code[names_at + name : end].decode(), section, value, length))
    return listed


def lines(code: bytes, symbol: str, address: int) -> list[str]:
    """Return lines of the map for the functions in the section of ``symbol``, a function that is loaded at ``address``;
    none if ``code`` has no such function.
    """
    by_name = {function.name: function for function in functions(code)}
    if symbol not in by_name:
        return []
    base = address - by_name[symbol].offset
    return [
        f"{base + function.offset:x} {function.size:x} {function.name}\n"
        for function in by_name.values()
        if function.section == by_name[symbol].section
    ]


def append(code: bytes, symbol: str, address: int) -> None:
    """Add the loaded library ``code``, whose function ``symbol`` is at ``address``, to this process's map."""
    with Path(f"/tmp/perf-{os.getpid()}.map").open("a", encoding="ascii") as stream:
        stream.writelines(lines(code, symbol, address))
