"""The interface of an observer of a book's changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from .chunks import Rows, Words
from .games import Games
from .options import BookOptions

Question = tuple[int, int, int, int]
"""A search: discs of the side to move, discs of the other side, level, mask of excluded moves."""


class GivenCommand(NamedTuple):
    """A command: its text, who gave it, and when its job was submitted, in seconds since 1970 (0: unknown); then the
    position that it was given for, and how many ``positions`` and ``games`` the book had.

    A command that a later process goes on with keeps all of this, so that all its changes are those of one command, and
    its budget is not given twice.
    """

    line: str
    client: str = ""
    started: float = 0.0
    root: tuple[int, int] = (0, 0)
    positions: int = 0
    games: int = 0

    @property
    def name(self) -> str:
        """The first word: ``cut`` of ``cut 4``."""
        return self.line.partition(" ")[0]


class ChangeObserver:
    """An observer of a book in memory: its methods are called at each change, on the thread of the change."""

    changes = 0
    """Number of calls about changes that would be lost."""
    unfinished: GivenCommand | None = None
    """The command that made the last changes, if its process was killed before it ended."""

    def allow(self) -> None:
        """Raise `ReadOnly` if the book must not change. Called before each change."""

    def begin(self, command: GivenCommand) -> None:
        """Take note that the following changes are made by ``command``."""

    def ended(self) -> None:
        """Take note that the command has ended, finished or not."""

    def changed(self, row: int) -> None:
        """Take note that the position in ``row`` was added or changed."""
        self.changes += 1

    def changed_many(self, rows: Rows) -> None:
        """Take note that the positions in ``rows`` were added or changed."""
        self.changes += len(rows) > 0

    def removed(self, keys: Iterable[Words]) -> None:
        """Take note that positions will be removed and rows renumbered: this is called before the removal.

        ``keys`` yields the positions: arrays uint64 (n, 2) of canonical boards.
        """
        self.changes += 1

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        """Take note that `Book.remember` has kept ``answer``, the move and its score, for ``question``."""
        self.changes += 1

    def forgotten(self) -> None:
        """Take note that the remembered searches were dropped."""

    def counted(self, games: Games) -> None:
        """Take note that the results of ``games`` were counted."""
        self.changes += 1

    def taken_back(self, games: Games) -> None:
        """Take note that the results of ``games`` were taken back."""
        self.changes += 1

    def stepped(self, schedule: int, done: int) -> None:
        """Take note that ``done`` steps of the schedule numbered ``schedule`` are finished; with ``done`` 0,
        that the number of its finished steps was removed.
        """

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager: the changes made in its block are written together. A crash leaves all or none."""
        return contextlib.nullcontext()

    def fixed(self, changed: int) -> None:
        """Take note that all scores, bounds and counts were recomputed from the leaves; ``changed`` positions have
        another score or other bounds.
        """

    def options_changed(self, options: BookOptions) -> None:
        """Take note that ``options`` are the book's new options."""
        self.changes += 1
