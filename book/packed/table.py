"""The table of a book over a packed file: look-ups see the file's positions, changes go to rows in memory.

A position of the file has a row from `PACKED_ROW` on. Before it changes, or others that depend on it are computed, it
is copied into a row in memory, which then counts instead (`_copy_up`): a changed position with its parents, whatever is
computed anew with its children. What goes over all positions raises `NotInMemory`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Records, Rows, Words, without_counts
from desdaemon.book.errors import Damaged, NotInMemory
from desdaemon.book.exports import await_kernels
from desdaemon.book.formats import ImportedBook
from desdaemon.book.layout import PACKED_ROW, WORD
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import PositionEntry, Results
from desdaemon.book.table import BookTable

from .exports import SPEC
from .file import PackedFile, in_order, keys_of, writing


class PackedTable(BookTable):
    """Positions in memory over those of a packed file. As for every table, one thread at a time may change it."""

    whole = False

    def __init__(self, file: PackedFile) -> None:
        super().__init__()
        self.file = file
        self._context[layout.PACKED // WORD] = file.at
        self._copied = 0
        """Number of rows in memory that the file has too."""

    @property
    def positions(self) -> int:
        return self.file.header.positions + len(self) - self._copied

    @property
    def damage(self) -> Damaged | None:
        return self.file.damage

    def sound(self) -> None:
        if self.file.damage is not None:
            raise self.file.damage

    def need_all(self) -> NoReturn:
        raise NotInMemory(
            f"{self.file.path}: is packed, and this needs all of its positions in memory: book import reads them"
        )

    def context_for(self, rows: npt.NDArray[Any]) -> int:
        if len(rows) and int(rows.max()) >= len(self):
            # A row of the file, which no kernel may be given.
            self.need_all()
        keys = [self.entry(row)[:2] for row in rows.tolist()]
        children = [self.canonical(*self.play(*key, move))[:2] for key in keys for move, _ in self.links(*key)]
        self._copy_up(np.array(children, np.uint64).reshape(-1, 2))
        self.sound()
        return self._context_at

    def held(self, rows: Rows) -> Rows:
        keys = np.array([self.entry(row)[:2] for row in rows.tolist()], np.uint64).reshape(-1, 2)
        return np.sort(self.find_many(keys))

    def gathered(self, progress: ProgressCallback = no_progress) -> BookTable:
        table = BookTable()
        table.reserve(self.positions)
        for records in self.file.records(progress):
            table.insert_records(records)
        every = np.arange(len(self))
        changed = without_counts(self.records(every))
        table.insert_records(changed, overwrite=True)
        if self.keeps_results:
            table.set_results_of(table.rows_of(changed), self.results_of(every))
        return table

    # ------------------------------------------------------------------------------------------------ looking

    def find(self, player: int, opponent: int) -> int:
        self.file.watch()
        words, place = self._pair()
        self._kernels.canonical_of(player, opponent, place)
        with self.lock:
            row = int(self._kernels.find_row(self._context_at, words[0], words[1]))
            if row < 0:
                row = int(self._kernels.packed_find(self.file.at, words[0], words[1], 0))
        if row < 0:
            self.file.tell()
        return row

    def links(self, player: int, opponent: int) -> list[tuple[int, int]]:
        self.file.watch()
        return super().links(player, opponent)

    def entry(self, row: int) -> PositionEntry:
        if row < PACKED_ROW:
            # The file has no path counts, so that those made of it are none.
            return super().entry(row)._replace(wins=0, draws=0, losses=0, lines=0)
        return PositionEntry(*self.file.record(row)[0].item())

    def results(self, row: int) -> Results:
        return super().results(row) if row < PACKED_ROW else Results()

    # ------------------------------------------------------------------------------------------------ changing

    def _copy_up(self, keys: Words) -> None:
        """Copy those canonical positions, uint64 (n, 2), into rows in memory that only the file has."""
        missing = np.unique(keys[super().find_many(keys) < 0], axis=0)
        rows = self.file.find_many(missing)
        rows = rows[rows >= 0]
        if len(rows):
            super().insert_records(np.concatenate([self.file.record(row) for row in rows.tolist()]))
            self._copied += len(rows)

    def find_canonical(self, player: int, opponent: int) -> int:
        self._copy_up(np.array([(player, opponent)], np.uint64))
        return super().find_canonical(player, opponent)

    def find_many(self, keys: Words) -> Rows:
        self._copy_up(keys)
        return super().find_many(keys)

    def insert(self, player: int, opponent: int) -> tuple[int, bool]:
        self._copy_up(np.array([(player, opponent)], np.uint64))
        return super().insert(player, opponent)

    def insert_records(self, records: Records, *, overwrite: bool = False) -> int:
        self._copy_up(np.stack([records["player"], records["opponent"]], axis=1))
        return super().insert_records(records, overwrite=overwrite)

    def parents(self, row: int) -> list[int] | None:
        if row >= PACKED_ROW:
            row = self.find_canonical(*self.entry(row)[:2])
        found = super().parents(row)
        if found is None:
            return None
        self._copy_up(np.array([self.entry(parent)[:2] for parent in found], np.uint64).reshape(-1, 2))
        return super().parents(row)


def open_mapped(path: Path, progress: ProgressCallback = no_progress) -> tuple[Book, bytes]:
    """Return a book over a packed file, and the digest of its content. Raises `Unreadable`."""
    file = PackedFile(path)
    # Before the first look-up, which has the lock.
    await_kernels(progress, SPEC)
    return Book(file.header.options, PackedTable(file), settled=True, complete=True), file.header.mark


def read(path: Path, level: int = 1, progress: ProgressCallback = no_progress) -> ImportedBook:
    """Return a book in memory with the positions of a packed file, path counts computed. Its positions have levels of
    their own. Raises `Unreadable`.
    """
    return ImportedBook(open_mapped(path, progress)[0].in_memory(progress))


def write(path: Path, book: Book, progress: ProgressCallback = no_progress) -> list[str]:
    """Write a book as a packed file. The same positions and options give the same bytes. Raises `WriteFailed`."""
    book.catch_up(progress=progress)
    keys = np.concatenate([np.empty((0, 2), np.uint64), *(keys_of(chunk) for chunk in book.table.chunks())])
    order = in_order(keys)
    with writing(path, book.options) as writer:
        for start in range(0, len(order), CHUNK_ROWS):
            rows = order[start : start + CHUNK_ROWS]
            writer.add(keys[rows], without_counts(book.table.records(rows)))
            progress("write", start, len(order))
    return []
