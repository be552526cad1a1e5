"""Salvage of the intact parts of a damaged book. Its files are only read."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.check import possible, repair
from desdaemon.book.chunks import without_counts
from desdaemon.book.errors import Unreadable
from desdaemon.book.exports import await_kernels
from desdaemon.book.memory.files import content
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import RECORD
from desdaemon.book.storage import journal, snapshot
from desdaemon.book.storage.replay import replay
from desdaemon.book.storage.store import journal_path


class Salvaged(NamedTuple):
    """A book in memory, to be saved under another name; ``lost`` positions could not be read, ``notes`` say why."""

    book: Book
    lost: int
    notes: list[str]


def _bad_blocks(path: Path, data: bytes, header: snapshot.SnapshotHeader, notes: list[str]) -> set[int]:
    """Return the numbers of the damaged blocks and append a note for each to ``notes``.

    If the checksums themselves are damaged or cut off, one note says so and no number is returned.
    """
    sums_raw = data[header.checksums_at : header.size]
    if len(data) < header.size or zlib.crc32(sums_raw) != header.checksums_crc:
        notes.append(f"{path}: the checksums are damaged or cut off: positions are taken as far as they are possible")
        return set()
    bad = set(snapshot.bad_blocks(path, header, sums_raw, no_progress))
    for number in sorted(bad):
        start = snapshot.PAGE + number * header.block
        notes.append(f"{path}: block {number} ({header.block >> 10} KiB at byte {start}) is damaged")
    return bad


def salvage(path: Path, progress: ProgressCallback = no_progress) -> Salvaged:
    """Return a repaired book made from the intact parts of a book's file and its journal.

    The file's path counts, game results and list of counted games are dropped; those of the journal are kept. A journal
    that belongs to another book is ignored. Raises `Unreadable` if the file cannot be read or its header is damaged.
    """
    data = content(path, progress).tobytes()
    await_kernels(progress)
    header = snapshot.read_header(path, data, None)
    notes: list[str] = []
    bad = _bad_blocks(path, data, header, notes)
    available = min(header.rows, max(0, len(data) - snapshot.PAGE) // RECORD.itemsize)
    if available < header.rows:
        notes.append(f"{path}: cut off after {available} of {header.rows} positions")
    records = np.frombuffer(data, RECORD, available, snapshot.PAGE).copy()
    first = np.arange(available, dtype=np.int64) * RECORD.itemsize
    blocks = np.array(sorted(bad), np.int64)
    whole = ~np.isin(first // header.block, blocks)
    whole &= ~np.isin((first + RECORD.itemsize - 1) // header.block, blocks)
    whole &= possible(records)
    intact = without_counts(records[whole])
    book = Book(header.options)
    book.table.reserve(len(intact))
    book.table.insert_records(intact)
    lost = header.rows - len(book)
    log = journal_path(path)
    if log.exists():
        try:
            log_scan = journal.scan(log, content(log).tobytes(), salvage=True, progress=progress)
            if log_scan.book == header.book:
                replay(book, log_scan.after(header.sequence), log, progress)
            if log_scan.torn:
                notes.append(f"{log}: {log_scan.torn} bytes after byte {log_scan.end} cannot be read")
        except Unreadable as error:
            notes.append(str(error))
    repair(book, progress)
    return Salvaged(book, lost, notes)
