"""The results of games through each position, and learning from lost ones (AI Factory's method).

Results are weights, not whole numbers: a lost game scales them. They are kept for the side to move.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import Records, Rows
from desdaemon.book.errors import within
from desdaemon.book.games import COUNTS_WITHOUT_GAMES, Games, moves_of, packed, squares_of, unpacked, without
from desdaemon.book.layout import TALLY_POSITIONS
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import RESULT

Weights = npt.NDArray[np.float64]

SHRINK = 0.8
"""Factor for the loser's wins at the end of a lost line."""

GROW = 1.2
"""Factor for the loser's losses at the end of a lost line."""

_OUTCOMES = ("won", "drawn", "lost")
_GAMES = 1 << 10
_ROUNDING = 1e-9


class Results(NamedTuple):
    """Games won, drawn and lost by one side: weights, see the module."""

    won: float
    drawn: float
    lost: float

    @property
    def games(self) -> float:
        """Games in all."""
        return self.won + self.drawn + self.lost

    def __str__(self) -> str:
        """``12 won, 3 drawn, 5.2 lost``."""
        return f"{weight_text(self.won)} won, {weight_text(self.drawn)} drawn, {weight_text(self.lost)} lost"


def weight_text(weight: float) -> str:
    """Return a weight as text: whole numbers as they are, others with a decimal."""
    return f"{weight:.1f}".removesuffix(".0")


def results_of(book: Book, row: int) -> Results:
    """Return the games through a row's position, seen by the side to move; none without a row, -1."""
    return Results(*book.table.results(row)) if row >= 0 else Results(0.0, 0.0, 0.0)


def weight(ply: int, last: int) -> float:
    """Return the part of a lost game's penalty that applies after ``ply`` moves: 0 at the start, rising evenly to 1 at
    ``last``, the line's last position in the book. So the opening feels it in a book of any depth.
    """
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


class Tally(NamedTuple):
    """The positions of some games by row, the `RESULT` records of these games, and the factors that games learned from
    apply to the wins and losses there.
    """

    rows: Rows
    results: Records
    won: Weights
    lost: Weights

    def at(self, here: npt.NDArray[np.bool_]) -> Tally:
        """Return the part of it for which the mask ``here`` is true."""
        return Tally(self.rows[here], self.results[here], self.won[here], self.lost[here])


def tally(book: Book, games: Games, progress: ProgressCallback = no_progress) -> Tally:
    """Add up the results of games for each of their positions that is in the book."""
    counts = book.known_counts()
    least = int(np.flatnonzero(counts.kinds[TALLY_POSITIONS])[0]) if counts is not None and len(book) else 0
    found = [np.empty(0, np.int64)]
    shares = [np.empty(0, np.float64)]
    starts = games["player"].tolist(), games["opponent"].tolist()
    lines = list(zip(*starts, moves_of(games), strict=True))
    for start, end in slices(len(games), _GAMES, "results", progress):
        replayed = [book.table.replay(*line, least)[0] for line in lines[start:end]]
        lengths = [len(positions) for positions in replayed]
        # A position's side to move is the first mover's after an even number of plies.
        first = 1 - np.sign(games["score"][start:end].astype(np.int64))
        plies = np.concatenate([np.arange(length) for length in lengths])
        own = np.repeat(first, lengths)
        own = np.where(plies % 2, 2 - own, own)
        rows = book.table.find_many(np.concatenate(replayed))
        learned = np.repeat(games["learned"][start:end] & 1, lengths)
        found.append((3 * rows + own)[rows >= 0])
        shares.append((learned * _shares(rows, lengths))[rows >= 0])
    outcomes, share = np.concatenate(found), np.concatenate(shares)
    rows, places = np.unique(outcomes // 3, return_inverse=True)
    results = np.zeros(len(rows), RESULT)
    for outcome, name in enumerate(_OUTCOMES):
        results[name] = np.bincount(places[outcomes % 3 == outcome], minlength=len(rows))
    won, lost = (np.bincount(places[here], share[here], len(rows)) for here in (outcomes % 3 == 0, outcomes % 3 == 2))
    return Tally(rows, results, GROW**won * SHRINK**lost, SHRINK**won * GROW**lost)


def _shares(rows: Rows, lengths: list[int]) -> Weights:
    """Return `weight` for every position of games of the given lengths; ``rows`` is -1 for positions outside
    the book.
    """
    found = []
    for game in np.split(rows, np.cumsum(lengths)[:-1]):
        known = np.flatnonzero(game >= 0)
        last = int(known[-1]) if len(known) else 0
        found.append(np.arange(len(game)) / last if last else np.ones(len(game)))
    return np.concatenate(found)


def count(book: Book, games: Games, *, all_games: bool = False, progress: ProgressCallback = no_progress) -> int:
    """Count games that the book has not counted yet, in one step for the journal. Games to learn from make their lines
    less attractive to their losers after all games were counted, so that the order of games does not matter.

    With ``all_games``, a position without any results also gets those of games counted earlier. Returns the number of
    positions with new results. A cancellation changes nothing.
    """
    before = book.games
    new = tally(book, games, progress)
    parts = [new]
    if all_games and len(before):
        old = tally(book, before, progress)
        parts.insert(0, old.at(_sums(book.table.results_of(old.rows)) == 0))
    if len(games) and not len(before) and len(_counted_rows(book)):
        games = np.concatenate([COUNTS_WITHOUT_GAMES, games])
    with book.together():
        book.list_games(games)
        for part in parts:
            results = book.table.results_of(part.rows)
            for name in _OUTCOMES:
                results[name] += part.results[name]
            results["won"] *= part.won
            results["lost"] *= part.lost
            book.store_results(part.rows, results)
    return len(new.rows)


def take_back(book: Book, games: Games, progress: ProgressCallback = no_progress) -> None:
    """Take back the results of counted games, and what was learned from them, in one step for the journal. A
    cancellation changes nothing.
    """
    rest = _without(book, tally(book, games, progress))
    with book.together():
        book.unlist_games(games)
        book.store_results(*rest)


def _without(book: Book, gone: Tally) -> tuple[Rows, Records]:
    """Return the rows of a tally and their results with the tally subtracted."""
    results = book.table.results_of(gone.rows)
    results["won"] /= gone.won
    results["lost"] /= gone.lost
    for name in _OUTCOMES:
        # Nothing is left where a rounding error is.
        left = results[name] - gone.results[name]
        results[name] = np.where(left > _ROUNDING, left, 0.0)
    return gone.rows, results


def _sums(results: Records) -> Weights:
    """Return the number of games of each record."""
    return np.sum([results[name] for name in _OUTCOMES], axis=0)  # type: ignore[no-any-return]


def _counted_rows(book: Book) -> Rows:
    """Return the rows that have results."""
    if not book.table.keeps_results:
        return np.empty(0, np.int64)
    return np.flatnonzero(_sums(book.table.results_of(np.arange(len(book)))))


def counts_without_games(book: Book, progress: ProgressCallback = no_progress) -> tuple[Rows, Records]:
    """Return the rows, and their results, that do not come from the games the book has kept."""
    rows = _counted_rows(book)
    results = book.table.results_of(rows)
    if not len(book.games):
        return rows, results
    if not len(without(COUNTS_WITHOUT_GAMES, book.games["identity"].tolist())):
        counted, rest = _without(book, tally(book, book.games, progress))
        results[np.isin(rows, counted)] = rest[np.isin(counted, rows)]
        some = _sums(results) > 0
        return rows[some], results[some]
    return rows[:0], results[:0]


def live_game(positions: Sequence[tuple[int, int]], score: int, source: str, *, learned: bool) -> Games:
    """Return the record of a game that was just played. It differs from every other game, even one of the same moves.

    ``positions`` run from the start of the game on, each seen by the side to move, alternating (passes included);
    ``score`` is the final score in discs for the side to move in the first of them. Raises OutOfRange.
    """
    within("final score", score, -64, 64)
    return unpacked(
        packed(secrets.token_bytes(16), positions[0], squares_of(positions), score, source, learned=learned)
    )
