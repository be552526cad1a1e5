"""Readers and writers of books of other programs."""

from typing import NamedTuple

from desdaemon.book.book import Book


class ImportedBook(NamedTuple):
    """A book from another program's file.

    ``duplicates`` is the number of repeated positions, of which Egaroucid's are merged and of others the first is read;
    ``passes`` that of the positions with a forced pass that were added.
    """

    book: Book
    duplicates: int
    passes: int = 0
