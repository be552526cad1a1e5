"""Verifying a book: every invariant, and repairing what is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import ILLEGAL, LINKED, OPEN, SURPLUS, Book
from desdaemon.book.chunks import CHUNK_ROWS, Records, address
from desdaemon.book.compiled import kernels
from desdaemon.book.negamax import negamax
from desdaemon.book.options import Rule
from desdaemon.book.progress import Going, silent
from desdaemon.book.record import HUMAN, HUMAN_LEVEL, MAX_LEVEL, NO_LEVEL, NO_SCORE, RECORD, Entry
from desdaemon.book.table import Table

EXAMPLES = 5
"""How many positions of each kind of problem are named."""

_LEAVES = {
    LINKED: "the leaf's move leads into the book",
    ILLEGAL: "the leaf is not a legal move",
    SURPLUS: "a final score though the game is not over",
}


class Problem(NamedTuple):
    """One kind of thing that is wrong: in how many positions, and some of them (rows)."""

    what: str
    positions: int
    examples: tuple[int, ...]


class Verdict(NamedTuple):
    """``problems`` break a rule of the format. ``open`` leaves only wait for a search, and ``due`` scores for a negamax
    (that of a file whose format has no place for what they follow from), which is no problem."""

    positions: int
    problems: list[Problem]
    open: int
    due: int

    @property
    def clean(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


class _Found:
    """Counts of problems, with some examples of each."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}

    def add(self, what: str, rows: npt.NDArray[np.int64]) -> None:
        if len(rows):
            self._counts[what] = self._counts.get(what, 0) + len(rows)
            kept = self._rows.setdefault(what, [])
            kept += rows[: EXAMPLES - len(kept)].tolist()

    def problems(self) -> list[Problem]:
        return [Problem(what, count, tuple(self._rows[what])) for what, count in self._counts.items()]


def possible(records: Records) -> npt.NDArray[np.bool_]:
    """Which records' boards are ones: disjoint, with a centre, canonical."""
    player, opponent = records["player"], records["opponent"]
    made = records.copy()
    if len(made):
        kernels().canonicalise(address(made), len(made), RECORD.itemsize)
    centre = np.uint64(0x0000001818000000)
    fitting: npt.NDArray[np.bool_] = (
        ((player & opponent) == 0)
        & (((player | opponent) & centre) == centre)
        & (made["player"] == player)
        & (made["opponent"] == opponent)
    )
    return fitting


def _bad_numbers(records: Records) -> npt.NDArray[np.bool_]:
    """Which scores or levels are out of range, or do not agree with the human mark."""
    score, level = records["score"], records["level"]
    human = (records["flags"] & HUMAN) != 0
    bad: npt.NDArray[np.bool_] = ((score < -64) | (score > 64)) & (score != NO_SCORE)
    bad |= ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
    bad |= (level == HUMAN_LEVEL) != human
    return bad


class _Chunk(NamedTuple):
    """What is wrong with the records of a chunk, by row."""

    boards: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]


def _chunks(table: Table, going: Going) -> Iterator[_Chunk]:
    for number, chunk in enumerate(table.chunks()):
        first = number * CHUNK_ROWS
        rows = np.arange(first, first + len(chunk))
        found = table.rows_of(chunk)
        yield _Chunk(rows[~possible(chunk)], rows[found != rows], rows[_bad_numbers(chunk)])
        going("boards", first + len(chunk), len(table))


def verify(book: Book, going: Going = silent) -> Verdict:
    """Check every invariant of a book without changing it.

    Boards are canonical, each position is found under its board, numbers are in range, leaves are legal and no links,
    and every score, bound and count follows from the leaf and the children where that is said to be so
    (`Book.settled`).
    """
    table = book.table
    found = _Found()
    for bad in _chunks(table, going):
        found.add("the board is impossible or not canonical", bad.boards)
        found.add("not found by its own board", bad.lost)
        found.add("the score, the level or the human mark is out of range", bad.numbers)
    possible_boards = not any(problem.what.startswith("the board") for problem in found.problems())
    opened = 0
    for faults in book.scan_faults(going):
        if book.options.rule is Rule.EGAROUCID:
            # Its files hold leaves in every state, and scores do not depend on them.
            opened += len(faults)
            continue
        opened += int(np.count_nonzero(faults[:, 1] == OPEN))
        for kind, what in _LEAVES.items():
            found.add(what, faults[faults[:, 1] == kind, 0])
    problems = found.problems()
    stale = negamax(table, book.options, check_only=True, going=going) if possible_boards else 0
    if stale and book.settled:
        problems.append(Problem("the score, bounds or counts do not follow from leaf and children", stale, ()))
        stale = 0
    return Verdict(len(book), problems, opened, stale)


class Repaired(NamedTuple):
    """What `repair` did: positions removed, leaves dropped (they are open now), scores and levels reset."""

    removed: int
    leaves: int
    numbers: int


def repair(book: Book, going: Going = silent) -> Repaired:
    """Mend what `verify` finds, without searching.

    Impossible boards and those that cannot be found are removed, bad leaves dropped, numbers out of range reset to
    unknown, human marks made to agree; then negamax.
    """
    book.forget_state()
    bad = np.zeros(len(book), bool)
    for found in _chunks(book.table, going):
        bad[found.boards] = bad[found.lost] = True
    removed = int(np.count_nonzero(bad))
    if removed:
        book.rebuild(bad, going)
    numbers = leaves = 0
    for wrong in [found.numbers for found in _chunks(book.table, going)]:
        for row in wrong.tolist():
            book.put(_mended(book.table.entry(row)))
            numbers += 1
    for faults in list(book.scan_faults(going)):
        for row in faults[faults[:, 1] != OPEN, 0].tolist():
            book.put(book.table.entry(row).without_leaf())
            leaves += 1
    book.negamax(going=going)
    return Repaired(removed, leaves, numbers)


def _mended(entry: Entry) -> Entry:
    level = entry.level
    if level != HUMAN_LEVEL and not NO_LEVEL <= level <= MAX_LEVEL:
        level = NO_LEVEL
    if not -64 <= entry.score <= 64:
        entry = entry._replace(score=NO_SCORE, lower=NO_SCORE, upper=-NO_SCORE)
    if entry.flags & HUMAN:
        level = HUMAN_LEVEL
    flags = entry.flags | HUMAN if level == HUMAN_LEVEL else entry.flags & ~HUMAN
    return entry._replace(level=level, flags=flags)
