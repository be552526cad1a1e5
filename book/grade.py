"""Grades of the accuracy of a position's score: Egaroucid's grades A to F, and AA to AF.

A grade depends on the scores in which the lines of the book from the position end. Only lines count in which no move
loses more than one disc. A means that all these scores are solved, C that all are read to the end of the game with
selectivity, F that all are from midgame searches; B, D and E stand for scores of several kinds (`LETTERS`). A position
of grade A gets a second letter, for the lines in which no move loses more than two discs.

Egaroucid itself gives D, not E, if scores of C and F meet, and ignores unsolved leaves; here they count.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import address
from desdaemon.book.exports import kernels
from desdaemon.book.layout import EGAROUCID_LEVELS, GUESSED, NO_LEVEL, READ, SOLVED
from desdaemon.book.memory.table_memory import PAUSE_S
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import readings
from desdaemon.book.record import PositionEntry

_STEP = 1 << 9
"""Positions visited while the table's lock is held: a millisecond where they lie in memory."""

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
"""The letter for each set of kinds of line ends."""


class TooMany(Exception):
    """The grade needs a visit to more positions than allowed."""


class Stale(LookupError):
    """Positions were removed since these `Grades` were made."""


class Grades:
    """The grades of a book's positions, cached for its present state; after a change of the book make a new object.

    Any thread may use it, even while the book changes; two threads may compute the same grade.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self._removals = book.table.removals
        self._marks: dict[int, npt.NDArray[np.uint8]] = {}

    def flags(
        self, player: int, opponent: int, loss: int, most: int | None = None, progress: ProgressCallback = no_progress
    ) -> int:
        """Return the kinds (`SOLVED`, `READ`, `GUESSED`, as bits) of the ends of all lines that lose at most ``loss``
        discs at each step; 0 outside the book, and in a book whose positions are not all in memory.

        Raises `TooMany` after ``most`` positions, `Stale` if rows were removed meanwhile, and what ``progress`` raises.
        Results so far are kept for the next call.
        """
        table = self.book.table
        row = table.find(player, opponent)
        if row < 0 or not table.whole:
            return 0
        marks, readings_ = self._marks_of(loss), readings()
        stack: npt.NDArray[np.uint64] = np.zeros(_STACK, np.uint64)
        stack[:2] = 1, row
        looked = 0
        while True:
            step = _STEP if most is None else min(_STEP, most - looked)
            places = address(marks), len(marks), address(stack), loss, address(readings_), step
            with table.lock:
                if table.removals != self._removals:
                    raise Stale
                answer = kernels().grade_rows(table.context_at_places, *places)
                if answer < 0:
                    # A line has come to a row that was added since.
                    marks = self._marks_of(loss)
                    stack[:2] = 1, row
            if answer > 0:
                return int(marks[row])
            looked += step
            if looked == most:
                raise TooMany
            # The lock is not fair: without a pause other look-ups would wait for the last of the steps.
            time.sleep(PAUSE_S)
            progress("grade", looked, 0)

    def _marks_of(self, loss: int) -> npt.NDArray[np.uint8]:
        """Return the marks for lines that lose at most ``loss`` discs at each step, a byte for each row at least."""
        marks, rows = self._marks.get(loss), len(self.book.table)
        if marks is None or len(marks) < rows:
            # Room for rows to come takes no memory before it is written to.
            made: npt.NDArray[np.uint8] = np.zeros(rows + rows // 8 + _STEP, np.uint8)
            if marks is not None:
                made[: len(marks)] = marks
            self._marks[loss] = marks = made
        return marks

    def grade(
        self, player: int, opponent: int, most: int | None = None, progress: ProgressCallback = no_progress
    ) -> str:
        """Return the accuracy grade of a position, AA to AF or B to F; "" outside the book.

        Computing each letter may visit at most ``most`` positions (None: no limit). Raises as `flags` does.
        """
        first = LETTERS.get(self.flags(player, opponent, 1, most, progress), "")
        if first != "A":
            return first
        return first + LETTERS[self.flags(player, opponent, 2, most, progress)]

    def leaf_grade(self, entry: PositionEntry) -> str:
        """Return the letter for the search of an entry's leaf, A, C or F; "" if it has none."""
        if not entry.has_leaf:
            return ""
        scale = int(bool(entry.flags & EGAROUCID_LEVELS))
        return LETTERS[int(readings()[scale, 1, max(entry.leaf_level, NO_LEVEL) - NO_LEVEL, entry.empties])]
