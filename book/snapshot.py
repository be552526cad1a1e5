"""The book's own file: the table as it lies in memory, mapped to open it, every block of it under a checksum."""

from __future__ import annotations

import mmap
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import Unreadable
from .files import BACKUPS, replacing
from .options import Options, Rule
from .record import RECORD
from .table import CHUNK_ROWS, SEGMENTS, Table, segment_bytes

MAGIC = b"DESBOOK\n"
VERSION = 1
PAGE = 4096
BLOCK = 1 << 20
_HEADER = struct.Struct("<8sII QQQ QQQQQQ II 6i I4x q")
_SEGMENT = np.dtype([("offset", "<u8"), ("capacity", "<u8"), ("used", "<u8")])
_CHUNK_BYTES = CHUNK_ROWS * RECORD.itemsize
_RESULT_BYTES = CHUNK_ROWS * 24

Progress = Callable[[int, int], bool]


class Header(NamedTuple):
    """The fixed part of the file; offsets and sizes in bytes."""

    book: int
    sequence: int
    rows: int
    chunks: int
    segments_at: int
    wide_at: int
    wide: int
    results_at: int
    checksums_at: int
    size: int
    checksums_crc: int
    options: Options
    created: int


class _Summing:
    """A stream that keeps the checksum of each block of what passes."""

    def __init__(self, stream: BinaryIO) -> None:
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


def _pack(header: Header) -> bytes:
    def packed(crc: int) -> bytes:
        o = header.options
        return _HEADER.pack(
            MAGIC,
            VERSION,
            crc,
            header.book,
            header.sequence,
            header.rows,
            header.segments_at,
            header.wide_at,
            header.wide,
            header.results_at,
            header.checksums_at,
            header.size,
            header.chunks,
            header.checksums_crc,
            o.level,
            o.min_empties,
            o.midgame_error,
            o.endcut_error,
            o.verbosity,
            o.rule,
            CHUNK_ROWS,
            header.created,
        ).ljust(PAGE, b"\0")

    return packed(zlib.crc32(packed(0)))


def write(
    path: Path,
    table: Table,
    options: Options,
    book: int,
    sequence: int,
    *,
    backups: int = BACKUPS,
    progress: Progress | None = None,
) -> Header:
    """Write the table beside ``path``, sync it and put it in place, keeping the previous file as ``path.1`` ...

    The caller sees to it that nothing changes meanwhile. ``sequence`` is the last journal entry that the table
    includes. Raises WriteFailed.
    """
    state = table.state()
    with replacing(path, backups=backups) as stream:
        stream.write(bytes(PAGE))
        out = _Summing(stream)
        total = PAGE + len(state.chunks) * _CHUNK_BYTES + sum(len(memory) for memory in state.segments)
        for chunk in state.chunks:
            out.write(_bytes(chunk))
            if progress is not None:
                progress(out.at, total)
        places = np.zeros(SEGMENTS, _SEGMENT)
        segments_at = out.at
        at = segments_at + places.nbytes
        for number, memory in enumerate(state.segments):
            places[number] = (at, *state.descriptors[number, 2:].tolist())
            at += -(-len(memory) // 8) * 8
        out.write(_bytes(places))
        for memory in state.segments:
            out.write(_bytes(memory))
            out.write(memoryview(bytes(-len(memory) % 8)))
        wide_at = out.at
        out.write(_bytes(state.wide))
        results_at = out.at if state.results else 0
        for results in state.results:
            out.write(_bytes(results))
        out.end_block()
        checksums_at = out.at
        sums = np.array(out.sums, "<u4").tobytes()
        stream.write(sums)
        header = Header(
            book,
            sequence,
            state.rows,
            len(state.chunks),
            segments_at,
            wide_at,
            len(state.wide),
            results_at,
            checksums_at,
            checksums_at + len(sums),
            zlib.crc32(sums),
            options,
            int(time.time()),
        )
        stream.seek(0)
        stream.write(_pack(header))
    return header


def read_header(path: Path, data: bytes, size: int | None) -> Header:
    """The header of a file that begins with ``data``; ``size``, if given, is to be the file's. Raises Unreadable."""
    if len(data) < PAGE:
        raise Unreadable(path, len(data), f"the file ends inside the header of {PAGE} bytes")
    fields = _HEADER.unpack_from(data)
    if fields[0] != MAGIC:
        raise Unreadable(path, 0, f"not a book: begins with {fields[0]!r}, not {MAGIC!r}")
    if fields[1] != VERSION:
        raise Unreadable(path, 8, f"a book of version {fields[1]}; only version {VERSION} can be read")
    book, sequence, count, segments_at, wide_at, wide, results_at, checksums_at, whole = fields[3:12]
    chunks, checksums_crc = fields[12:14]
    numbers, chunk_rows, created = fields[14:20], fields[20], fields[21]
    try:
        options = Options._make((*numbers[:5], Rule(numbers[5])))
    except ValueError:
        raise Unreadable(path, None, f"the rule {numbers[5]} is not known") from None
    header = Header(
        book,
        sequence,
        count,
        chunks,
        segments_at,
        wide_at,
        wide,
        results_at,
        checksums_at,
        whole,
        checksums_crc,
        options,
        created,
    )
    if _pack(header) != data[:PAGE] or chunk_rows != CHUNK_ROWS:
        raise Unreadable(path, 12, "the header's checksum is wrong")
    if size is not None and size != whole:
        raise Unreadable(path, min(size, whole), f"the file has {size} bytes, its header says {whole}")
    return header


class Mapped(NamedTuple):
    """A file opened by mapping: changes to ``table`` stay in memory."""

    table: Table
    header: Header
    data: npt.NDArray[np.uint8]
    path: Path

    def check(self, first: int = 0, last: int | None = None) -> None:
        """Compare the checksums of blocks ``first..last`` (of 1 MiB). Raises Unreadable naming the first bad one.

        It reads the file, not the memory, so that it may run beside changes.
        """
        header = self.header
        sums = np.frombuffer(bytes(self.data[header.checksums_at :]), "<u4").tolist()
        last = len(sums) if last is None else min(last, len(sums))
        with self.path.open("rb") as stream:
            stream.seek(PAGE + first * BLOCK)
            for number in range(first, last):
                at = PAGE + number * BLOCK
                block = stream.read(min(BLOCK, header.checksums_at - at))
                if zlib.crc32(block) != sums[number]:
                    raise Unreadable(self.path, at, f"block {number} (1 MiB) does not match its checksum")


def read(path: Path, *, check: bool = True) -> Mapped:
    """Open a book's file by mapping it; with ``check`` all blocks are compared with their checksums first.

    Raises Unreadable.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            header = read_header(path, stream.read(PAGE), size)
            mapping = mmap.mmap(stream.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None
    data: npt.NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)
    if zlib.crc32(data[header.checksums_at :].data) != header.checksums_crc:
        raise Unreadable(path, header.checksums_at, "the table of checksums is damaged")
    mapped = Mapped(Table(), header, data, path)
    if check:
        mapped.check()
    table = mapped.table
    chunks = [data[PAGE + k * _CHUNK_BYTES :][:_CHUNK_BYTES].view(RECORD) for k in range(header.chunks)]
    places = data[header.segments_at :][: SEGMENTS * _SEGMENT.itemsize].view(_SEGMENT)
    segments = []
    for offset, capacity, used in places.tolist():
        if offset + segment_bytes(capacity) > header.wide_at:
            raise Unreadable(path, header.segments_at, "the index lies outside the file")
        segments.append((data[offset : offset + segment_bytes(capacity)], capacity, used))
    wide = data[header.wide_at :][: header.wide * 32].view(np.uint64).reshape(-1, 4)
    results: list[npt.NDArray[np.uint8]] = []
    if header.results_at:
        results = [data[header.results_at + k * _RESULT_BYTES :][:_RESULT_BYTES] for k in range(header.chunks)]
    table.adopt(header.rows, chunks, segments, wide, results)
    return mapped
