"""Egaroucid's book files: .egbk3 byte for byte, .egbk2 and .egbk to read.

Egaroucid's canonical boards and ours are the same pair of integers (the numberings of the squares differ by half a
turn, one of the symmetries), so boards and moves are copied as they are. Egaroucid's files have no positions with a
forced pass: the position after the pass stands for them. A book in memory has them, as Edax's does: `read` adds those
that a position of the book leads to, `write` leaves them out.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Bytes, address
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.exports import await_kernels
from desdaemon.book.exports import kernels as book_kernels
from desdaemon.book.formats import ImportedBook
from desdaemon.book.layout import (
    FINISHED,
    HUMAN_LEVEL,
    MAX_LEVEL,
    MUST_PASS,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    OPEN,
    PASS,
)
from desdaemon.book.memory.files import content, replacing
from desdaemon.book.negamax import LayerOrder, margins_of
from desdaemon.book.options import BookOptions, Rule, guessed_options
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.readings import in_scale, levels_in_scale
from desdaemon.book.table import BookTable
from desdaemon.protocol.system import files

from .exports import SPEC, kernels
from .layout import EGBK_BYTES, EGBK_LEAF_LEVEL, EGBK_LEAF_MOVE, EGBK_LEAF_SCORE, EGBK_LEVEL, EGBK_LINES, EGBK_SCORE
from .rows import SATELLITE

MAGIC = SATELLITE.book_formats[0].magic
MAX_LINES = 4_000_000_000

_HEADER = struct.Struct("<9sBi")
_RECORD3 = np.dtype(
    {
        "names": ["player", "opponent", "score", "level", "lines", "leaf_score", "leaf_move", "leaf_level"],
        "formats": ["<u8", "<u8", "i1", "i1", "<u4", "i1", "u1", "i1"],
        "offsets": [
            layout.PLAYER,
            layout.OPPONENT,
            EGBK_SCORE,
            EGBK_LEVEL,
            EGBK_LINES,
            EGBK_LEAF_SCORE,
            EGBK_LEAF_MOVE,
            EGBK_LEAF_LEVEL,
        ],
        "itemsize": EGBK_BYTES,
    }
)
_RECORD1 = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("raw", "u1")])
_BARE = np.dtype([("player", "<u8"), ("opponent", "<u8"), ("score", "i1"), ("level", "i1")])
_SLICE = 1 << 16
_STEP = 1 << 12


_PROBLEMS = {
    layout.OVERLAP: "a square holds discs of both sides",
    layout.CENTRE_EMPTY: "a centre square is empty",
    layout.BAD_SCORE: "the value is not -64..64",
    layout.BAD_LEVEL: f"the level is not -1..{MAX_LEVEL} or {HUMAN_LEVEL}",
    layout.BAD_LEAF: "the leaf's move is not a move",
    layout.BAD_LEAF_SCORE: "the leaf's value is not -64..64",
    layout.BAD_LEAF_LEVEL: f"the leaf's level is not -1..{MAX_LEVEL} or {HUMAN_LEVEL}",
}
_STAGE = 1 << 16


class _RecordLoader:
    """Inserts records of 25 bytes into a new table, some thousand at a time, and makes the book of them."""

    def __init__(self, path: Path, count: int, progress: ProgressCallback) -> None:
        self._path = path
        self._count = count
        self._progress = progress
        await_kernels(progress, SPEC)
        self.table = BookTable()
        self.table.reserve(count)
        self._out: npt.NDArray[np.uint64] = np.zeros(layout.IMPORT_WORDS, np.uint64)
        self._out[layout.IMPORT_LEAST_EMPTIES] = 60
        self._margins = margins_of(BookOptions())

    def add(self, records: npt.NDArray[Any], first: int, place: Callable[[int], int], *, bare: bool = False) -> None:
        """Add records; the first is number ``first`` (from 0) of the file. ``place(number)`` returns the byte of a
        record in the file, for messages.

        ``bare`` records have no leaf. Boards are replaced, in place, by their canonical images, but the moves of their
        leaves stay as they are, as in Egaroucid. Raises `Unreadable` for a wrong record.
        """
        number = 0
        book_kernels().canonicalise(address(records), len(records), _RECORD3.itemsize)
        while number < len(records):
            end = min(len(records), number + _STEP)
            places = address(records), number, end, int(bare), address(self._margins), address(self._out)
            number = int(kernels().egbk_load(self.table.context, *places))
            reason = int(self._out.view(np.int64)[layout.IMPORT_REASON])
            if reason < 0:
                self.table.grow(reason)
            elif reason:
                where = place(first + number) + int(self._out[layout.IMPORT_BYTE])
                raise Unreadable(self._path, where, f"position {first + number + 1}: {_PROBLEMS[reason]}")
        self._progress("load", first + len(records), self._count)

    def finish(self, level: int | None = None) -> ImportedBook:
        """Add the forced passes and return the book. If ``level`` is None, its level follows from the positions."""
        table, passes = self.table, self._out[layout.IMPORT_PASSES :]
        rows = len(table)
        reason = np.zeros(1, np.int64)
        if passes.any():
            for start, end in slices(rows, _STEP, "passes", self._progress):
                row = start
                while row < end:
                    row = int(kernels().add_passes(table.context, row, end, address(passes), address(reason)))
                    if reason[0]:
                        table.grow(int(reason[0]))
        levels = self._out[layout.IMPORT_LEVELS : layout.IMPORT_PASSES].astype(np.int64)
        options = guessed_options(
            levels if level is None else level, int(self._out[layout.IMPORT_LEAST_EMPTIES]), Rule.EGAROUCID
        )
        return ImportedBook(
            Book(options, table), int(self._out[layout.IMPORT_REPEATED]), len(table) - rows, merged=True
        )


def _read3(path: Path, stream: BinaryIO, count: int, size: int, progress: ProgressCallback) -> ImportedBook:
    start = _HEADER.size
    expected = start + count * _RECORD3.itemsize
    if size != expected:
        raise Unreadable(
            path,
            min(size, expected),
            f"the header says {count} positions, which take {expected} bytes; the file has {size}",
        )
    loader = _RecordLoader(path, count, progress)
    for first in range(0, count, _STAGE):
        records = np.frombuffer(bytearray(stream.read(_STAGE * _RECORD3.itemsize)), _RECORD3)
        loader.add(records, first, lambda number: start + number * _RECORD3.itemsize)
        if first + len(records) < min(count, first + _STAGE):
            raise Unreadable(path, None, "the file became shorter while it was read")
    return loader.finish()


def _walk2(data: bytes, count: int, width: int) -> list[int] | None:
    """Return the byte at which each of ``count`` records begins; each has its number of links in ``width`` bytes.

    Returns None if with this width the records do not end where the file, ``data``, does.
    """
    place, places = _HEADER.size, []
    for _ in range(count):
        if place + 18 + width > len(data):
            return None
        places.append(place)
        place += 18 + width + 2 * int.from_bytes(data[place + 18 : place + 18 + width], "little")
    return places if place == len(data) else None


def _read2(path: Path, data: bytes, count: int, progress: ProgressCallback) -> ImportedBook:
    places = _walk2(data, count, 1)
    if places is None:
        places = _walk2(data, count, 4)
    if places is None:
        raise Unreadable(path, len(data), f"the records do not fit {count} positions in {len(data)} bytes")
    boards = np.frombuffer(b"".join(data[at : at + 18] for at in places), _BARE)
    records = np.zeros(count, _RECORD3)
    for name in _BARE.names or ():
        records[name] = boards[name]
    loader = _RecordLoader(path, count, progress)
    for first in range(0, count, _STAGE):
        loader.add(records[first : first + _STAGE], first, places.__getitem__, bare=True)
    return loader.finish()


def _read1(path: Path, data: Bytes, level: int, progress: ProgressCallback) -> ImportedBook:
    count = struct.unpack_from("<i", data.data)[0] if len(data) >= 4 else -1
    if count < 0 or len(data) != 4 + count * _RECORD1.itemsize:
        raise Unreadable(path, 0, "not a book of Egaroucid: no magic, and not a count with 17 bytes for each position")
    loader = _RecordLoader(path, count, progress)
    for first, last in slices(count, _STAGE, "check", progress):
        raw_records = np.frombuffer(data, _RECORD1, last - first, 4 + first * _RECORD1.itemsize)
        bad = np.flatnonzero(raw_records["raw"] > 128)
        if len(bad):
            number = first + int(bad[0])
            place = 4 + number * _RECORD1.itemsize + 16
            raise Unreadable(path, place, f"position {number + 1}: the value is not 0..128")
        records = np.zeros(last - first, _RECORD3)
        for name in ("player", "opponent"):
            records[name] = raw_records[name]
        # The stored value is that of the side that has just moved.
        records["score"] = 64 - raw_records["raw"].astype(np.int16)
        records["level"] = level
        loader.add(records, first, lambda number: 4 + number * _RECORD1.itemsize, bare=True)
    return loader.finish(level)


def read(path: Path, level: int = 1, progress: ProgressCallback = no_progress) -> ImportedBook:
    """Read a book of any of Egaroucid's formats. Raises `Unreadable`.

    ``level`` is given to the positions of the oldest format, which has no levels. The book gets Egaroucid's `Rule`;
    options that the file lacks are derived from its positions (`guessed_options`). A .egbk3 is read piece by piece.
    """
    try:
        with files.open_regular(path) as stream:
            head = stream.read(_HEADER.size)
            if head[: len(MAGIC)] == MAGIC and len(head) == _HEADER.size:
                _, version, count = _HEADER.unpack(head)
                if count >= 0 and version == 3:
                    return _read3(path, stream, count, os.fstat(stream.fileno()).st_size, progress)
    except OSError as error:
        raise Unreadable(path, None, error.strerror or str(error)) from None
    data = content(path, progress)
    if data[: len(MAGIC)].tobytes() != MAGIC:
        return _read1(path, data, level, progress)
    if len(data) < _HEADER.size:
        raise Unreadable(path, len(data), f"the file ends inside the header of {_HEADER.size} bytes")
    _, version, count = _HEADER.unpack_from(data.data)
    if count < 0:
        raise Unreadable(path, 10, f"the number of positions is {count}")
    if version == 2:
        return _read2(path, data.tobytes(), count, progress)
    raise Unreadable(path, 9, f"an Egaroucid book of version {version}; 2 and 3 can be read")


def line_counts(book: Book, progress: ProgressCallback = no_progress) -> npt.NDArray[np.uint64]:
    """Return Egaroucid's line count of every row, uint64: 1 + the sum over the links, at most 4,000,000,000.

    A forced pass counts as the position after it.
    """
    order = LayerOrder(book.table, progress)
    counts = np.zeros(len(book), np.uint64)
    # Children come before their parents.
    for start, end in slices(len(order), _SLICE, "lines", progress):
        kernels().count_positions(
            book.table.context, address(order.rows), start, end, address(counts), order.filters.at
        )
    return np.minimum(counts, MAX_LINES)


def _after_passes(table: BookTable, rows: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield a `_RECORD3` for the position after the forced pass in each of ``rows`` unless the book has it."""
    for row in rows:
        entry = in_scale(table.entry(row), egaroucid=True)
        p, o, _ = table.canonical(entry.opponent, entry.player)
        if table.find_canonical(p, o) < 0:
            yield p, o, -entry.score, entry.level, 1, layout.UNDEFINED_SCORE, layout.UNDEFINED_MOVE, NO_LEVEL


def write(path: Path, book: Book, progress: ProgressCallback = no_progress) -> list[str]:
    """Write a .egbk3, replacing the file; there is nothing to remark.

    Positions with a forced pass are left out; if the position after the pass is missing, it is written instead, with
    the opposite score. Finished games get level 60, levels on our scale become the highest that Egaroucid does not read
    as more reliable. Leaves and line counts of a book with Egaroucid's `Rule` are written unchanged, those of other
    books converted. Raises `WriteFailed`, and `BookError` if a position has no score.
    """
    table = book.table
    as_they_are = book.options.rule is Rule.EGAROUCID
    kinds = table.kinds(progress)
    counts = None if as_they_are else line_counts(book, progress)
    # A position without a leaf has a move outside the book, unless all of them are links or the game is over.
    exits = np.zeros(len(book), bool)
    for faults in book.scan_faults(progress):
        exits[faults[faults[:, 1] == OPEN, 0]] = True
    exits &= kinds != FINISHED
    written = 0
    with replacing(path) as stream:
        stream.write(_HEADER.pack(MAGIC, 3, 0))
        for number, chunk in enumerate(table.chunks()):
            rows = slice(number * CHUNK_ROWS, number * CHUNK_ROWS + len(chunk))
            if ((chunk["score"] < -64) | (chunk["score"] > 64)).any():
                raise BookError(f"{path}: a position has no score; complete the book first")
            made = np.zeros(len(chunk), _RECORD3)
            for name in ("player", "opponent", "score", "leaf_score", "leaf_move"):
                made[name] = chunk[name]
            made["level"] = levels_in_scale(chunk, egaroucid=True)
            made["leaf_level"] = levels_in_scale(chunk, leaves=True, egaroucid=True)
            unset = chunk["leaf_score"] == NO_SCORE
            if counts is None:
                made["lines"] = np.minimum(table.path_counts(number, "lines"), MAX_LINES)
            else:
                made["lines"] = counts[rows]
                unset |= (chunk["leaf_move"] >= PASS) | (chunk["leaf_score"] < -64)
                levels: npt.NDArray[np.int8] = made["level"]
                levels[(kinds[rows] == FINISHED) & (levels < MAX_LEVEL)] = MAX_LEVEL
            made["leaf_score"][unset] = layout.UNDEFINED_SCORE
            made["leaf_move"][unset] = np.where(exits[rows], layout.UNDEFINED_MOVE, NO_MOVE)[unset]
            made["leaf_level"][unset] = NO_LEVEL
            passing = kinds[rows] == MUST_PASS
            after = np.array(list(_after_passes(table, (np.flatnonzero(passing) + rows.start).tolist())), _RECORD3)
            for records in (made[~passing], after):
                stream.write(records.data)
                written += len(records)
            progress("write", rows.stop, len(book))
        stream.seek(0)
        stream.write(_HEADER.pack(MAGIC, 3, written))
    return []
