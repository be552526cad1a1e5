"""Memory outside Python's heap for kernels: zeroed, page-aligned and passed by address; and read-only mapped files."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

from .compiler import INTERPRETED


class Block:
    """``size`` bytes of zeros at ``address``; the system provides a page at the first write to it.

    Freed with the object, which has to outlive every use of the address. Raises OSError or MemoryError.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        # Shared memory, the default, would keep its content when its pages are given back.
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        self._map = mmap.mmap(-1, size, **private)
        self._view = (ctypes.c_char * size).from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        _bound(self, size)

    def _advise(self, what: int) -> bool:
        try:
            self._map.madvise(what)
        except (OSError, ValueError):
            return False
        return True

    def clear(self) -> None:
        """Set all bytes to zero. Blocks of 256 KB and more return their pages, so that they are allocated near the next
        writer.

        No kernel may be using it.
        """
        if self.size < 1 << 18 or not hasattr(mmap, "MADV_DONTNEED") or not self._advise(mmap.MADV_DONTNEED):
            ctypes.memset(self.address, 0, self.size)
        # A search touches its table at random: large pages spare most of the address translation. Not from the
        # beginning, for the system may take a tenth of a second to find the first of them.
        if self.size >= 1 << 21 and hasattr(mmap, "MADV_HUGEPAGE"):
            self._advise(mmap.MADV_HUGEPAGE)

    def words(self) -> ctypes.Array[ctypes.c_uint64]:
        """A view of this memory as unsigned 64-bit words."""
        return (ctypes.c_uint64 * (self.size // 8)).from_buffer(self._map)


class MappedFile:
    """A file mapped read-only: ``size`` bytes at ``address``, in pages shared with other processes. Raises OSError."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            # A private writable mapping is what ctypes can take the address of; nothing is ever written to it.
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        self.size = len(self._map)
        self._view = (ctypes.c_char * self.size).from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        _bound(self, self.size)


def _bound(memory: Block | MappedFile, size: int) -> None:
    """Register the bounds of this memory with interpreted kernels for as long as it lives."""
    if INTERPRETED:
        import weakref

        from .compiler import interpreted

        interpreted.add_region(memory.address, size)
        weakref.finalize(memory, interpreted.remove_region, memory.address)
