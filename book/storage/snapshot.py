"""The book's own file: the table as it lies in memory, mapped when it is opened, every block with a checksum.

A small book's file has no index: it is built when the file is read.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Records, address, segment_bytes
from desdaemon.book.counts import WORDS, Counts
from desdaemon.book.errors import Unreadable
from desdaemon.book.exports import kernels
from desdaemon.book.games import GAME
from desdaemon.book.memory.blocks import Blocks
from desdaemon.book.memory.files import BACKUPS, MappedFile, SyncedFile, replacing
from desdaemon.book.memory.table_memory import MAX_ROWS, MIN_SLOTS, SEGMENTS, Segments
from desdaemon.book.options import BookOptions, options_of
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import RECORD, RESULT
from desdaemon.book.table import BookTable
from desdaemon.protocol.system import files, platform

from .journal import MOST_ENTRIES

MAGIC = b"DESBOOK\n"
VERSION = 4
READABLE = (1, 2, 3, 4)
"""Versions that can be read. In version 1 the last chunk has its full length, there is always an index, and the state
is unknown. Up to version 2 a block has 1 MiB. A book without games is written as version 3.
"""

PAGE = 4096
BLOCK = 1 << 16
_OLD_BLOCK = 1 << 20
INDEXED_FROM = 1 << 16
"""Least number of positions of a file with an index."""

SETTLED = 1
"""State: scores, bounds and counts follow from the leaves."""

COMPLETE = 2
"""State: no leaf is missing, illegal or a link."""

JOURNALLED = 4
"""State: the journal has changes that the file lacks. It is set in the file before the first of them is written."""

STALE = 8
"""State: scores, bounds or counts wait for a negamax (`Book.stale`)."""

_SECTOR = 512
"""Bytes that a disk writes all or none."""

_HEADER = struct.Struct("<8sII QQQ QQQQQQ II 6i II q IIQ QQ")
_SEGMENT = np.dtype([("offset", "<u8"), ("capacity", "<u8"), ("used", "<u8")])


class SnapshotHeader(NamedTuple):
    """The fixed part of the file, in its order. Fields whose names end in ``_at`` are the bytes where sections begin, 0
    for none.

    ``book`` is the file's identity, ``sequence`` the last journal entry that it includes, ``wide`` the number of rows
    of wide counts, ``size`` the file's bytes, ``state`` the sum of `SETTLED` ... `STALE`, ``created``
    in seconds since 1970.
    """

    version: int
    book: int
    sequence: int
    rows: int
    segments_at: int
    wide_at: int
    wide: int
    results_at: int
    checksums_at: int
    size: int
    chunks: int
    checksums_crc: int
    options: BookOptions
    state: int
    created: int
    counts_at: int
    games_at: int
    games: int

    @property
    def stored(self) -> int:
        """Number of records in the file."""
        return self.rows if self.version > 1 else self.chunks * CHUNK_ROWS

    @property
    def block(self) -> int:
        """Size in bytes of a block, which has its own checksum."""
        return BLOCK if self.version > 2 else _OLD_BLOCK

    @property
    def records_end(self) -> int:
        """The byte after the last record."""
        return PAGE + self.stored * RECORD.itemsize

    @property
    def results_range(self) -> tuple[int, int]:
        """The range of bytes of the game results; empty without results."""
        return self.results_at, self.results_at + bool(self.results_at) * self.stored * RESULT.itemsize

    def consistent(self) -> bool:
        """Return whether the sections lie one after another and all numbers are in range."""
        place = self.records_end
        if self.segments_at:
            # `_segments` compares the segments with their table.
            place += SEGMENTS * (_SEGMENT.itemsize + segment_bytes(MIN_SLOTS))
        wide_end = self.wide_at + self.wide * 32
        results_end = self.results_range[1] or wide_end
        counts_end = results_end + bool(self.counts_at) * WORDS * 8
        end = counts_end + self.games * GAME.itemsize
        return (
            self.rows <= MAX_ROWS
            and self.chunks == -(-self.rows // CHUNK_ROWS)
            and self.segments_at in (0, self.records_end)
            and (self.wide_at >= place if self.segments_at else self.wide_at == place)
            and self.results_at in (0, wide_end)
            and self.counts_at in (0, results_end)
            and self.games_at == (counts_end if self.games else 0)
            and self.checksums_at == end
            and self.size == end + 4 * -(-(end - PAGE) // self.block)
            and self.sequence < MOST_ENTRIES
        )


class _Summing:
    """A stream that computes the checksum of each block of `BLOCK` bytes written through it.

    After the last write `end_block` must be called, for the block that is not full.
    """

    def __init__(self, stream: SyncedFile) -> None:
        self._stream = stream
        self.at = PAGE
        self._crc = 0
        self._filled = 0
        self.sums: list[int] = []

    def write(self, data: memoryview) -> None:
        while data:
            part = data[: BLOCK - self._filled]
            self._crc = zlib.crc32(part, self._crc)
            self._stream.write(part)
            self.at += len(part)
            self._filled += len(part)
            if self._filled == BLOCK:
                self.end_block()
            data = data[len(part) :]

    def end_block(self) -> None:
        if self._filled:
            self.sums.append(self._crc)
            self._crc = self._filled = 0


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1).data


def _pack(header: SnapshotHeader) -> bytes:
    version, *places = header[:12]
    block = header.block if version > 2 else 0
    last = CHUNK_ROWS, header.state, header.created, block, 0, header.counts_at, header.games_at, header.games

    def packed(crc: int) -> bytes:
        return _HEADER.pack(MAGIC, version, crc, *places, *header.options, *last).ljust(PAGE, b"\0")

    return packed(zlib.crc32(packed(0)))


def write(
    path: Path,
    book: Book,
    identity: int,
    sequence: int,
    *,
    backups: int = BACKUPS,
    progress: ProgressCallback = no_progress,
) -> SnapshotHeader:
    """Write a book, synced, replacing the file; earlier files are kept as ``path.1`` ... up to ``backups``. Returns the
    header written.

    The caller must prevent changes meanwhile. ``identity`` is a number that no other book has; ``sequence`` is the last
    journal entry that the book includes. Raises `WriteFailed`.
    """
    state = book.table.state()
    rows = state.rows
    indexed = rows >= INDEXED_FROM
    with replacing(path, backups=backups) as stream:
        stream.write(bytes(PAGE))
        out = _Summing(stream)
        total = PAGE + rows * RECORD.itemsize + indexed * sum(len(memory) for memory in state.segments)
        chunks = -(-rows // CHUNK_ROWS)
        for number in range(chunks):
            out.write(_bytes(state.chunks[number][: rows - number * CHUNK_ROWS]))
            progress("save", out.at, total)
        segments_at = out.at if indexed else 0
        if indexed:
            places = np.zeros(SEGMENTS, _SEGMENT)
            place = segments_at + places.nbytes
            for number, memory in enumerate(state.segments):
                places[number] = (place, *state.descriptors[number, 2:].tolist())
                place += -(-len(memory) // 8) * 8
            out.write(_bytes(places))
            for memory in state.segments:
                out.write(_bytes(memory))
                out.write(memoryview(bytes(-len(memory) % 8)))
                progress("save", out.at, total)
        wide_at = out.at
        out.write(_bytes(state.wide))
        results_at = out.at if state.results else 0
        for number, results in enumerate(state.results[:chunks]):
            out.write(_bytes(results[: rows - number * CHUNK_ROWS]))
            progress("save", out.at, 0)
        counts = book.known_counts() if indexed else None
        counts_at = out.at if counts is not None else 0
        if counts is not None:
            out.write(_bytes(counts.packed()))
        games_at = out.at if len(book.games) else 0
        out.write(_bytes(book.games))
        out.end_block()
        checksums_at = out.at
        sums = np.array(out.sums, "<u4").tobytes()
        stream.write(sums)
        header = SnapshotHeader(
            version=VERSION if games_at else VERSION - 1,
            book=identity,
            sequence=sequence,
            rows=rows,
            segments_at=segments_at,
            wide_at=wide_at,
            wide=len(state.wide),
            results_at=results_at,
            checksums_at=checksums_at,
            size=checksums_at + len(sums),
            chunks=chunks,
            checksums_crc=zlib.crc32(sums),
            options=book.options,
            state=book.settled * SETTLED | book.complete * COMPLETE | book.stale * STALE,
            created=int(time.time()),
            counts_at=counts_at,
            games_at=games_at,
            games=len(book.games),
        )
        stream.seek(0)
        stream.write(_pack(header))
    return header


def read_header(path: Path, data: bytes, size: int | None) -> SnapshotHeader:
    """Return the header of a file that begins with ``data``; ``size`` is its number of bytes, None to skip that check.

    Raises `Unreadable` for another kind of file or a damaged header, and if the header has another size.
    """
    magic = data[: len(MAGIC)]
    if not MAGIC.startswith(magic):
        raise Unreadable(path, 0, f"not a book: begins with {magic!r}, not {MAGIC!r}")
    if len(data) < PAGE:
        raise Unreadable(path, len(data), f"the file ends inside the header of {PAGE} bytes")
    fields = _HEADER.unpack_from(data)
    if fields[1] not in READABLE:
        raise Unreadable(path, 8, f"a book of version {fields[1]}; only versions 1 to {VERSION} can be read")
    version, places, (chunk_rows, state, created) = fields[1], fields[3:14], fields[20:23]
    try:
        options = options_of(*fields[14:20])
    except ValueError as error:
        raise Unreadable(path, 96, str(error)) from None
    header = SnapshotHeader._make((version, *places, options, state, created, *fields[25:]))
    if _pack(header) != data[:PAGE] or chunk_rows != CHUNK_ROWS:
        raise Unreadable(path, 12, "the header's checksum is wrong")
    if not header.consistent():
        raise Unreadable(path, 24, "the header's numbers contradict each other")
    if size is not None and size != header.size:
        raise Unreadable(path, min(size, header.size), f"the file has {size} bytes, its header says {header.size}")
    return header


def note_journal(path: Path) -> None:
    """Set `JOURNALLED` in the header of a file, synced. Raises `Unreadable` or OSError; the file is then unchanged."""
    with os.fdopen(platform.open_file(path, os.O_RDWR), "r+b", buffering=0) as stream:
        page = stream.read(PAGE)
        header = read_header(path, page, None)
        if not header.state & JOURNALLED:
            sector = _pack(header._replace(state=header.state | JOURNALLED))[:_SECTOR]
            stream.seek(0)
            try:
                while sector:
                    sector = sector[stream.write(sector) :]
            except OSError:
                # A limit on the file's size may have let through a part: restore the sector.
                stream.seek(0)
                stream.write(page[:_SECTOR])
                raise
            platform.sync_data(stream.fileno())


def bad_blocks(path: Path, header: SnapshotHeader, sums: bytes, progress: ProgressCallback) -> Iterator[int]:
    """Yield the numbers of the blocks of a file that do not match their checksums, ``sums``.

    This reads the file, not the mapped memory, so that changes may run meanwhile.
    """
    block = header.block
    many = _OLD_BLOCK // block
    expected = np.frombuffer(sums, "<u4").tolist()
    with files.open_regular(path) as stream:
        stream.seek(PAGE)
        for first in range(0, len(expected), many):
            start = PAGE + first * block
            read = memoryview(stream.read(min(_OLD_BLOCK, header.checksums_at - start)))
            for number, wanted in enumerate(expected[first : first + many]):
                if zlib.crc32(read[number * block : (number + 1) * block]) != wanted:
                    yield first + number
            progress("check", start, header.size)


def _compare(path: Path, header: SnapshotHeader, sums: bytes, progress: ProgressCallback) -> None:
    """Compare all blocks of a file with their checksums. Raises `Unreadable`, which names the first bad block."""
    for number in bad_blocks(path, header, sums, progress):
        problem = f"block {number} ({header.block >> 10} KiB) does not match its checksum"
        raise Unreadable(path, PAGE + number * header.block, problem)


def header_of(path: Path) -> SnapshotHeader:
    """Return the header of a book's file. Raises `Unreadable`, and `OSError`."""
    with files.open_regular(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        return read_header(path, stream.read(PAGE), size)


def _read_ends(path: Path, stream: BinaryIO) -> tuple[SnapshotHeader, bytes]:
    """Return the header of an open file, and its table of checksums. Raises `Unreadable`."""
    size = stream.seek(0, 2)
    stream.seek(0)
    header = read_header(path, stream.read(PAGE), size)
    stream.seek(header.checksums_at)
    sums = stream.read()
    if zlib.crc32(sums) != header.checksums_crc:
        raise Unreadable(path, header.checksums_at, "the table of checksums is damaged")
    return header, sums


def check(path: Path, progress: ProgressCallback = no_progress) -> None:
    """Compare every block of a book's file with its checksum. Raises `Unreadable`, which names the first bad block."""
    try:
        with files.open_regular(path) as stream:
            header, sums = _read_ends(path, stream)
        _compare(path, header, sums, progress)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None


def read(path: Path, *, check: bool = True, progress: ProgressCallback = no_progress) -> tuple[Book, SnapshotHeader]:
    """Open a book's file by mapping it. Returns the book, without the changes in its journal, and the file's header;
    changes of the book stay in memory. Raises `Unreadable` if the file cannot be read or is found to be damaged.

    All blocks are verified first, or, without ``check``, each block of an indexed file before its first use
    (`blocks.Blocks`).
    """
    try:
        with files.open_regular(path) as stream:
            # Read, not mapped: page faults would take longer than all the rest.
            header, sums = _read_ends(path, stream)
            mapping = mmap.mmap(stream.fileno(), header.size, access=mmap.ACCESS_COPY)
            file = MappedFile(path, os.dup(stream.fileno()), header.size)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None
    data: npt.NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)
    table = BookTable()
    whole = check or not header.segments_at
    if whole:
        _compare(path, header, sums, progress)
        first = address(data) + PAGE
        row = int(kernels().find_impossible(first, first, address(data) + header.records_end))
        if row >= 0:
            raise Unreadable(path, PAGE + row * RECORD.itemsize, f"position {row} has impossible numbers")
        if kernels().bad_results(*(address(data) + place for place in header.results_range)):
            raise Unreadable(path, header.results_at, "the results of games have impossible numbers")
    else:
        places = PAGE, header.records_end, header.results_range, header.checksums_at
        blocks = Blocks(path, mapping, *places, header.block, np.frombuffer(sums, np.uint32))
        table.watch(blocks)
        for place, size in _read_at_once(header):
            if size:
                blocks.check(address(data) + place, size)
    records = data[PAGE:][: header.stored * RECORD.itemsize].view(RECORD)
    wide = data[header.wide_at :][: header.wide * 32].view(np.uint64).reshape(-1, 4)
    results = None
    if header.results_at:
        results = data[header.results_at :][: header.stored * RESULT.itemsize].view(RESULT)
    if header.segments_at:
        table.mapped_file = file
        table.adopt(header.rows, _chunks(records), _segments(path, header, data, whole), wide, _chunks(results))
    else:
        table.reserve(header.rows)
        table.insert_records(records)
        if len(table) != header.rows:
            raise Unreadable(path, PAGE, "a position is there twice")
        table.adopt(header.rows, [], None, wide, [])
        if results is not None:
            table.set_results_of(np.arange(header.rows), results)
    counts = None
    if header.counts_at:
        counts = Counts.unpacked(data[header.counts_at :][: WORDS * 8].view(np.uint64))
        if not counts.possible(header.rows):
            raise Unreadable(path, header.counts_at, "the counts of positions are impossible")
    # A copy: a view would keep the whole file mapped after a command that leaves nothing else of it in use.
    games = data[header.games_at :][: header.games * GAME.itemsize].view(GAME).copy()
    settled, complete = bool(header.state & SETTLED), bool(header.state & COMPLETE)
    book = Book(header.options, table, settled=settled, complete=complete, counts=counts, games=games)
    book.stale = bool(header.state & STALE)
    return book, header


def _read_at_once(header: SnapshotHeader) -> Iterator[tuple[int, int]]:
    """Yield (first byte, number of bytes) of each part of a file that opening copies or verifies: the table of
    segments, the last chunk, the wide counts, the counts, the games, and the last chunk of results.
    """
    tail = header.stored % CHUNK_ROWS
    yield header.segments_at, SEGMENTS * _SEGMENT.itemsize
    yield PAGE + (header.stored - tail) * RECORD.itemsize, tail * RECORD.itemsize
    yield header.wide_at, header.wide * 32
    if header.counts_at:
        yield header.counts_at, WORDS * 8
    yield header.games_at, header.games * GAME.itemsize
    if header.results_at:
        yield header.results_at + (header.stored - tail) * RESULT.itemsize, tail * RESULT.itemsize


def _chunks(records: Records | None) -> list[Records]:
    """Return records divided into chunks; only the last chunk, if it is not full, is copied and filled up."""
    if records is None:
        return []
    chunks = [records[start : start + CHUNK_ROWS] for start in range(0, len(records), CHUNK_ROWS)]
    if chunks and len(chunks[-1]) < CHUNK_ROWS:
        whole = np.zeros(CHUNK_ROWS, records.dtype)
        whole[: len(chunks[-1])] = chunks[-1]
        chunks[-1] = whole
    return chunks


def _segments(path: Path, header: SnapshotHeader, data: npt.NDArray[np.uint8], whole: bool) -> Segments:
    """Return the index of a mapped file. Raises `Unreadable` if segments overlap, leave gaps or have no free slot.

    In a ``whole`` file, whose look-ups are not verified later, each segment must also use exactly the number of slots
    that the table of segments says.
    """
    places = data[header.segments_at :][: SEGMENTS * _SEGMENT.itemsize].view(_SEGMENT)
    place = header.segments_at + places.nbytes
    rows = 0
    memory = []
    for number, (offset, capacity, used) in enumerate(places.tolist()):
        end = place + segment_bytes(capacity)
        if offset != place or capacity < MIN_SLOTS or 5 * used > 4 * capacity or end > header.wide_at:
            raise Unreadable(path, header.segments_at, f"segment {number} of the index has impossible numbers")
        memory.append(data[place:end])
        if whole and np.count_nonzero(memory[-1][:capacity]) != used:
            raise Unreadable(path, place, f"segment {number} of the index has not the {used} positions of its table")
        place = -(-end // 8) * 8
        rows += used
    if place != header.wide_at or rows != header.rows:
        raise Unreadable(path, header.segments_at, f"the index has {rows} of {header.rows} positions")
    offsets, capacities, in_use = (places[name].astype(np.int64) for name in ("offset", "capacity", "used"))
    return Segments(memory, address(data) + offsets, capacities, in_use)
