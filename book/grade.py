"""Grades of the accuracy of a position's score, and its moves with theirs: Egaroucid's grades A to F, and AA to AF.

A grade depends on the scores in which the lines of the book from the position end. Only lines count in which no move
loses more than one disc. A means that all these scores are solved, C that all are read to the end of the game with
selectivity, F that all are from midgame searches; B, D and E stand for scores of several kinds (`LETTERS`). A position
of grade A gets a second letter, for the lines in which no move loses more than two discs.

Egaroucid itself gives D, not E, if scores of C and F meet, and ignores unsolved leaves; here they count.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import address
from desdaemon.book.exports import kernels
from desdaemon.book.layout import EGAROUCID_LEVELS, GUESSED, MAX_LEVEL, NO_LEVEL, READ, SOLVED
from desdaemon.book.memory.table_memory import PAUSE_S
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import readings
from desdaemon.book.record import PositionEntry, Results

_STEP = 1 << 9
"""Positions visited while the table's lock is held: a millisecond where they lie in memory."""

_STACK = 1 << 13

LINK = "link"
LEAF = "leaf"
UNKNOWN = ""


class ReportedMove(NamedTuple):
    """A legal move, or the forced pass, with its data: scores (discs), counts and results for the side that plays it.

    ``kind`` is `LINK` (it leads into the book), `LEAF` (the best of the other moves) or `UNKNOWN`. ``score``, ``lower``
    and ``upper`` are None if unknown; a leaf has no bounds. ``level`` is that of the position after the move (60 if its
    score was set by hand) or of the leaf's search, -1 if unknown. ``grade`` comes from `Grades.grade` for
    a link, from `Grades.leaf_grade` for the leaf. The path counts ``wins``, ``draws``, ``losses`` and ``lines`` are
    those of the position after the move; a leaf is one line. ``human`` says whether the score was set by hand.
    ``results`` are those of games through the move.
    """

    move: int
    kind: str
    score: int | None = None
    lower: int | None = None
    upper: int | None = None
    level: int = NO_LEVEL
    grade: str = ""
    wins: int = 0
    draws: int = 0
    losses: int = 0
    lines: int = 0
    human: bool = False
    results: Results = Results()


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

    def children(
        self, player: int, opponent: int, most: int | None = None, progress: ProgressCallback = no_progress
    ) -> list[ReportedMove]:
        """Return a board's legal moves, best score first, then by move, unknown ones last; [] if the book knows nothing
        of the board.

        ``most`` limits the positions that each grade may visit. Raises as `flags` does.
        """
        book, table = self.book, self.book.table
        with table.lock:
            entry = book.view(player, opponent)
            if entry is None:
                return []
            by_move = {move.move: move for move in book.moves_on(player, opponent)}
            legal = [move for move, _ in table.links(player, opponent)]
            reported = []
            for move in legal:
                if move not in by_move:
                    reported.append(ReportedMove(move, UNKNOWN))
                    continue
                row, score = by_move[move].row, by_move[move].score
                scored = score if -64 <= score <= 64 else None
                if row < 0:
                    level, grade = entry.leaf_level, self.leaf_grade(entry)
                    reported.append(ReportedMove(move, LEAF, scored, level=level, grade=grade, lines=1))
                    continue
                child = table.entry(row)
                lower, upper = (-child.upper, -child.lower) if scored is not None else (None, None)
                won, drawn, lost = table.results(row)
                reported.append(
                    ReportedMove(
                        move,
                        LINK,
                        scored,
                        lower,
                        upper,
                        min(child.level, MAX_LEVEL),
                        "",
                        child.losses,
                        child.draws,
                        child.wins,
                        child.lines,
                        human=child.human,
                        results=Results(lost, drawn, won),
                    )
                )
        graded = [
            child._replace(grade=self.grade(*table.play(player, opponent, child.move), most, progress))
            if child.kind is LINK
            else child
            for child in reported
        ]
        return sorted(graded, key=lambda child: (child.score is None, -(child.score or 0), not child.kind, child.move))
