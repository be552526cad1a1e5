"""A packed book's file: a page with the header, pages of positions in the order of their keys, a directory of pages.

book/packed/FORMAT.md describes it. A look-up reads one page; its first use checks it whole. The directory is in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.chunks import Bytes, Records, Rows, Words, address
from desdaemon.book.errors import Damaged, Unreadable
from desdaemon.book.exports import kernels
from desdaemon.book.layout import PACKED_MOST, PACKED_PAGE, WORD
from desdaemon.book.memory.blocks import crc_tables
from desdaemon.book.memory.files import CHECKED_S, replacing
from desdaemon.book.options import BookOptions, options_of
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import RECORD
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.logs import message

from .exports import kernels as packed_kernels
from .rows import SATELLITE

MAGIC = SATELLITE.book_formats[0].magic
VERSION = 1
_HEADER = struct.Struct("<8sII16sQQII6i")
_CRC_AT = 12
_KEY = layout.PACKED_KEY_BYTES
_BATCH = 1 << 12
_Write = Callable[[bytes | memoryview], object]


class Header(NamedTuple):
    """The header of a packed file; ``mark`` is a digest of all that follows it, ``directory_crc`` the checksum of the
    directory.
    """

    mark: bytes
    positions: int
    pages: int
    directory_crc: int
    options: BookOptions

    @property
    def directory_at(self) -> int:
        return (1 + self.pages) * PACKED_PAGE

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self.directory_at + self.pages * _KEY

    def packed(self) -> bytes:
        """Return the first page of the file."""
        fields = self.mark, self.positions, self.pages, self.directory_crc, 0, *self.options
        page = bytearray(_HEADER.pack(MAGIC, VERSION, 0, *fields).ljust(PACKED_PAGE, b"\0"))
        struct.pack_into("<I", page, _CRC_AT, zlib.crc32(page))
        return bytes(page)


def _header(path: Path, page: bytes, size: int) -> Header:
    """Return the header in the first page of a file of ``size`` bytes. Raises `Unreadable`."""
    if len(page) < PACKED_PAGE or not page.startswith(MAGIC):
        raise Unreadable(path, 0, "not a packed book")
    _, version, crc, mark, positions, pages, directory_crc, _, *options = _HEADER.unpack_from(page)
    if version != VERSION:
        raise Unreadable(path, 8, f"a packed book of version {version}: this program reads version {VERSION}")
    if zlib.crc32(page[:_CRC_AT] + bytes(4) + page[_CRC_AT + 4 :]) != crc:
        raise Unreadable(path, 0, "the header is damaged")
    try:
        header = Header(mark, positions, pages, directory_crc, options_of(*options))
    except ValueError as error:
        raise Unreadable(path, 0, str(error)) from None
    if header.size != size:
        raise Unreadable(path, 0, f"the file has {size} bytes, not the {header.size} of its header")
    if not pages <= positions <= pages * PACKED_MOST:
        raise Unreadable(path, 0, f"{positions} positions cannot be in {pages} pages")
    return header


class PackedFile:
    """An open packed file. Any thread may look up; nothing of the file changes."""

    def __init__(self, path: Path) -> None:
        """Map the file, and check its header and its directory. Raises `Unreadable`."""
        self.path = path
        self._written = self._told = False
        try:
            with files.open_regular(path) as stream:
                # It stays open, to see whether another program writes to it.
                self._opened = os.dup(stream.fileno())
                weakref.finalize(self, os.close, self._opened)
                self._stamp = self._stamp_now()
                self._next_check = 0.0
                size = stream.seek(0, os.SEEK_END)
                stream.seek(0)
                self.header = _header(path, stream.read(PACKED_PAGE), size)
                stream.seek(self.header.directory_at)
                directory = stream.read()
                self._mapping = mmap.mmap(stream.fileno(), self.header.size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise Unreadable(path, None, error.strerror or str(error)) from None
        if zlib.crc32(directory) != self.header.directory_crc:
            raise Unreadable(path, self.header.directory_at, "the directory is damaged")
        self._directory: Words = np.frombuffer(directory, np.uint64).reshape(-1, 2)
        before, after = self._directory[:-1], self._directory[1:]
        rising = (before[:, 0] < after[:, 0]) | ((before[:, 0] == after[:, 0]) & (before[:, 1] < after[:, 1]))
        if not rising.all():
            raise Unreadable(path, self.header.directory_at, "the directory is not in order")
        # Read-ahead would read megabytes around the one page that a look-up needs.
        platform.read_single_pages(self._mapping, True)
        self._data: Bytes = np.frombuffer(self._mapping, np.uint8)
        self._states: Bytes = np.zeros(self.header.pages, np.uint8)
        self._tables = crc_tables()
        self._words: Words = np.zeros(layout.PACKED_WORDS, np.uint64)
        for place, value in {
            layout.PACKED_PAGES: address(self._data) + PACKED_PAGE,
            layout.PACKED_NUMBER: self.header.pages,
            layout.PACKED_DIRECTORY: address(self._directory),
            layout.PACKED_STATES: address(self._states),
            layout.PACKED_TABLES: address(self._tables),
        }.items():
            self._words[place // WORD] = value
        self.at = address(self._words)
        """Address of the words, for the kernels."""

    def _stamp_now(self) -> tuple[int, int]:
        status = os.fstat(self._opened)
        return status.st_size, status.st_mtime_ns

    def watch(self) -> None:
        """Use nothing of the file any more if another program has written to it: what is mapped of a file that was cut
        ends the process that reads it. The first time says so.
        """
        if self._written or (now := time.perf_counter()) < self._next_check:
            return
        self._next_check = now + CHECKED_S
        if self._stamp_now() == self._stamp:
            return
        self._written = True
        self._states[:] = layout.DAMAGED
        self.tell()

    def tell(self) -> None:
        """Say once that the file is damaged, if it is: its positions are then not found, as if they were not in it."""
        if not self._told and (damage := self.damage) is not None:
            self._told = True
            message(str(damage), level="error", event="book")

    @property
    def damage(self) -> Damaged | None:
        """The error of the file that was written to, or of the page that was first found to be damaged; None if there
        is none.
        """
        if self._written:
            problem = (
                "another program wrote to this file since it was opened: nothing of it is used until it is reopened"
            )
            return Damaged(self.path, None, problem)
        number = int(self._words[layout.PACKED_DAMAGED // WORD])
        if not number:
            return None
        problem = f"page {number - 1} is damaged: nothing of it is used"
        return Damaged(self.path, number * PACKED_PAGE, problem)

    def find_many(self, keys: Words) -> Rows:
        """Return the rows of canonical positions, uint64 (n, 2); -1 for those that are not in the file."""
        keys = np.ascontiguousarray(keys, np.uint64)
        rows: Rows = np.empty(len(keys), np.int64)
        for start in range(0, len(keys), _BATCH):
            self.watch()
            part = keys[start : start + _BATCH]
            kernels().packed_find_many(self.at, address(part), len(part), address(rows[start:]))
        self.tell()
        return rows

    def record(self, row: int) -> Records:
        """Return the record in a row, an array of one `RECORD`. Raises IndexError if there is none."""
        self.watch()
        record = np.zeros(1, RECORD)
        if not packed_kernels().packed_record(self.at, row, address(record)):
            raise IndexError(f"{self.path}: no row {row}")
        return record

    def records(self, progress: ProgressCallback = no_progress) -> Iterator[Records]:
        """Yield all records, a page at a time, in the order of keys. Raises `Unreadable` for a damaged page, or if they
        are not as many as the header says.
        """
        platform.read_single_pages(self._mapping, False)
        records = np.zeros(PACKED_MOST, RECORD)
        done = 0
        for number in range(self.header.pages):
            self.watch()
            count = int(packed_kernels().packed_records(self.at, number, address(records)))
            if (damage := self.damage) is not None:
                raise damage
            done += count
            yield records[:count]
            progress("read", done, self.header.positions)
        if done != self.header.positions:
            raise Unreadable(self.path, 0, f"has {done} positions, not the {self.header.positions} of its header")


class PackedWriter:
    """Writes pages to a stream as positions come, in the order of their keys."""

    def __init__(self, write: _Write) -> None:
        self._write = write
        self._keys: Words = np.empty((0, 2), np.uint64)
        self._records = np.empty(0, RECORD)
        self._directory: list[bytes] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self.positions = 0

    def add(self, keys: Words, records: Records) -> None:
        """Add positions with their ``keys`` (`keys_of`), which must be in order and behind those that were added."""
        self._keys = np.concatenate([self._keys, keys])
        self._records = np.concatenate([self._records, records])
        self._pack(len(self._keys) - PACKED_MOST)

    def _pack(self, end: int) -> None:
        """Write pages as long as one begins before position ``end`` of those that wait."""
        done = 0
        places = address(self._keys), address(self._records)
        while done < end:
            page: Bytes = np.zeros(PACKED_PAGE, np.uint8)
            first = done
            done = int(packed_kernels().packed_fill(*places, first, len(self._keys), address(page)))
            crc = zlib.crc32(page[4:].data)
            page[:4].view("<u4")[0] = crc
            self._write(page.data)
            self._digest.update(crc.to_bytes(4, "little"))
            self._directory.append(self._keys[first].tobytes())
        self.positions += done
        self._keys, self._records = self._keys[done:], self._records[done:]

    def finish(self, options: BookOptions) -> Header:
        """Write the last pages and the directory; return the header, which comes first in the file."""
        self._pack(len(self._keys))
        directory = b"".join(self._directory)
        self._write(directory)
        self._digest.update(directory)
        pages = len(self._directory)
        unmarked = Header(b"", self.positions, pages, zlib.crc32(directory), options)
        self._digest.update(unmarked.packed())
        return unmarked._replace(mark=self._digest.digest())


def keys_of(records: Records) -> Words:
    """Return the keys of records, uint64 (n, 2)."""
    keys: Words = np.empty((len(records), 2), np.uint64)
    records = np.ascontiguousarray(records, RECORD)
    packed_kernels().packed_keys(address(records), len(records), address(keys))
    return keys


def in_order(keys: Words) -> npt.NDArray[np.int64]:
    """Return the order of keys, as indices."""
    return np.lexsort((keys[:, 1], keys[:, 0]))


@contextlib.contextmanager
def writing(path: Path, options: BookOptions) -> Iterator[PackedWriter]:
    """Return a context manager with a writer of a packed file, which replaces the file at ``path`` when the block ends;
    that is kept as ``path.1`` ... Raises `WriteFailed`; ``path`` is then unchanged.
    """
    with replacing(path) as stream:
        stream.write(bytes(PACKED_PAGE))
        writer = PackedWriter(stream.write)
        yield writer
        header = writer.finish(options)
        stream.seek(0)
        stream.write(header.packed())
