"""Verifying a book: every invariant, and repairing what is not as it should be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .book import ILLEGAL, LINKED, OPEN, SURPLUS, Book
from .links import Progress, negamax
from .native import kernels
from .record import HUMAN, HUMAN_LEVEL, MAX_LEVEL, NO_LEVEL, NO_SCORE, RECORD, Entry
from .table import CHUNK_ROWS, Table, address

EXAMPLES = 5
"""How many positions of each kind of problem are named."""


class Problem(NamedTuple):
    """One kind of thing that is wrong: in how many positions, and some of them (rows)."""

    what: str
    positions: int
    examples: tuple[int, ...]


class Verdict(NamedTuple):
    """``problems`` break a rule of the format; ``open`` leaves only wait for a search, which is no problem."""

    positions: int
    problems: list[Problem]
    open: int

    @property
    def clean(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def _problem(what: str, rows: npt.NDArray[np.int64]) -> list[Problem]:
    return [Problem(what, len(rows), tuple(rows[:EXAMPLES].tolist()))] if len(rows) else []


def _bad_boards(table: Table) -> npt.NDArray[np.bool_]:
    """Rows whose board overlaps, has an empty centre or is not canonical."""
    bad = np.zeros(len(table), bool)
    centre = np.uint64(0x0000001818000000)
    for number, chunk in enumerate(table.chunks()):
        player, opponent = chunk["player"], chunk["opponent"]
        made = np.zeros(len(chunk), RECORD)
        made["player"], made["opponent"] = player, opponent
        if len(made):
            kernels().canonicalise(address(made), len(made), RECORD.itemsize)
        bad[number * CHUNK_ROWS :][: len(chunk)] = (
            ((player & opponent) != 0)
            | (((player | opponent) & centre) != centre)
            | (made["player"] != player)
            | (made["opponent"] != opponent)
        )
    return bad


def _bad_numbers(table: Table) -> npt.NDArray[np.bool_]:
    """Rows whose score or level is out of range, or whose human mark and level disagree."""
    score, level = table.column("score"), table.column("level")
    human = (table.column("flags") & HUMAN) != 0
    bad: npt.NDArray[np.bool_] = ((score < -64) | (score > 64)) & (score != NO_SCORE)
    bad |= ((level < NO_LEVEL) | (level > MAX_LEVEL)) & (level != HUMAN_LEVEL)
    bad |= (level == HUMAN_LEVEL) != human
    return bad


def verify(book: Book, progress: Progress | None = None) -> Verdict | None:
    """Check every invariant of a book without changing it. None when ``progress`` asked to stop.

    Boards are canonical, each position is found under its board, numbers are in range, leaves are legal and no links,
    and every score, bound and count follows from the leaf and the children.
    """
    going = progress or (lambda done, total: True)
    table = book.table
    bad_boards = np.flatnonzero(_bad_boards(table))
    problems = _problem("the board is impossible or not canonical", bad_boards)
    rows = table.find_many(table.keys()) if len(table) else np.zeros(0, np.int64)
    problems += _problem("not found by its own board", np.flatnonzero(rows != np.arange(len(table))))
    problems += _problem("the score, the level or the human mark is out of range", np.flatnonzero(_bad_numbers(table)))
    faults = []
    for done, found in book.scan_faults():
        faults += found
        if not going(done, len(table)):
            return None
    own = book.options.rule
    for kind, what in (
        (LINKED, "the leaf's move leads into the book"),
        (ILLEGAL, "the leaf is not a legal move"),
        (SURPLUS, "a final score though the game is not over"),
    ):
        if kind != LINKED and own:
            # Egaroucid's files hold leaves in every state; its rule does not use them.
            continue
        problems += _problem(what, np.array([fault.row for fault in faults if fault.kind == kind], np.int64))
    if not len(bad_boards):
        stale = negamax(table, book.options, check_only=True, progress=going)
        if stale is None:
            return None
        if stale:
            problems.append(Problem("the score, bounds or counts do not follow from leaf and children", stale, ()))
    return Verdict(len(book), problems, sum(fault.kind == OPEN for fault in faults))


class Repaired(NamedTuple):
    """What `repair` did: positions removed, leaves dropped (they are open now), scores and levels reset."""

    removed: int
    leaves: int
    numbers: int


def repair(book: Book) -> Repaired:
    """Mend what `verify` finds, without searching.

    Impossible boards and those that cannot be found are removed, bad leaves dropped, numbers out of range reset to
    unknown, human marks made to agree; then negamax.
    """
    book.forget_state()
    table = book.table
    rows = table.find_many(table.keys()) if len(table) else np.zeros(0, np.int64)
    bad = _bad_boards(table) | (rows != np.arange(len(table)))
    kept = [table.entry(row) for row in np.flatnonzero(~bad).tolist()] if bad.any() else None
    removed = int(bad.sum())
    if kept is not None:
        # An index that does not find its rows cannot be trusted to remove them either.
        if book.recorder is not None:
            book.recorder.removed(table.keys()[bad])
        book.table = Table()
        book.file_links = None
        for entry in kept:
            book.put(entry)
    table = book.table
    numbers = 0
    for row in np.flatnonzero(_bad_numbers(table)).tolist():
        book.put(_mended(table.entry(row)))
        numbers += 1
    leaves = 0
    for fault in book.faults():
        if fault.kind != OPEN:
            book.put(table.entry(fault.row).without_leaf())
            leaves += 1
    book.negamax()
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
