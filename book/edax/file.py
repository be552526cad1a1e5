"""Edax's book.dat, version 4, byte for byte.

The file stores the links of each position, in the order in which Edax met or last sorted them, sometimes with stale
scores; our books compute links. `read` also keeps the stored links that differ from the computed ones, and `write`
writes them as long as the book is unchanged. After a negamax only those that differ in their order alone are kept.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.book import Book
from desdaemon.book.chunks import address
from desdaemon.book.errors import BookError, Unreadable
from desdaemon.book.exports import await_kernels
from desdaemon.book.formats import ImportedBook
from desdaemon.book.layout import FINISHED, MAX_LEVEL, OPEN
from desdaemon.book.memory.files import content, release, replacing
from desdaemon.book.options import BookOptions, options_of
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import own_scale
from desdaemon.book.table import BookTable
from desdaemon.protocol.spelling import plural

from .exports import SPEC, kernels
from .layout import DAT_FIXED, DAT_LEAST, DAT_LINK_BYTES, DAT_LINKS, DAT_MOST
from .links import Links
from .rows import SATELLITE

MAGIC = SATELLITE.book_formats[0].magic
VERSION = 4
RELEASE = 6
HEADER = struct.Struct("<8sBBhBBBBBBiiiiii")
_OPTIONS_AT = 18

_PROBLEMS = {
    layout.CUT: "the file ends in the middle of this record",
    layout.OVERLAP: "a square holds discs of both sides",
    layout.CENTRE_EMPTY: "a centre square is empty",
    layout.NOT_CANONICAL: "the board is not the canonical one of its eight images",
    layout.BAD_SCORE: "the value or a bound is out of range",
    layout.BAD_LEVEL: f"the level is not 0..{MAX_LEVEL}",
    layout.TOO_MANY_LINKS: "more links than legal moves",
    layout.BAD_LINK: "a link is not a legal move",
    layout.LINK_TWICE: "two links have the same move",
    layout.BAD_LINK_SCORE: "a link's score is out of range",
    layout.BAD_LEAF: "the leaf is not a legal move",
    layout.BAD_LEAF_SCORE: "the leaf's score is not -64..64",
    layout.LEAF_LINKED: "the leaf is also a link",
}
_NOTES = 4096
_SLICE = 1 << 14


def _header(path: Path, data: bytes) -> tuple[BookOptions, int]:
    if len(data) < HEADER.size:
        raise Unreadable(
            path, len(data), f"an Edax book has a header of {HEADER.size} bytes; the file ends before it does"
        )
    fields = HEADER.unpack_from(data)
    magic, version = fields[0], fields[1]
    if magic != MAGIC:
        raise Unreadable(path, 0, f"not an Edax book: begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION:
        raise Unreadable(path, 8, f"an Edax book of version {version}; only version {VERSION} can be read")
    try:
        options = options_of(*fields[10:15])
    except ValueError as error:
        raise Unreadable(path, _OPTIONS_AT, str(error)) from None
    count = fields[15]
    if count < 0:
        raise Unreadable(path, HEADER.size - 4, f"the number of positions is {count}")
    return options, count


def _note_links(table: BookTable, data: npt.NDArray[np.uint8], progress: ProgressCallback) -> Links:
    notes = np.empty((_NOTES, 2), np.uint64)
    stats = np.zeros(1, np.uint64)
    filters = table.filters(progress)
    found: list[npt.NDArray[np.uint64]] = []
    at, base = HEADER.size, address(data)
    while at < len(data):
        start = at
        at = int(
            kernels().dat_compare(
                table.context,
                base,
                len(data),
                at,
                _SLICE,
                address(notes),
                _NOTES,
                address(stats),
                filters.at,
            )
        )
        found.append(notes[: int(stats[0])].copy())
        release(data, start, at)
        progress("links", at, len(data))
    noted = np.concatenate(found) if found else notes[:0]
    # Repeated records are dropped: only the first one of a row counts.
    rows, first = np.unique(noted[:, 0], return_index=True)
    places = noted[first, 1].astype(np.int64)
    lengths = 1 + DAT_LINK_BYTES * data[places + DAT_LINKS].astype(np.int64)
    offsets = np.cumsum(lengths) - lengths
    # The count byte, then the links; the level between them in the file is left out.
    content = data[np.repeat(places + DAT_FIXED - 1 - offsets, lengths) + np.arange(int(lengths.sum()))]
    content[offsets] = data[places + DAT_LINKS]
    return Links(rows, offsets.astype(np.uint64), content)


def read(path: Path, level: int = 1, progress: ProgressCallback = no_progress) -> ImportedBook:
    """Read a book.dat, whose positions have levels of their own. Raises `Unreadable`, which names byte and fault."""
    await_kernels(progress, SPEC)
    data = content(path, progress)
    options, count = _header(path, bytes(data[: HEADER.size]))
    size = len(data)
    table = BookTable()
    table.reserve(min(count, size // DAT_LEAST))
    out = np.zeros(layout.IMPORT_WORDS, np.int64)
    at = HEADER.size
    while at < size:
        start = at
        at = int(kernels().dat_load(table.context, address(data), size, at, _SLICE, address(out)))
        reason = int(out[layout.IMPORT_REASON])
        if reason > 0 and len(table) + int(out[layout.IMPORT_REPEATED]) == count:
            raise Unreadable(path, at, f"{size - at} bytes that belong to no position follow the book's {count}")
        if reason > 0:
            raise Unreadable(path, at + int(out[layout.IMPORT_BYTE]), f"the record at byte {at}: {_PROBLEMS[reason]}")
        if reason < 0:
            table.grow(reason)
        release(data, start, at)
        progress("load", at, size)
    records = len(table) + int(out[layout.IMPORT_REPEATED])
    if records != count:
        raise Unreadable(path, size, f"the header says {count} positions, the file ends after {records}")
    links = _note_links(table, data, progress)
    return ImportedBook(Book(options, table, links), int(out[layout.IMPORT_REPEATED]))


def write(path: Path, book: Book, progress: ProgressCallback = no_progress) -> list[str]:
    """Write a book.dat, replacing the file. Returns a remark if Edax will report the book as wrong.

    Counts are limited to 2^32 - 1. The level of a score set by hand is written as the leaf's level, or 60 without a
    leaf; an unknown level as 0. Levels on Egaroucid's scale are converted to ours, never to one that counts as more
    reliable. `Book.file_links` are written instead of the computed ones. Raises `WriteFailed`, and `BookError` for too
    many positions.
    """
    await_kernels(progress, SPEC)
    table, options = book.table, book.options
    links = book.file_links if isinstance(book.file_links, Links) else None
    if len(table) >= 1 << 31:
        raise BookError(f"{path}: Edax's format counts at most {(1 << 31) - 1} positions; this book has {len(table)}")
    header = HEADER.pack(
        MAGIC,
        VERSION,
        RELEASE,
        *time.localtime()[:6],
        0,
        options.level,
        options.min_empties,
        options.midgame_error,
        options.endcut_error,
        options.verbosity,
        len(table),
    )
    rows = book.faults(progress)
    rows = rows[rows[:, 1] == OPEN, 0]
    missing = int(np.count_nonzero(table.kinds(progress)[rows] != FINISHED)) if len(rows) else 0
    special = links.addresses() if links is not None else np.zeros((0, 2), np.uint64)
    buffer: npt.NDArray[Any] = np.empty(_SLICE * DAT_MOST, np.uint8)
    stats = np.zeros(2, np.uint64)
    filters, scale = table.filters(progress), own_scale()
    with replacing(path) as stream:
        stream.write(header)
        while int(stats[1]) < len(table):
            size = int(
                kernels().dat_write(
                    table.context,
                    int(stats[1]),
                    min(len(table), int(stats[1]) + _SLICE),
                    address(buffer),
                    len(buffer),
                    address(special),
                    len(special),
                    address(stats),
                    filters.at,
                    address(scale),
                )
            )
            stream.write(buffer[:size].data)
            progress("write", int(stats[1]), len(table))
    if not missing:
        return []
    what = f"{plural(missing, 'position')} without a leaf, which Edax reports as wrong: fix the book first"
    return [f"{path}: {what}"]
