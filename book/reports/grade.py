"""Grades of the accuracy of a position's score: Egaroucid's grades A to F, and AA to AF.

From the position all lines are followed that lose at most one disc against the best move at each step, to where the
book ends. A: every end is solved completely; C: every end is read to the end of the game with selectivity; F: every
end is a midgame search; B, D and E are mixtures (see `LETTERS`). A position of grade A gets a second letter for the
lines that lose at most two discs.

Egaroucid's own program calls a mixture of C and F a D, and passes over leaves that are not solved; here both count for
what they are.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import address
from desdaemon.book.exports import kernels
from desdaemon.book.layout import GUESSED, LEVELS, MAX_LEVEL, NO_LEVEL, READ, SOLVED, SQUARES
from desdaemon.book.options import Rule
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import PositionEntry
from desdaemon.engine.limits import level_limits
from desdaemon.protocol.othello.selectivity import Selectivity

_STEP = 1 << 11
_STACK = 1 << 13

LETTERS = {
    SOLVED: "A",
    SOLVED | READ: "B",
    READ: "C",
    SOLVED | GUESSED: "D",
    SOLVED | READ | GUESSED: "D",
    READ | GUESSED: "E",
    GUESSED: "F",
}
"""The letter for what was seen at the ends of the lines."""

# For the levels of Egaroucid: (last level of the group, most empties read to the end, most of them without selectivity)
_EGAROUCID = (
    (12, 25, 21),
    (14, 27, 21),
    (17, 27, 22),
    (19, 29, 22),
    (22, 30, 24),
    (24, 32, 26),
    (26, 34, 26),
    (28, 36, 28),
    (30, 36, 30),
    (32, 38, 30),
    (34, 38, 32),
    (36, 40, 32),
    (38, 40, 34),
    (40, 42, 34),
    (42, 42, 36),
    (44, 44, 36),
    (46, 44, 38),
    (48, 46, 38),
    (50, 46, 40),
    (51, 48, 40),
    (52, 50, 42),
    (53, 54, 46),
    (54, 56, 48),
    (55, 58, 50),
    (56, 60, 52),
    (57, 60, 54),
    (58, 60, 56),
    (59, 60, 58),
    (60, 60, 60),
)


def egaroucid_reading(level: int, empties: int) -> int:
    """`SOLVED`, `READ` or `GUESSED`: what a search of Egaroucid's ``level`` is with ``empties`` squares left."""
    if level <= 10:
        return SOLVED if empties <= 2 * max(level, 0) else GUESSED
    for last, most, full in _EGAROUCID:
        if level <= last:
            return SOLVED if empties <= full else READ if empties <= most else GUESSED
    return SOLVED


def reading(level: int, empties: int, rule: Rule = Rule.EDAX) -> int:
    """`SOLVED`, `READ` or `GUESSED`; levels are Edax's, or Egaroucid's in its books. A human's level counts as 60."""
    if rule is Rule.EGAROUCID:
        return egaroucid_reading(min(level, MAX_LEVEL), empties)
    limits = level_limits(min(max(level, 0), MAX_LEVEL), empties)
    if limits.depth < empties:
        return GUESSED
    return SOLVED if limits.selectivity == Selectivity.FULL else READ


@cache
def _readings(rule: Rule) -> npt.NDArray[np.uint8]:
    """`reading` of positions, then of their leaves, by level (from -1) and empty squares, as the kernel wants it."""
    found = np.zeros((2, LEVELS, SQUARES), np.uint8)
    # Egaroucid searches a leaf from the position after the move.
    for kind, fewer in enumerate((0, rule is Rule.EGAROUCID)):
        for level in range(NO_LEVEL, MAX_LEVEL + 1):
            for empties in range(61):
                found[kind, level - NO_LEVEL, empties] = reading(level, max(empties - fewer, 0), rule)
        last = MAX_LEVEL - NO_LEVEL
        found[kind, last + 1 :] = found[kind, last]
    return found


class TooMany(Exception):
    """More positions would have to be looked at than allowed."""


class Stale(LookupError):
    """Positions came or went since the `Grades` were made."""


class Grades:
    """The grades of a book's positions, and a memory of what was found for them: of use until the book changes.

    For any number of threads, which may find the same twice; the book may change meanwhile.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self._removals = book.table.removals
        self._marks: dict[int, npt.NDArray[np.uint8]] = {}

    def flags(
        self, player: int, opponent: int, loss: int, most: int | None = None, progress: ProgressCallback = no_progress
    ) -> int:
        """`SOLVED`, `READ`, `GUESSED` of the ends of all lines from a position that lose at most ``loss`` discs at each
        step; 0 outside the book.

        Raises `TooMany` when ``most`` positions were not enough (what was found is kept), and `Stale`.
        """
        table = self.book.table
        row = table.find(player, opponent)
        if row < 0:
            return 0
        if loss not in self._marks:
            # Not touched before it is needed: this takes no memory yet.
            self._marks[loss] = np.zeros(len(table), np.uint8)
        marks, readings = self._marks[loss], _readings(self.book.options.rule)
        stack: npt.NDArray[np.uint64] = np.zeros(_STACK, np.uint64)
        stack[:2] = 1, row
        looked = 0
        while True:
            step = _STEP if most is None else min(_STEP, most - looked)
            places = address(marks), len(marks), address(stack), loss, address(readings), step
            with table.lock:
                if table.removals != self._removals:
                    raise Stale
                answer = kernels().grade_rows(table.context_at_places, *places)
            if answer < 0:
                raise Stale
            if answer:
                return int(marks[row])
            looked += step
            if looked == most:
                raise TooMany
            progress("grade", looked, 0)

    def grade(
        self, player: int, opponent: int, most: int | None = None, progress: ProgressCallback = no_progress
    ) -> str:
        """A to F or AA to AF; empty outside the book. ``most`` counts for each loss; raises what `flags` raises."""
        first = LETTERS.get(self.flags(player, opponent, 1, most, progress), "")
        if first != "A":
            return first
        return first + LETTERS[self.flags(player, opponent, 2, most, progress)]

    def leaf_grade(self, entry: PositionEntry) -> str:
        """The letter of an entry's leaf: what its search was. Empty without a leaf."""
        if not entry.has_leaf:
            return ""
        return LETTERS[int(_readings(self.book.options.rule)[1, max(entry.leaf_level, -1) + 1, entry.empties])]
