"""A book as it was, kept for a book without a journal, so that its last commands can be taken back.

A table has an index and room for many more rows, several hundred KB even if it is empty. What is kept here is its rows
alone, in pages, and a page that is as it was in the state before is shared with it: a command that adds a line to a
large book costs a few pages.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from desdaemon.book.book import BesideTable, Book
from desdaemon.book.changes import GivenCommand
from desdaemon.book.chunks import Records
from desdaemon.book.record import RECORD, RESULT
from desdaemon.book.table import BookTable

MOST_KEPT = 1 << 26
"""Most bytes of earlier states that are kept of a book: one of 1.6 million positions, or many of small books."""

MOST_COMMANDS = 100
"""Most earlier states that are kept of a book, so that small books too stop growing after so many commands."""

_PAGE_ROWS = 64
_TOGETHER = 16 * _PAGE_ROWS
_BYTES_OBJECT = sys.getsizeof(b"") + 8
_ITEM = 300
"""Bytes of an item of a set, list or dictionary, more rather than less."""

_STATE = 2_000
"""Bytes of a state besides what it holds."""

Pages = list[bytes]


class EarlierBook(NamedTuple):
    """A book as it was before ``command``: the pages of its rows and of their results, and all but its table."""

    command: GivenCommand
    changes: int
    """Number of changes that would have been lost then."""
    rows: Pages
    results: Pages
    wide: bytes
    beside: BesideTable
    added: int
    """Bytes that it keeps besides those of the state before it."""

    @property
    def size(self) -> int:
        """Bytes that it keeps if there is no state before it."""
        pages = sum(len(page) + _BYTES_OBJECT for page in (*self.rows, *self.results))
        return pages + _size_of_rest(self.command, self.wide, self.beside, None)

    def book(self) -> Book:
        """Return the book of then, whose recorder notes nothing."""
        table = BookTable()
        records = _joined(self.rows, RECORD)
        table.reserve(len(records))
        table.insert_records(records)
        table.adopt(len(records), [], None, np.frombuffer(self.wide, np.uint64).reshape(-1, 4), [])
        if self.results:
            table.set_results_of(np.arange(len(records)), _joined(self.results, RESULT))
        return Book.of(table, self.beside)


def kept(book: Book, command: GivenCommand, before: EarlierBook | None, *, changes: int) -> EarlierBook:
    """Return the book as it is now, before a command. Raises `Damaged`, and `ReadOnly` over a packed file."""
    table, added = book.table, 0
    rows = [page for chunk in table.chunks() for page in _pages(chunk)]
    results: Pages = []
    if table.keeps_results:
        parts = (np.arange(at, min(at + _TOGETHER, len(table))) for at in range(0, len(table), _TOGETHER))
        results = [page for part in parts for page in _pages(table.results_of(part))]
    for pages, known in ((rows, before.rows if before else []), (results, before.results if before else [])):
        for number, page in enumerate(pages):
            if number < len(known) and known[number] == page:
                pages[number] = known[number]
            else:
                added += len(page) + _BYTES_OBJECT
    wide, beside = table.state().wide.tobytes(), book.beside_table()
    added += _size_of_rest(command, wide, beside, before.beside if before else None)
    return EarlierBook(command, changes, rows, results, wide, beside, added)


def fitting(states: list[EarlierBook]) -> list[EarlierBook]:
    """Return the last of ``states``, oldest first, each kept with the one before it: those that may be kept."""
    left = states[-MOST_COMMANDS:]
    while left and left[0].size + sum(state.added for state in left[1:]) > MOST_KEPT:
        left = left[1:]
    return left


def _pages(records: Records) -> Pages:
    # Page by page: large pieces between small ones that stay leave holes in the heap.
    return [records[at : at + _PAGE_ROWS].tobytes() for at in range(0, len(records), _PAGE_ROWS)]


def _joined(pages: Pages, kind: np.dtype[Any]) -> Records:
    return np.frombuffer(b"".join(pages), kind)


def _size_of_rest(command: GivenCommand, wide: bytes, beside: BesideTable, before: BesideTable | None) -> int:
    """Return the bytes of what is no page; games and links of a file are shared while they do not change."""
    size = _STATE + len(command.line) + len(command.client) + len(wide)
    size += _ITEM * sum(len(part) for part in (beside.memo, *beside.by_hand, beside.steps))
    size += sum(rows.nbytes for rows in (beside.touched, beside.unverified) if rows is not None)
    if before is None or before.games is not beside.games:
        size += beside.games.nbytes
    if beside.links is not None and (before is None or before.links is not beside.links):
        size += beside.links.nbytes
    return size
