"""A text dialogue with a book, in the test's own process; the book's searches are real ones of low levels."""

from __future__ import annotations

from pathlib import Path

from dialogue import Dialogue

from desdaemon.book.book import Book
from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.dialogue.commands import book as text

# On a busy machine a short job may take a second: then, too, its answer alone is of interest.
text.LINE_S = 3600.0


class BookDialogue(Dialogue):
    """`say` a line, get what it answered, without progress and times."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.books = Books(BookJobs())
        self.session.books = self.books

    @property
    def book(self) -> Book:
        """The book in use."""
        return self.books.needed()

    def lines(self, line: str) -> list[str]:
        """The lines of an answer."""
        return self.say(line).splitlines()

    def close(self) -> None:
        """Let go of the book's file."""
        assert self.books.jobs.close(60)
        self.books.close(discard=True)

    def reopen(self, path: Path) -> None:
        """Close the book, and open a file of our own as a start of the program does."""
        self.close()
        self.books = Books(BookJobs())
        self.session.books = self.books
        self.session.settings.book_file = str(path)
        self.text.open_book()
        assert self.books.ready() is not None
