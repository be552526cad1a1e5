"""The interface of a book's observer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from .chunks import Rows, Words
from .games import Games
from .options import BookOptions

Question = tuple[int, int, int, int]
"""A search as (player, opponent, level, excluded moves)."""


class ChangeObserver:
    """Called around every change of a book, on its thread. This base class allows all and records nothing."""

    def allow(self) -> None:
        """Raise `ReadOnly` if the book must not change."""

    def begin(self, command: str) -> None:
        """Note that the following changes are those of ``command``."""

    def changed(self, row: int) -> None:
        """Note that the position in ``row`` was added or changed."""

    def changed_many(self, rows: Rows) -> None:
        """Note that the positions in ``rows`` were added or changed."""
        for row in rows.tolist():
            self.changed(row)

    def removed(self, keys: Iterable[Words]) -> None:
        """Note that positions, in arrays (n, 2), are about to be removed and rows renumbered."""

    def remembered(self, question: Question, answer: tuple[int, int]) -> None:
        """Note that `Book.remember` has kept the result of a search."""

    def forgotten(self) -> None:
        """Note that the remembered searches were dropped."""

    def counted(self, games: Games) -> None:
        """Note that the results of these games were counted."""

    def taken_back(self, games: Games) -> None:
        """Note that the results of these games were taken back."""

    def stepped(self, schedule: int, done: int) -> None:
        """Note that ``done`` steps of a schedule are finished; 0 removes the record."""

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Return a context whose changes are written at its end, all or none."""
        return contextlib.nullcontext()

    def fixed(self) -> None:
        """Note that all scores, bounds and counts were recomputed from the leaves."""

    def options_changed(self, options: BookOptions) -> None:
        """Note that the options are now these."""
