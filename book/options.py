"""Options of a book, kept in its file: level, depth, error margins, rule."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import within
from .layout import MAX_LEVEL

MAX_DEPTH = 61


class Rule(enum.IntEnum):
    """The rule by which a position's score follows from its children."""

    EDAX = 0
    """The score is the best of the links and the leaf; ``lines`` counts the paths that leave the book."""

    EGAROUCID = 1
    """The score is the best of the links, or the position's own without links; ``lines`` is 1 + the links' sum."""


class BookOptions(NamedTuple):
    """Options of a book.

    New positions get ``level`` (0..60). Positions are grown while at least ``min_empties`` squares are empty, so the
    book ends one ply later. ``midgame_error`` is the margin, in discs, of the bounds of a leaf whose search did not
    reach the end of the game, ``endcut_error`` that of a leaf whose search reached it with selectivity. ``verbosity``
    is Edax's and only kept.
    """

    level: int = 21
    min_empties: int = 25
    midgame_error: int = 2
    endcut_error: int = 1
    verbosity: int = 0
    rule: Rule = Rule.EDAX

    @property
    def depth(self) -> int:
        """The depth of the book, as users see it: moves from the initial position to the deepest positions."""
        return 61 - self.min_empties

    @property
    def scoring(self) -> tuple[int, int, Rule]:
        """The options that scores, bounds and counts depend on."""
        return self.midgame_error, self.endcut_error, self.rule

    @property
    def links_first(self) -> bool:
        """Whether a position with links has the score of these, and the book does not play its leaf."""
        return self.rule is Rule.EGAROUCID

    def at_depth(self, depth: int) -> BookOptions:
        """Return the options with another depth (0..61); raises `OutOfRange`."""
        return self._replace(min_empties=61 - within("depth", depth, 0, MAX_DEPTH))

    def at_level(self, level: int) -> BookOptions:
        """Return the options with another level (0..60); raises `OutOfRange`."""
        return self._replace(level=within("level", level, 0, MAX_LEVEL))


MAX_ERROR = 129
_RANGES = (
    ("level", 0, MAX_LEVEL),
    ("number of empties", 0, MAX_DEPTH),
    ("midgame error", 0, MAX_ERROR),
    ("endcut error", 0, MAX_ERROR),
    ("verbosity", -(1 << 31), (1 << 31) - 1),
    ("rule", 0, 1),
)


def options_of(*numbers: int) -> BookOptions:
    """Return options with these values for the fields of `BookOptions`, in order. Without the sixth the rule is Edax's.

    Raises ValueError if a value is out of range.
    """
    for value, (name, low, high) in zip(numbers, _RANGES, strict=False):
        if not low <= value <= high:
            raise ValueError(f"the {name} is {value}, not {low}..{high}")
    return BookOptions._make((*numbers[:5], Rule(sum(numbers[5:]))))


def default_depth(level: int) -> int:
    """Return Edax's depth, in moves, of a new book of ``level``: from about there on such a search solves the game."""
    if level <= 10:
        return 60 - 2 * level
    if level <= 18:
        return 39
    if level <= 24:
        return 36
    if level <= 29:
        return 33
    if level <= 35:
        return 30
    return 66 - level if level <= 41 else 24


def guessed_options(levels: npt.NDArray[np.int64] | int, least_empties: int, rule: Rule) -> BookOptions:
    """Return options for a book whose file has none, derived from its positions.

    ``levels`` is the level itself, or an array with the number of unfinished positions of each level. From an array the
    most frequent level is taken, the highest if several are, and the default level if all numbers are 0. The depth is
    that of the deepest position, which has ``least_empties`` empty squares. A book of the initial position alone gets
    the level's `default_depth`.
    """
    level = levels if isinstance(levels, int) else BookOptions().level
    if not isinstance(levels, int) and levels.any():
        level = len(levels) - 1 - int(np.argmax(levels[::-1]))
    depth = 60 - least_empties
    return BookOptions(level=level, rule=rule).at_depth(depth or default_depth(level))
