"""The limits of a search, Edax's table of levels, and the sizes of transposition tables. Plain values."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from desdaemon.protocol.othello.selectivity import MAX_LEVEL, Selectivity

from .layout import ENTRY_BYTES

MIN_HASH_BITS, MAX_HASH_BITS = 10, 32
"""Least and greatest logarithm (base 2) of the number of entries of a transposition table."""


def hash_bits_within(size: int) -> int:
    """Return the logarithm (base 2) of the number of entries of the largest transposition table of at most ``size``
    bytes, within `MIN_HASH_BITS` (even if that needs more bytes) and `MAX_HASH_BITS`.
    """
    return min(MAX_HASH_BITS, max(MIN_HASH_BITS, (size // ENTRY_BYTES).bit_length() - 1))


UNBOUNDED_PLIES = 36
"""Most plies of a search that ends within reasonable time without a limit on nodes or time."""

_ESTIMATED_US = (5, 5, 10, 20, 50, 140, 400, 1100)
"""Approximate microseconds of a search that ends before the game, by its depth, on a processor of 2023."""

_ESTIMATED_END_US = (2, 2, 2, 3, 4, 6, 10, 20, 35, 70, 120, 250, 500, 900)
"""Approximate microseconds of a search to the end, by empties."""


class Limits(NamedTuple):
    """The limits of a search: depth in plies, selectivity, nodes, milliseconds of wall time (0: no node or time limit).

    A ``depth`` of at least the number of empties is a search to the end of the game.
    """

    depth: int
    selectivity: Selectivity = Selectivity.FULL
    nodes: int = 0
    time_ms: int = 0

    @property
    def bounded(self) -> bool:
        """Whether a search with these limits ends by itself within reasonable time: by nodes, by time, or after at most
        `UNBOUNDED_PLIES` plies.
        """
        return bool(self.nodes or self.time_ms) or self.depth <= UNBOUNDED_PLIES

    def estimated_us(self, empties: int) -> int:
        """Return the estimated microseconds of a search from a board with ``empties``; 0 if the search is too deep for
        the tables `_ESTIMATED_US` and `_ESTIMATED_END_US`, or bounded by nodes or time.
        """
        if self.nodes or self.time_ms:
            return 0
        if self.depth >= empties:
            return _ESTIMATED_END_US[empties] if empties < len(_ESTIMATED_END_US) else 0
        return _ESTIMATED_US[self.depth] if self.depth < len(_ESTIMATED_US) else 0


def endgame_steps(level: int) -> tuple[tuple[int, int], ...]:
    """Return pairs (most empties, percent), ascending: up to that number of empties a search of ``level`` (0..60) goes
    to the end of the game at that selectivity.

    With more empties than the last pair's, `level_limits` searches ``level`` plies, at 100 % up to level 10, else 73 %.
    """
    if level <= 10:
        return ((2 * level, 100),)
    if level <= 12:
        return ((21, 100), (24, 98))
    if level <= 18:
        return ((21, 100), (24, 98), (27, 87))
    if level <= 21:
        return ((24, 100), (27, 98), (30, 87))
    if level <= 24:
        return ((24, 100), (27, 99), (30, 95), (33, 73))
    if level <= 27:
        return ((27, 100), (30, 98), (33, 87))
    if level <= 29:
        return ((27, 100), (30, 99), (33, 95), (36, 73))
    if level <= 31:
        return ((30, 100), (33, 98), (36, 87))
    if level <= 33:
        return ((30, 100), (33, 99), (36, 95), (39, 73))
    if level <= 35:
        return ((30, 100), (33, 99), (36, 98), (39, 87))
    if level < MAX_LEVEL:
        return (
            (level - 6, 100),
            (level - 3, 99),
            (level, 98),
            (level + 3, 95),
            (level + 6, 87),
            (level + 9, 73),
        )
    return ((60, 100),)


@cache
def level_limits(level: int, empties: int) -> Limits:
    """Return the depth and selectivity of Edax's ``level`` (0..60) for a board with ``empties`` (0..64).

    Level 0 is the static evaluation. Boards with more than 60 empties, which no game reaches, count as 60. Raises
    ValueError outside the ranges.
    """
    if not 0 <= level <= MAX_LEVEL:
        raise ValueError(f"level {level} is outside 0..{MAX_LEVEL}")
    if not 0 <= empties <= 64:
        raise ValueError(f"{empties} empties are outside 0..64")
    empties = min(empties, 60)
    for most, percent in endgame_steps(level):
        if empties <= most:
            return Limits(empties, Selectivity(percent))
    return Limits(min(level, empties), Selectivity.FULL if level <= 10 else Selectivity.PERCENT_73)
