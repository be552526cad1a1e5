"""Umigame numbers: how few lines of the book a side must know to keep the score of a position.

A side that knows its lines needs one answer to each good reply. So its number is, where it moves, the least of the
numbers after its best moves, and where the other side moves, the sum of those after that side's best moves; a line
that ends counts 1. A move is best if its score in the book is the position's best. Moves that lead to the same
position, mirrored ones too, count once. A line ends at the depth, and where no best move leads to a position of the
book; a best reply that leads out of it is the end of one more, while a side's own way out counts only if it has no
other best move.
"""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.protocol.errors import BadInput

MOST_LINES = 1 << 53
"""The largest number: larger ones are cut to it, so that every language can hold them."""

MOST_POSITIONS = 1 << 20
"""Most positions that are visited; each takes some 250 bytes."""

_STEP = 1 << 9

_Position = tuple[int, int]


class Umigame(NamedTuple):
    """Numbers of lines that the side to move (``own``) and the other side must know."""

    own: int
    other: int

    def by_colour(self, *, black: bool) -> tuple[int, int]:
        """Return Black's number and White's; ``black`` says whether Black is to move."""
        return (self.own, self.other) if black else (self.other, self.own)


class _After(NamedTuple):
    """What follows a position by best moves: different positions of the book, and whether the leaf is such a move."""

    links: tuple[_Position, ...] = ()
    leaf: bool = False


class UmigameNumbers:
    """The umigame numbers of a book's positions, cached for its present state; lines end at ``least`` empty squares."""

    def __init__(self, book: Book, least: int = 0) -> None:
        self._book = book
        self._least = least
        self._known: dict[_Position, Umigame] = {}

    def of(self, player: int, opponent: int, progress: ProgressCallback = no_progress) -> Umigame:
        """Return the numbers of a position in any orientation; 1 and 1 if the book has no move with a score there.

        The time grows with the number of positions that best moves reach. Raises `BadInput` if they are more than
        `MOST_POSITIONS`, and what ``progress`` raises.
        """
        known = self._known
        first = self._book.table.canonical(player, opponent)[:2]
        # A move fills a square, and no pass follows a pass: no position comes after itself.
        entered: dict[_Position, _After] = {}
        stack = [first]
        while stack:
            position = stack[-1]
            if position in known:
                stack.pop()
                continue
            after = entered.pop(position, None)
            if after is not None:
                known[position] = _number([known[link] for link in after.links], after.leaf)
                continue
            entered[position] = after = self._after(position)
            stack += (link for link in after.links if link not in known)
            visited = len(known) + len(entered)
            if visited > MOST_POSITIONS:
                limit = f"more than {MOST_POSITIONS} positions are within reach"
                raise BadInput(f"umigame: {limit}: expected a smaller depth")
            if visited % _STEP == 0:
                progress("umigame", visited, 0)
        return known[first]

    def _after(self, position: _Position) -> _After:
        player, opponent = position
        if 64 - (player | opponent).bit_count() <= self._least:
            return _After()
        table = self._book.table
        moves = self._book.moves_that_count(player, opponent)
        best = [move for move in moves if move.scored and move.score == moves[0].score]
        reached = (table.canonical(*table.play(player, opponent, move.move))[:2] for move in best if move.linked)
        return _After(tuple(dict.fromkeys(reached)), any(not move.linked for move in best))


def _number(links: list[Umigame], leaf: bool) -> Umigame:
    """Return the numbers of a position from those after its best moves, as the side that then moves sees them; ``leaf``
    says whether the leaf is best too.
    """
    if not links:
        return Umigame(1, 1)
    least = min(after.other for after in links)
    total = sum(after.own for after in links) + leaf
    return Umigame(least, min(total, MOST_LINES))
