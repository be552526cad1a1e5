"""Verification of a book, and repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book import passes
from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Bytes, Records, address
from desdaemon.book.exports import kernels
from desdaemon.book.layout import (
    BAD_BOARD,
    BAD_NUMBERS,
    CENTRE,
    HUMAN,
    HUMAN_LEVEL,
    ILLEGAL,
    LINKED,
    MAX_LEVEL,
    NO_LEVEL,
    NO_SCORE,
    NOT_FOUND,
    OPEN,
    SURPLUS,
)
from desdaemon.book.negamax import check
from desdaemon.book.options import Rule
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import RECORD, PositionEntry
from desdaemon.book.table import BookTable

EXAMPLES = 5
"""Most positions that are named for each kind of problem."""

_LEAVES = {
    LINKED: "the leaf's move leads into the book",
    ILLEGAL: "the leaf is not a legal move",
    SURPLUS: "a final score though the game is not over",
}


class BookProblem(NamedTuple):
    """A kind of fault: the number of positions with it, and the rows of at most `EXAMPLES` of them."""

    what: str
    positions: int
    examples: tuple[int, ...]


class Verification(NamedTuple):
    """The result of `verify`. ``problems`` break a rule of the format.

    Leaves that wait for a search (their number is ``open``) and scores that wait for a negamax (``stale``) are no
    problems, because a file's format may lack the values that they follow from.
    """

    positions: int
    problems: list[BookProblem]
    open: int
    stale: int

    @property
    def clean(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


class _Found:
    """Counts of the problems found, with some examples of each."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}

    def add(self, what: str, rows: npt.NDArray[np.int64]) -> None:
        if len(rows):
            self._counts[what] = self._counts.get(what, 0) + len(rows)
            examples = self._rows.setdefault(what, [])
            examples += rows[: EXAMPLES - len(examples)].tolist()

    def problems(self) -> list[BookProblem]:
        return [BookProblem(what, count, tuple(self._rows[what])) for what, count in self._counts.items()]


def possible(records: Records) -> npt.NDArray[np.bool_]:
    """Return a mask of the records whose boards are possible: disjoint, with all centre squares taken, canonical."""
    player, opponent = records["player"], records["opponent"]
    made = records.copy()
    if len(made):
        kernels().canonicalise(address(made), len(made), RECORD.itemsize)
    centre = np.uint64(CENTRE)
    fitting: npt.NDArray[np.bool_] = (
        ((player & opponent) == 0)
        & (((player | opponent) & centre) == centre)
        & (made["player"] == player)
        & (made["opponent"] == opponent)
    )
    return fitting


_OF_RECORDS = {
    BAD_BOARD: "the board is impossible or not canonical",
    NOT_FOUND: "not found by its own board",
    BAD_NUMBERS: "the score, the level or the human mark is out of range",
}


def _inspected(table: BookTable, progress: ProgressCallback) -> Iterator[tuple[npt.NDArray[np.int64], Bytes]]:
    """Yield a pair for each chunk with faulty records: their rows, and for each of these rows the bits of its faults
    (`_OF_RECORDS`).
    """
    found: Bytes = np.zeros(CHUNK_ROWS, np.uint8)
    passes.await_kernels(progress)
    for start, end in slices(len(table), CHUNK_ROWS, "boards", progress):
        if passes.kernels().inspect_rows(table.context, start, end, address(found)):
            places = np.flatnonzero(found[: end - start])
            yield start + places, found[places]


def verify(book: Book, progress: ProgressCallback = no_progress, *, threads: int = 1) -> Verification:
    """Check every invariant of a book without changing it.

    Boards are canonical, each position is found by its board, numbers are in range; leaves are legal and not links,
    except under Egaroucid's rule, where all faulty leaves count as open. If the book claims it (`Book.settled`), every
    score, bound and count follows from the leaf and the children; with impossible boards this is not checked.
    """
    table = book.table
    faults_found = _Found()
    possible_boards = True
    for rows, wrong in _inspected(table, progress):
        for bit, what in _OF_RECORDS.items():
            faults_found.add(what, rows[(wrong & bit) != 0])
        possible_boards = possible_boards and not (wrong & BAD_BOARD).any()
    stale = 0
    if possible_boards:
        stale, faults = check(table, book.options, threads=threads, progress=progress)
    else:
        faults = book.faults(progress)
    if book.options.rule is Rule.EGAROUCID:
        # Egaroucid's files hold leaves in every state, and scores do not depend on them.
        opened = len(faults)
    else:
        opened = int(np.count_nonzero(faults[:, 1] == OPEN))
        for kind, what in _LEAVES.items():
            faults_found.add(what, faults[faults[:, 1] == kind, 0])
    problems = faults_found.problems()
    if stale and book.settled:
        problems.append(BookProblem("the score, bounds or counts do not follow from leaf and children", stale, ()))
        stale = 0
    return Verification(len(book), problems, opened, stale)


class Repaired(NamedTuple):
    """Numbers of positions that were ``removed``, of ``leaves`` that were dropped and are open now, and of positions
    whose score, level or human mark was reset (``numbers``).
    """

    removed: int
    leaves: int
    numbers: int


def repair(book: Book, progress: ProgressCallback = no_progress) -> Repaired:
    """Repair the faults that `verify` finds, without searching.

    Impossible boards and positions that cannot be found are removed, bad leaves dropped, numbers out of range reset to
    unknown, human marks made consistent; then negamax is run.
    """
    book.forget_state()
    bad = np.zeros(len(book), bool)
    for rows, wrong in _inspected(book.table, progress):
        bad[rows] = (wrong & (BAD_BOARD | NOT_FOUND)) != 0
    removed = int(np.count_nonzero(bad))
    if removed:
        book.rebuild(bad, progress)
    numbers = leaves = 0
    for rows, _ in list(_inspected(book.table, progress)):
        for row in rows.tolist():
            book.put(_mended(book.table.entry(row)))
            numbers += 1
    for faults in list(book.scan_faults(progress)):
        for row in faults[faults[:, 1] != OPEN, 0].tolist():
            book.put(book.table.entry(row).without_leaf())
            leaves += 1
    book.negamax(progress=progress)
    return Repaired(removed, leaves, numbers)


def _mended(entry: PositionEntry) -> PositionEntry:
    level = entry.level
    if level != HUMAN_LEVEL and not NO_LEVEL <= level <= MAX_LEVEL:
        level = NO_LEVEL
    if not -64 <= entry.score <= 64:
        entry = entry._replace(score=NO_SCORE, lower=NO_SCORE, upper=-NO_SCORE)
    if entry.flags & HUMAN:
        level = HUMAN_LEVEL
    flags = entry.flags | HUMAN if level == HUMAN_LEVEL else entry.flags & ~HUMAN
    return entry._replace(level=level, flags=flags)
