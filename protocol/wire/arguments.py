"""Arguments that several operations take: a position, a list of positions, and a number in one line."""

from __future__ import annotations

from desdaemon.protocol.othello.selectivity import MAX_LEVEL
from desdaemon.protocol.rows import Argument

from .constants import LONGEST_BOARD, LONGEST_MOVES, MOST_LINES, MOST_PLIES, MOST_POSITIONS


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


ANALYZE = (
    *POSITION,
    Argument(
        "plies",
        "ints",
        "Analyse the positions after these numbers of moves, passes counted; 0 is `board`.",
        0,
        MOST_PLIES,
        unit="plies",
        default="the position after all `moves`",
        cost="one search each",
        since="analyze.plies",
    ),
    positions("analyze.many", " Partials come only with `partial_ms`.", "one search each"),
    number(
        "level",
        "Strength, as Edax's levels; excludes `depth`.",
        0,
        MAX_LEVEL,
        "level",
        "the daemon's",
        cost="the search's",
    ),
    number("depth", "Depth, instead of a level.", 0, 60, "plies", "the level's"),
    number("selectivity", "73, 87, 95, 98, 99 or 100.", 73, 100, "percent", "the level's, or 100"),
    number(
        "nodes",
        "Stop the search of each position about here; endgames that are begun are finished.",
        1,
        10**15,
        "nodes",
        "no limit",
    ),
    number(
        "time_ms",
        "Stop the search of each position here; time in the queue does not count.",
        1,
        10**9,
        "ms",
        "no limit",
    ),
    number("multipv", "Moves to give scores to, best first.", 1, MOST_LINES, "moves", "1", cost="one search a move"),
    Argument("allow", "moves", "Look at these moves only.", 0, MOST_LINES, default="all legal moves"),
    Argument("avoid", "moves", "Leave these moves out.", 0, MOST_LINES, default="none"),
    Argument(
        "book",
        "choice",
        "`use`: the book replies where its level suffices. `ignore`: search. `only`: never search.",
        choices=("use", "ignore", "only"),
        default="`use`",
    ),
    number(
        "partial_ms",
        "Send what is known at this interval, where it has changed.",
        1,
        10**9,
        "ms",
        "no such partials",
        cost="a message each",
    ),
    number("priority", "Among the requests of this client: higher first.", -1000, 1000, "", "0"),
    Argument(
        "until",
        "choice",
        "Search ever deeper until a `cancel`, or until the score is proved; excludes limits and lists.",
        choices=("cancelled",),
        default="the limits end it",
        cost="a search thread for as long",
        since="analyze.until",
    ),
    number(
        "threads",
        "Most threads that may search the position together; 0: all that are idle. In a list, one a position.",
        0,
        1024,
        "threads",
        "0",
        since="analyze.threads",
    ),
    Argument(
        "deterministic",
        "flag",
        "Search by one thread with an empty table: scores, lines and nodes are the same every time, on every machine.",
        default="the daemon's option `deterministic`",
        cost="no use of earlier searches, the cache's neither",
        since="analyze.threads",
    ),
    number(
        "game_nodes",
        "Budget for all `plies` or `positions` together; each may use an equal part of the rest.",
        1,
        10**15,
        "nodes",
        "no limit",
        since="analyze.game_nodes",
    ),
)
"""The arguments of `analyze`."""
