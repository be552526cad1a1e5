"""Memory for tables in large pieces; beyond a limit on the process's memory a piece is an unnamed file.

A table's records lie in pieces of `PIECE` bytes. Up to `Arena.limit` they are ordinary memory; beyond it a piece is a
mapped, unlinked file, so that the system can write its pages out and read them again, however large the table is.
Without a limit no files are used.
"""

from __future__ import annotations

import mmap
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from desdaemon.book.errors import WriteFailed
from desdaemon.protocol.system import platform

PIECE = 1 << 26


class Arena:
    """The allocator of zeroed memory for tables, which counts its bytes. One for the process; any thread may use it."""

    def __init__(self) -> None:
        self.limit = 0
        """Bytes of ordinary memory that tables may take; 0 for no limit."""
        self.folder = Path(tempfile.gettempdir())
        """Folder of the files that hold the memory beyond the limit."""
        self.used = 0
        """Bytes of ordinary memory in use."""
        self.in_files = 0
        """Bytes of memory that lie in files."""
        self._lock = threading.Lock()

    def beyond(self, size: int) -> bool:
        """Return whether ``size`` more bytes of ordinary memory would exceed the limit."""
        return bool(self.limit) and self.used + size > self.limit

    def piece(self, size: int, *, in_file: bool | None = None) -> npt.NDArray[np.uint8]:
        """Return ``size`` bytes of zeroed memory. They are in a file if ``in_file`` is True, or if it is None and
        ordinary memory would exceed `limit`.

        Raises `WriteFailed` if the system refuses.
        """
        with self._lock:
            if in_file is None:
                in_file = self.beyond(size)
            if in_file:
                self.in_files += size
            else:
                self.used += size
        try:
            mapping = self._file(size) if in_file else platform.private_memory(size)
        except OSError as error:
            self._freed(size, in_file)
            raise WriteFailed(f"{self.folder}: {error.strerror}: no room for {size} bytes of a book") from error
        if not in_file:
            # Random look-ups wait less with pages of 2 MiB.
            platform.use_large_pages(mapping)
        weakref.finalize(mapping, self._freed, size, in_file)
        return np.frombuffer(mapping, np.uint8)

    def array(self, count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a zeroed array of ``count`` items of the numpy type ``kind``.

        It is in a file if it has at least `PIECE` bytes and ordinary memory would exceed `limit` with it.

        Raises `WriteFailed` if the system refuses.
        """
        size = count * np.dtype(kind).itemsize
        if size < PIECE or not self.beyond(size):
            return np.zeros(count, kind)
        return self.piece(size).view(kind)

    def _file(self, size: int) -> mmap.mmap:
        with tempfile.TemporaryFile(dir=self.folder, prefix=".desdaemon-") as stream:
            # Room that is reserved now cannot be missing when a page is written out.
            platform.reserve(stream.fileno(), size)
            return mmap.mmap(stream.fileno(), size)

    def _freed(self, size: int, in_file: bool) -> None:
        with self._lock:
            if in_file:
                self.in_files -= size
            else:
                self.used -= size


ARENA = Arena()
