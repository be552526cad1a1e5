"""Arguments that several operations take: a position, a list of positions, and a number in one line."""

from __future__ import annotations

from desdaemon.protocol.rows import Argument

from .constants import LONGEST_BOARD, LONGEST_MOVES, MOST_POSITIONS


def number(
    name: str, help: str, low: int, high: int, unit: str, default: str, *, cost: str = "", since: str = "1.0"
) -> Argument:
    """Return the argument ``name``, a whole number from ``low`` to ``high`` that may be left out."""
    return Argument(name, "int", help, low, high, unit=unit, default=default, cost=cost, since=since)


POSITION = (
    Argument("board", "text", "64 squares and the side to move.", 0, LONGEST_BOARD, default="the standard start"),
    Argument(
        "moves",
        "text",
        "Moves played from `board`, `f5d6c3`; forced passes (`pa`) may be left out.",
        0,
        LONGEST_MOVES,
        default="none",
    ),
)


def positions(since: str, more: str = "", cost: str = "") -> Argument:
    """Return the argument ``positions``, a list of positions; the feature ``since`` added it to its operation. ``more``
    is appended to its help.
    """
    help = f"Instead of a position: maps of `board` and `moves`, each optional.{more}"
    return Argument(
        "positions", "maps", help, 0, MOST_POSITIONS, default="one position", cost=cost, since=since, fields=POSITION
    )
