"""The observer of a book's changes, as the book calls it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from .chunks import Rows, Words
from .games import Games
from .options import BookOptions

Question = tuple[int, int, int, int]
"""A search as (player, opponent, level, excluded moves)."""


class ChangeObserver:
    """Called before and after every change of a book, from the thread that changes it. This base class allows every
    change and records nothing.
    """

    def allow(self) -> None:
        """Raise ReadOnly if the book must not change."""

    def begin(self, command: str) -> None:
        """Start the changes of ``command``."""

    def changed(self, row: int) -> None:
        """The position in ``row`` was added or changed."""

    def changed_many(self, rows: Rows) -> None:
        """The positions in ``rows`` were added or changed."""
        for row in rows.tolist():
            self.changed(row)

    def removed(self, keys: Iterable[Words]) -> None:
        """These positions, an array of shape (n, 2), are about to be removed, and rows renumbered."""

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
        """Return a context whose changes are written at its end, all or none."""
        return contextlib.nullcontext()

    def fixed(self) -> None:
        """Scores, bounds and counts of all positions were recomputed from the leaves."""

    def options_changed(self, options: BookOptions) -> None:
        """The options were changed to these."""
