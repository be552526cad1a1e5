"""A large book with made-up leaves, for tests and measurements."""

from __future__ import annotations

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.options import BookOptions
from desdaemon.book.passes import kernels
from desdaemon.book.progress import no_progress, slices
from desdaemon.book.record import START


def synthetic_book(rows: int, level: int) -> Book:
    """Return a book of about ``rows`` positions from the initial one on, with made-up leaf scores.

    All scores follow from the leaves, and no leaf is missing.
    """
    book = Book(BookOptions(level=level, min_empties=0))
    table = book.table
    table.reserve(rows)
    table.insert(*START)
    first = 0
    while len(book) < rows and first < len(book):
        # A position has some ten children; at least a third of them are new.
        last = min(len(book), first + max(1, (rows - len(book)) // 10))
        table.insert_children(first, last)
        first = last
    empties = table.by_empties()
    filters = table.filters()
    # Growing may add the next ply.
    book.options = book.options._replace(min_empties=max(1, int(np.flatnonzero(empties)[0])))
    for start, end in slices(len(book), CHUNK_ROWS, "leaves", no_progress):
        kernels().make_up_leaves(table.context, start, end, level, filters.at)
    book.negamax()
    book.checked()
    return book
