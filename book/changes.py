"""The observer of a book's changes, as the book calls it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from .chunks import Rows, Words
from .games import Games
from .options import BookOptions

Question = tuple[int, int, int, int]
"""What a search was asked: (player, opponent, level, excluded)."""


class ChangeObserver:
    """Called before and after every change of a book, from the thread that changes it. This one allows all and records
    nothing.
    """

    def allow(self) -> None:
        """Raise ReadOnly when the book must not change."""

    def begin(self, command: str) -> None:
        """What follows are changes of this command."""

    def changed(self, row: int) -> None:
        """The position in ``row`` was added or changed."""

    def changed_many(self, rows: Rows) -> None:
        """The positions in ``rows`` were added or changed."""
        for row in rows.tolist():
            self.changed(row)

    def removed(self, keys: Iterable[Words]) -> None:
        """These positions, in arrays of shape (n, 2), will be removed, and rows renumbered."""

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        """The result of a search was kept by `Book.remember`."""

    def forgotten(self) -> None:
        """The remembered searches were dropped."""

    def counted(self, games: Games) -> None:
        """The results of these games were counted."""

    def taken_back(self, games: Games) -> None:
        """The results of these games were taken back."""

    def stepped(self, schedule: int, done: int) -> None:
        """``done`` steps of a schedule are finished; 0: the record was removed."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """A context whose changes are written at its end, all or none."""
        return contextlib.nullcontext()

    def fixed(self) -> None:
        """Scores, bounds and counts of all positions were recomputed from the leaves."""

    def options_changed(self, options: BookOptions) -> None:
        """The options were changed to these."""
