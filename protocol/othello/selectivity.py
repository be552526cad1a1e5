"""The selectivities and levels of searches: one table for the engine, the options, the dialects and the wire."""

from __future__ import annotations

from enum import IntEnum
from typing import NewType

MAX_LEVEL = 60
"""The highest of Edax's levels, 0 to 60."""

SelectivityIndex = NewType("SelectivityIndex", int)
"""The index of a `Selectivity` in the table, 0 to 5, as kernels, table entries and Edax's option use it."""


class Selectivity(IntEnum):
    """The confidence in percent with which ProbCut cuts: the probability that a cut is right.

    ``Selectivity(98)`` is that of 98 %; numbers that are not in the table raise ValueError. Selectivities compare and
    print as their percentages.
    """

    PERCENT_73 = 73
    PERCENT_87 = 87
    PERCENT_95 = 95
    PERCENT_98 = 98
    PERCENT_99 = 99
    FULL = 100
    """A search without ProbCut."""

    @property
    def index(self) -> SelectivityIndex:
        """The index of this selectivity in the table."""
        return _INDICES[self]

    @classmethod
    def at(cls, index: SelectivityIndex) -> Selectivity:
        """Return the selectivity at ``index`` of the table; raises IndexError if there is none."""
        return SELECTIVITIES[index]

    __repr__ = int.__repr__


SELECTIVITIES = tuple(Selectivity)
"""All selectivities, by index."""

_INDICES = {level: SelectivityIndex(place) for place, level in enumerate(SELECTIVITIES)}


def depth_text(depth: int, selectivity: Selectivity) -> str:
    """Return plies and confidence as Edax and GUIs write them: ``16@73%``, ``16`` for a full search."""
    return str(depth) if selectivity == Selectivity.FULL else f"{depth}@{selectivity}%"
