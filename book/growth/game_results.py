"""The results of games through each position, and learning from lost ones (AI Factory's method).

Results are weights, not whole numbers: a lost game scales them. They are kept for the side to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.errors import within

SHRINK = 0.8
"""What the wins of the loser are multiplied by at the end of a lost line."""

GROW = 1.2
"""What its losses are multiplied by there."""


class Results(NamedTuple):
    """Games won, drawn and lost by one side: weights, see the module."""

    won: float
    drawn: float
    lost: float

    @property
    def games(self) -> float:
        """All of them."""
        return self.won + self.drawn + self.lost

    def __str__(self) -> str:
        """``12 won, 3 drawn, 5.2 lost``."""
        return f"{weight_text(self.won)} won, {weight_text(self.drawn)} drawn, {weight_text(self.lost)} lost"


def weight_text(weight: float) -> str:
    """A weight as text: whole numbers as they are, others with a decimal."""
    return f"{weight:.1f}".removesuffix(".0")


def results_of(book: Book, row: int) -> Results:
    """The games through a row's position, seen by the side to move; none without a row, -1."""
    return Results(*book.table.results(row)) if row >= 0 else Results(0.0, 0.0, 0.0)


def add_result(book: Book, positions: Sequence[tuple[int, int]], score: int) -> int:
    """Count a game for every position of it in the book. Returns their number.

    ``positions`` run from the start of the game on, each seen by the side to move, alternating (passes included);
    ``score`` is the final score in discs for the side to move in the first of them. Raises OutOfRange.
    """
    within("final score", score, -64, 64)
    counted = 0
    for ply, (player, opponent) in enumerate(positions):
        row = book.table.find(player, opponent)
        if row < 0:
            continue
        own = score if ply % 2 == 0 else -score
        won, drawn, lost = book.table.results(row)
        book.set_results(row, (won + (own > 0), drawn + (own == 0), lost + (own < 0)))
        counted += 1
    return counted


def weight(ply: int, last: int) -> float:
    """The share of a lost game's penalty for the position after ``ply`` moves, ``last`` being the line's last
    position in the book: 0 at the start, 1 there, rising evenly, so that it is felt in the opening of any book."""
    return ply / last if last else 1.0


def _line(book: Book, positions: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ply and row of those positions of a game that are in the book."""
    found = ((ply, book.table.find(*position)) for ply, position in enumerate(positions))
    return [(ply, row) for ply, row in found if row >= 0]


def adjust(book: Book, positions: Sequence[tuple[int, int]], loser: int) -> int:
    """Make the line of a lost game less attractive to its loser. Returns the number of changed positions.

    ``loser`` is 0 for the side to move in the first of ``positions``, 1 for the other. In the last position in the book
    the loser's wins are scaled by `SHRINK` and its losses by `GROW`, in earlier ones by less (`weight`). A weight never
    becomes 0, so that a line can be chosen again. Raises OutOfRange.
    """
    within("loser", loser, 0, 1)
    changed = 0
    line = _line(book, positions)
    for ply, row in line:
        won, drawn, lost = book.table.results(row)
        if not (won or lost):
            continue
        share = weight(ply, line[-1][0])
        if ply % 2 == loser:
            scaled = won * SHRINK**share, drawn, lost * GROW**share
        else:
            scaled = won * GROW**share, drawn, lost * SHRINK**share
        if scaled != (won, drawn, lost):
            book.set_results(row, scaled)
            changed += 1
    return changed


def learn_result(book: Book, positions: Sequence[tuple[int, int]], score: int, *, adjusting: bool) -> int:
    """Count a game (see `add_result`), and with ``adjusting`` make its line less attractive to its loser, in one step
    for the journal. Returns the number of positions that counted it.
    """
    with book.together():
        counted = add_result(book, positions, score)
        if adjusting and score:
            adjust(book, positions, 0 if score < 0 else 1)
    return counted
