"""Memory outside Python's heap for kernels: zeroed, page-aligned, passed by address; and files mapped to memory."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

from desdaemon.protocol.system import platform

from .compiler import INTERPRETED, interpreted


class Block:
    """``size`` bytes of zeros at ``address``, which the system provides page by page at the first write.

    They are freed with the object, which must outlive every use of the address. Raises OSError or MemoryError if the
    system refuses the memory.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._map = platform.private_memory(size)
        self._view = (ctypes.c_char * size).from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        _bound(self, size)

    def clear(self) -> None:
        """Set all bytes to zero; no kernel may be using them.

        If possible, blocks of 256 KB and more return their pages to the system, which later provides new ones near the
        next writer.
        """
        if self.size < 1 << 18 or not platform.drop_pages(self._map):
            ctypes.memset(self.address, 0, self.size)
        # Large pages spare a search, which reads its table at random, most of the address translation. They are not
        # used from the beginning, because the system may take a tenth of a second to find the first of them.
        if self.size >= 1 << 21:
            platform.use_large_pages(self._map)

    def words(self) -> ctypes.Array[ctypes.c_uint64]:
        """Return a view of this memory as unsigned 64-bit words."""
        return (ctypes.c_uint64 * (self.size // 8)).from_buffer(self._map)


class HeapWords:
    """``number`` 64-bit words of zeros at ``address``, on Python's heap, freed with the object: made in a tenth of the
    time of a `Block`.
    """

    def __init__(self, number: int) -> None:
        self.words = (ctypes.c_uint64 * number)()
        self.address = ctypes.addressof(self.words)
        _bound(self, 8 * number)


class MappedFile:
    """A file mapped to memory: ``size`` bytes at ``address`` in pages shared with other processes. What this process
    writes there stays its own and does not change the file.

    Raises OSError if the file cannot be opened or mapped, ValueError if it is empty.
    """

    def __init__(self, path: Path) -> None:
        with os.fdopen(platform.open_file(path, os.O_RDONLY), "rb") as stream:
            # ctypes takes the address of a writable mapping only; repaired weights are written to it (`Weights`).
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        self.size = len(self._map)
        self._view = (ctypes.c_char * self.size).from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        _bound(self, self.size)


def _bound(memory: Block | HeapWords | MappedFile, size: int) -> None:
    """If kernels run as Python, tell them that ``memory`` has ``size`` bytes, until it is freed; else do nothing."""
    if INTERPRETED:
        import weakref

        interpreted.add_region(memory.address, size)
        weakref.finalize(memory, interpreted.remove_region, memory.address)
