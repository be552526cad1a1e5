"""The formats of books: how a file's is recognised, and what each keeps.

Edax's text, in which a book ships with the program, is here; others are satellites.
"""

from typing import NamedTuple

from desdaemon.book.book import Book


class ImportedBook(NamedTuple):
    """A book from a file in another format than our own.

    ``duplicates`` is the number of repeated positions, of which the first is read, or all are ``merged``; ``passes``
    that of the positions with a forced pass that were added.
    """

    book: Book
    duplicates: int = 0
    passes: int = 0
    merged: bool = False
