"""The arguments and services that the handler of a book command gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.book.progress import WorkCancelled
from desdaemon.core.books.jobs import BookJob, Result
from desdaemon.core.books.service import Books, Caller
from desdaemon.protocol.commands.book import BookCommand, BookValues
from desdaemon.protocol.commands.options import BUILTIN_BOOK

if TYPE_CHECKING:
    from pathlib import Path

    from desdaemon.book.book import Book
    from desdaemon.book.growth.rounds import Worker


class BookCommandRun(NamedTuple):
    """A running command: the argument of its handler. Used on the job's thread."""

    books: Books
    job: BookJob
    command: BookCommand
    values: BookValues
    caller: Caller

    @property
    def book(self) -> Book:
        """The book. Raises `NoBook`."""
        return self.books.needed()

    @property
    def changes(self) -> bool:
        """Whether it changes the book or its journal, so that its result is reported after the commit only."""
        if self.command.name == "verify":
            return self.values["repair"] is True
        return self.command.writes and self.command.name != "save"

    def number(self, name: str) -> int:
        """A parameter that is a whole number."""
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def path(self, name: str = "file") -> Path:
        """A parameter that is a file's name. Raises `Forbidden`."""
        value = self.values[name]
        assert isinstance(value, str)
        return self.books.files.path(value, remote=self.caller.remote)

    def source(self, name: str = "file") -> Path:
        """A parameter that is the name of a book to be read, or `BUILTIN_BOOK`. Raises `Forbidden`, and `Unreadable`
        where no book is installed with the program."""
        if self.values[name] != BUILTIN_BOOK:
            return self.path(name)
        from desdaemon.book.formats.registry import shipped

        return shipped()

    def target(self, name: str = "file") -> Path:
        """A parameter that is the name of a file to be written. Raises `Forbidden`."""
        return self.books.target(self.path(name))

    def paths(self, name: str = "files") -> list[Path]:
        """A parameter that is several files, folders or patterns. Raises `Forbidden`, and `BadInput` for no file."""
        value = self.values[name]
        assert isinstance(value, list)
        return [path for part in value for path in self.books.files.matching(part, remote=self.caller.remote)]

    def optional(self, name: str) -> int | None:
        """A parameter that is a whole number, None where it was not given."""
        return self.number(name) if self.values[name] is not None else None

    def level(self, name: str = "level") -> int:
        """A search level: the parameter, the book's unless it was given."""
        value = self.optional(name)
        return self.book.options.level if value is None else value

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report progress, as a callback of `book.progress`; raises `WorkCancelled` once the job is cancelled."""
        book = self.books.book
        if not self.job.report(stage, done, total, len(book) if book is not None else 0):
            raise WorkCancelled

    def worker(self) -> Worker:
        """The pool of searches of the job."""
        from desdaemon.core.books.searches import worker_of

        return worker_of(self.books, self.job, self.caller)


Work = Callable[[BookCommandRun], Result]
"""Carries a command out. The result is a map of numbers and texts; ``text`` in it holds lines for people."""
