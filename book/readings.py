"""How reliable a search's score is, by level and empty squares: solved, read to the end selectively, or a guess.

Levels are Edax's, except those from Egaroucid's files (`layout.EGAROUCID_LEVELS`). A level converted to the other scale
becomes one that is read as no more reliable.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from desdaemon.engine.limits import level_limits
from desdaemon.protocol.othello.selectivity import Selectivity

from .layout import EGAROUCID_LEVELS, GUESSED, LEVELS, MAX_LEVEL, NO_LEVEL, READ, SOLVED, SQUARES
from .record import PositionEntry, empty_squares

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
    """Return `SOLVED`, `READ` or `GUESSED` for Egaroucid's ``level``; the level of scores set by hand counts as 60."""
    if level <= 10:
        return SOLVED if empties <= 2 * max(level, 0) else GUESSED
    for last, most, full in _EGAROUCID:
        if level <= last:
            return SOLVED if empties <= full else READ if empties <= most else GUESSED
    return SOLVED


def reading(level: int, empties: int) -> int:
    """Return `SOLVED`, `READ` or `GUESSED` for a search of our ``level``, which is limited to 0..60."""
    limits = level_limits(min(max(level, 0), MAX_LEVEL), empties)
    if limits.depth < empties:
        return GUESSED
    return SOLVED if limits.selectivity == Selectivity.FULL else READ


@cache
def readings() -> npt.NDArray[np.uint8]:
    """Return a table of `SOLVED`, `READ` or `GUESSED` for the kernel `grade_rows`, uint8.

    First axis: the level's scale, 0 ours, 1 Egaroucid's; second axis: 0 for positions, 1 for leaves; third axis: level
    minus `NO_LEVEL`; fourth axis: empty squares.
    """
    table = np.zeros((2, 2, LEVELS, SQUARES), np.uint8)
    for level in range(NO_LEVEL, MAX_LEVEL + 1):
        for empties in range(61):
            own, other = reading(level, empties), egaroucid_reading(level, empties)
            # Egaroucid searches a leaf from the position after the move.
            leaf = egaroucid_reading(level, max(empties - 1, 0))
            table[:, :, level - NO_LEVEL, empties] = (own, own), (other, leaf)
    last = MAX_LEVEL - NO_LEVEL
    table[:, :, last + 1 :] = table[:, :, last : last + 1]
    return table


@cache
def _scaled(kind: int, scale: int) -> npt.NDArray[np.int8]:
    """Return a table, int8, of the levels in ``scale`` (0 ours, 1 Egaroucid's) for those in the other scale.

    First axis: the other scale's level minus `NO_LEVEL`; second axis: empty squares. A level of 0..60 becomes the
    highest of 0..60 that is no higher and read as no more reliable. Other levels stay. ``kind`` is 0 for positions, 1
    for leaves.
    """
    old, new = readings()[1 - scale, kind], readings()[scale, kind]
    levels = np.tile(np.arange(NO_LEVEL, NO_LEVEL + LEVELS, dtype=np.int8)[:, None], SQUARES)
    for level in range(1, MAX_LEVEL + 1 - NO_LEVEL):
        # The less sure a reading, the greater its bit.
        surer = new[: level + 1] < old[level]
        levels[level] = np.maximum(level - np.argmin(surer[::-1], axis=0), 1) + NO_LEVEL
    return levels


def own_scale() -> npt.NDArray[np.int8]:
    """Return a table, int8, of our levels for Egaroucid's levels of positions.

    First axis: Egaroucid's level minus `NO_LEVEL`; second axis: empty squares.
    """
    return _scaled(0, 0)


def levels_in_scale(
    records: npt.NDArray[np.void], *, leaves: bool = False, egaroucid: bool = False
) -> npt.NDArray[np.int8]:
    """Return the levels of the positions in ``records``, or with ``leaves`` those of their leaves.

    The levels are in our scale, or with ``egaroucid`` in Egaroucid's.
    """
    levels: npt.NDArray[np.int8] = records["leaf_level" if leaves else "level"].copy()
    other = (records["flags"] & EGAROUCID_LEVELS != 0) != egaroucid
    rows = levels[other].astype(np.int64) - NO_LEVEL
    levels[other] = _scaled(int(leaves), int(egaroucid))[rows, empty_squares(records[other])]
    return levels


def in_scale(entry: PositionEntry, *, egaroucid: bool = False) -> PositionEntry:
    """Return an entry with its levels in our scale or, with ``egaroucid``, in Egaroucid's."""
    if bool(entry.flags & EGAROUCID_LEVELS) is egaroucid:
        return entry
    level, leaf_level = (
        int(_scaled(kind, int(egaroucid))[old - NO_LEVEL, entry.empties])
        for kind, old in enumerate((entry.level, entry.leaf_level))
    )
    return entry._replace(level=level, leaf_level=leaf_level, flags=entry.flags ^ EGAROUCID_LEVELS)
