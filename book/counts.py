"""Counts of a book's positions, links, leaves and finished games, by empty squares, levels and scores.

Counting takes a pass over the whole book, so a `Book` updates its counts with its changes and writes them to its file.
New positions are counted when the counts are read (`Counts.catch_up`), everything else with the change.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .chunks import Records, Rows, address
from .layout import (
    SQUARES,
    TALLY_BIAS,
    TALLY_KINDS,
    TALLY_LEAVES,
    TALLY_LEVELS,
    TALLY_POSITIONS,
    TALLY_SCORES,
    TALLY_WORDS,
)
from .passes import kernels
from .progress import ProgressCallback, no_progress, slices
from .record import PositionEntry, empty_squares, have_leaf
from .table import BookTable, Filters

Tally: TypeAlias = npt.NDArray[np.int64]

WORDS = TALLY_WORDS + 2
"""Number of words of `Counts.packed`."""

_SLICE = 1 << 15
_ALL = (1 << 62) - 1

FEW = 1 << 12
"""Most new or removed positions that are counted one by one; if there are more, the whole book has to be counted."""


class Counts:
    """The counts of the first ``rows`` rows of a table. Only the thread that changes the book may use it."""

    def __init__(self) -> None:
        self.rows = 0
        self.tally: Tally = np.zeros(TALLY_WORDS, np.int64)
        """The counts as the kernels keep them, see `layout.TALLY_WORDS`."""
        self.unreachable = -1
        """Number of positions that no line from the initial position leads to; -1 if it is not known."""

    @property
    def kinds(self) -> Tally:
        """Numbers of positions, links, leaves and finished games, by empty squares: int64 (4, 65), a view."""
        return self.tally[:TALLY_LEVELS].reshape(TALLY_KINDS, SQUARES)

    @property
    def levels(self) -> dict[int, int]:
        """Number of positions by level, ascending; levels without positions are left out."""
        return _named(self.tally[TALLY_LEVELS:TALLY_SCORES])

    @property
    def scores(self) -> dict[int, int]:
        """Number of positions by score, ascending; scores without positions are left out."""
        return _named(self.tally[TALLY_SCORES:])

    def packed(self) -> npt.NDArray[np.uint64]:
        """Return the counts as `WORDS` words for a file."""
        words = np.zeros(WORDS, np.int64)
        words[: len(self.tally)] = self.tally
        words[-2:] = self.rows, self.unreachable
        return words.view(np.uint64)

    @classmethod
    def unpacked(cls, words: npt.NDArray[np.uint64]) -> Counts:
        """Return the counts in ``words``, which `packed` made."""
        counts = cls()
        values = words.view(np.int64)
        counts.tally = values[: len(counts.tally)].copy()
        counts.rows, counts.unreachable = values[-2:].tolist()
        return counts

    def possible(self, rows: int) -> bool:
        """Return whether these can be the counts of a table with ``rows`` rows."""
        counted = self.rows == rows and int(self.kinds[TALLY_POSITIONS].sum()) == rows
        return counted and not (self.tally < 0).any() and -1 <= self.unreachable <= rows

    def _count(self, records: Records, sign: int) -> None:
        """Count levels, scores and leaves of records; with a ``sign`` of -1 subtract them."""
        for name, first in (("level", TALLY_LEVELS), ("score", TALLY_SCORES)):
            values: Rows = records[name].astype(np.int64)
            self.tally[first : first + 256] += sign * np.bincount(values + TALLY_BIAS, minlength=256)
        empties = empty_squares(records[have_leaf(records)])
        self.kinds[TALLY_LEAVES] += sign * np.bincount(empties, minlength=SQUARES)

    def replaced(self, rows: Rows, old: Records, new: Records) -> None:
        """Update the counts of levels, scores and leaves for ``rows``, whose records were ``old`` and are now ``new``.
        Rows that are not counted yet are passed over; links are not affected.
        """
        counted = rows < self.rows
        self._count(old[counted], -1)
        self._count(new[counted], 1)

    def replaced_one(self, old: PositionEntry, new: PositionEntry) -> None:
        """Update the counts for one changed position that is counted already, faster than `replaced` does."""
        for entry, sign in ((old, -1), (new, 1)):
            self.tally[TALLY_LEVELS + TALLY_BIAS + entry.level] += sign
            self.tally[TALLY_SCORES + TALLY_BIAS + entry.score] += sign
            if entry.has_leaf:
                self.kinds[TALLY_LEAVES, entry.empties] += sign

    def _count_rows(self, table: BookTable, rows: Rows, limit: int, sign: int) -> None:
        """Add rows to the counts by empty squares or, with a ``sign`` of -1, subtract them.

        Only links to rows below ``limit`` are counted.
        """
        tally = np.zeros(TALLY_LEVELS, np.int64)
        order = rows.astype(np.uint32)
        filters = Filters()
        kernels().tally_listed(table.context, address(order), len(order), limit, address(tally), filters.at)
        self.tally[:TALLY_LEVELS] += sign * tally

    def catch_up(self, table: BookTable) -> bool:
        """Count the positions added since the last count. Afterwards `unreachable` may be unknown.

        Returns False, counting nothing, if more than `FEW` were added, or if one of them has too many parents to list.
        """
        if len(table) - self.rows > FEW:
            return False
        added = np.arange(self.rows, len(table), dtype=np.int64)
        if not len(added):
            return True
        above = parents_of(table, added)
        if above is None:
            return False
        parents, orphans = above
        old = parents[parents < self.rows]
        records = table.records(added)
        self._count_rows(table, added, _ALL, 1)
        self._count_rows(table, old, _ALL, 1)
        self._count_rows(table, old, self.rows, -1)
        # `_count_rows` has counted the leaves of these rows.
        leaves = self.kinds[TALLY_LEAVES].copy()
        self._count(records, 1)
        self.kinds[TALLY_LEAVES] = leaves
        if orphans or self.unreachable:
            self.unreachable = -1
        self.rows = len(table)
        return True

    def before_removal(self, table: BookTable, rows: Rows) -> Records | None:
        """Subtract the counts of rows that will be removed, and the counts by empty squares of their parents that stay.

        Returns the records of these parents: the caller must give them to `after_removal` once the rows are removed.
        Returns None, having subtracted nothing, if rows or parents are too many; then the whole table has to be counted
        after the removal.
        """
        if len(rows) > FEW or not self.catch_up(table):
            return None
        above = parents_of(table, rows)
        if above is None:
            return None
        parents = np.setdiff1d(above[0], rows)
        gone = table.records(rows)
        leaves = self.kinds[TALLY_LEAVES].copy()
        self._count(gone, -1)
        self.kinds[TALLY_LEAVES] = leaves
        self._count_rows(table, rows, _ALL, -1)
        self._count_rows(table, parents, _ALL, -1)
        return table.records(parents)

    def after_removal(self, table: BookTable, parents: Records) -> None:
        """Count again the ``parents`` that `before_removal` returned, with their remaining links.

        `unreachable` becomes unknown.
        """
        self._count_rows(table, table.rows_of(parents), _ALL, 1)
        self.rows = len(table)
        self.unreachable = -1


def parents_of(table: BookTable, rows: Rows) -> tuple[Rows, int] | None:
    """Return the rows that lead to any of ``rows``, ascending, and the number of ``rows`` without a parent.

    Returns None if a row has too many parents to list.
    """
    found: set[int] = set()
    orphans = 0
    for row in rows.tolist():
        parents = table.parents(row)
        if parents is None:
            return None
        orphans += not parents
        found.update(parents)
    return np.array(sorted(found), np.int64), orphans


def _named(values: Tally) -> dict[int, int]:
    return {value - TALLY_BIAS: count for value, count in enumerate(values.tolist()) if count}


def counted(table: BookTable, progress: ProgressCallback = no_progress) -> Counts:
    """Return the counts of a whole table, except the unreachable positions."""
    counts = Counts()
    filters = table.filters(progress)
    for start, end in slices(len(table), _SLICE, "count", progress):
        kernels().tally_rows(table.context, start, end, address(counts.tally), filters.at)
    counts.rows = len(table)
    return counts
