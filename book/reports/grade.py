"""How well a position's score is founded: Egaroucid's grades A to F, and AA to AF.

From the position all lines are followed that lose at most one disc against the best move at each step, to where the
book ends. A: every end is solved completely; C: every end is read to the end of the game with selectivity; F: every
end is a midgame search; B, D and E are mixtures (see `LETTERS`). A position of grade A gets a second letter for the
lines that lose at most two discs.

Egaroucid's own program calls a mixture of C and F a D, and passes over leaves that are not solved; here both count for
what they are.
"""

from __future__ import annotations

from desdaemon.book.book import Book
from desdaemon.book.options import Rule
from desdaemon.book.progress import Going, silent
from desdaemon.book.record import HUMAN, MAX_LEVEL, Entry
from desdaemon.engine.limits import level_limits

_STEP = 1 << 8

SOLVED = 1
READ = 2
GUESSED = 4

LETTERS = {
    SOLVED: "A",
    SOLVED | READ: "B",
    READ: "C",
    SOLVED | GUESSED: "D",
    SOLVED | READ | GUESSED: "D",
    READ | GUESSED: "E",
    GUESSED: "F",
}
"""The letter for what was seen at the ends of the lines."""

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
    """`SOLVED`, `READ` or `GUESSED`: what a search of Egaroucid's ``level`` is with ``empties`` squares left."""
    if level <= 10:
        return SOLVED if empties <= 2 * max(level, 0) else GUESSED
    for last, most, full in _EGAROUCID:
        if level <= last:
            return SOLVED if empties <= full else READ if empties <= most else GUESSED
    return SOLVED


def reading(level: int, empties: int, rule: Rule = Rule.EDAX) -> int:
    """`SOLVED`, `READ` or `GUESSED`; levels are Edax's, or Egaroucid's in its books. A human's level counts as 60."""
    if rule is Rule.EGAROUCID:
        return egaroucid_reading(min(level, MAX_LEVEL), empties)
    limits = level_limits(min(max(level, 0), MAX_LEVEL), empties)
    if limits.depth < empties:
        return GUESSED
    return SOLVED if limits.selectivity == 100 else READ


def _own_leaf(entry: Entry, rule: Rule) -> int:
    """What the leaf is. Egaroucid searches it from the position after the move."""
    empties = entry.empties - (rule is Rule.EGAROUCID)
    return reading(entry.leaf_level, max(empties, 0), rule)


Known = dict[int, int]
"""What `flags` has found for rows; of use for one ``loss``, until the book changes."""


class TooMany(Exception):
    """More positions would have to be looked at than allowed."""


def flags(
    book: Book,
    player: int,
    opponent: int,
    loss: int,
    known: Known | None = None,
    most: int | None = None,
    going: Going = silent,
) -> int:
    """What is at the ends of all lines from a position that lose at most ``loss`` discs at each step; 0 outside.

    ``known`` is used and added to. Raises `TooMany` when ``most`` positions were not enough; what was found is kept.
    """
    table, rule = book.table, book.options.rule
    start = table.find(player, opponent)
    if start < 0:
        return 0
    done: Known = {} if known is None else known
    stack = [start]
    while stack:
        if most is not None:
            most -= 1
            if most < 0:
                raise TooMany
        row = stack[-1]
        if row in done:
            stack.pop()
            continue
        if len(done) % _STEP == 0:
            going("grade", len(done), 0)
        entry = table.entry(row)
        moves = [move for move in book.known_moves(entry) if -64 <= move.score <= 64]
        links = [move for move in moves if move.linked]
        if not links or entry.flags & HUMAN:
            level = entry.leaf_level if entry.has_leaf and not entry.human and entry.leaf_level >= 0 else entry.level
            done[row] = SOLVED if not table.links(entry.player, entry.opponent) else reading(level, entry.empties, rule)
            continue
        near = [move for move in moves if move.score >= moves[0].score - loss]
        waiting = [move.row for move in near if move.linked and move.row not in done]
        if waiting:
            stack += waiting
            continue
        found = 0
        for move in near:
            found |= done[move.row] if move.linked else _own_leaf(entry, rule)
        done[row] = found
    return done[start]


def grade(
    book: Book,
    player: int,
    opponent: int,
    known: tuple[Known, Known] | None = None,
    most: int | None = None,
    going: Going = silent,
) -> str:
    """A to F or AA to AF; empty outside the book. ``known``, for losses of 1 and 2, and ``most`` are as for `flags`."""
    one, two = known or (None, None)
    first = LETTERS.get(flags(book, player, opponent, 1, one, most, going), "")
    if first != "A":
        return first
    return first + LETTERS[flags(book, player, opponent, 2, two, most, going)]
