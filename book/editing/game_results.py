"""Game results of each position, seen from its side to move, and learning from lost games (AI Factory's method).

Results are weights, not whole numbers, because learning scales them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import Records, Rows
from desdaemon.book.errors import within
from desdaemon.book.games import COUNTS_WITHOUT_GAMES, Games, moves_of, packed, played, squares_of, unpacked, without
from desdaemon.book.layout import TALLY_POSITIONS
from desdaemon.book.progress import ProgressCallback, no_progress, slices
from desdaemon.book.record import RESULT

Weights: TypeAlias = npt.NDArray[np.float64]

SHRINK = 0.8
"""The loser's count of won games is multiplied by this in the last position of a lost game, by less in earlier ones."""

GROW = 1.2
"""Factor of the loser's lost games at the end of a lost line."""

_OUTCOMES = ("won", "drawn", "lost")
_GAMES = 1 << 10
_ROUNDING = 1e-9


class Tally(NamedTuple):
    """The results of some games, added up for each of ``rows``: a `RESULT` record for the side to move in its position.

    Learning multiplies the position's won and lost games, these results included, by the factors ``won`` and ``lost``.
    """

    rows: Rows
    results: Records
    won: Weights
    lost: Weights

    def at(self, here: npt.NDArray[np.bool_]) -> Tally:
        """Return the rows of the tally that the mask ``here`` selects."""
        return Tally(self.rows[here], self.results[here], self.won[here], self.lost[here])


def tally(book: Book, games: Games, progress: ProgressCallback = no_progress) -> Tally:
    """Return the results of ``games`` added up for each of their positions in the book."""
    counts = book.known_counts()
    least = int(np.flatnonzero(counts.kinds[TALLY_POSITIONS])[0]) if counts is not None and len(book) else 0
    parts = [np.empty(0, np.int64)]
    shares = [np.empty(0, np.float64)]
    starts = games["player"].tolist(), games["opponent"].tolist()
    lines = list(zip(*starts, moves_of(games), strict=True))
    for start, end in slices(len(games), _GAMES, "results", progress):
        replayed = [book.table.replay(*line, least)[0] for line in lines[start:end]]
        lengths = [len(positions) for positions in replayed]
        # After an even number of plies the first mover is to move.
        first = 1 - np.sign(games["score"][start:end].astype(np.int64))
        plies = np.concatenate([np.arange(length) for length in lengths])
        own = np.repeat(first, lengths)
        own = np.where(plies % 2, 2 - own, own)
        rows = book.table.find_many(np.concatenate(replayed))
        learned = np.repeat(games["learned"][start:end] & 1, lengths)
        parts.append((3 * rows + own)[rows >= 0])
        shares.append((learned * _shares(rows, lengths))[rows >= 0])
    outcomes, share = np.concatenate(parts), np.concatenate(shares)
    rows, places = np.unique(outcomes // 3, return_inverse=True)
    results = np.zeros(len(rows), RESULT)
    for outcome, name in enumerate(_OUTCOMES):
        results[name] = np.bincount(places[outcomes % 3 == outcome], minlength=len(rows))
    won, lost = (np.bincount(places[here], share[here], len(rows)) for here in (outcomes % 3 == 0, outcomes % 3 == 2))
    return Tally(rows, results, GROW**won * SHRINK**lost, SHRINK**won * GROW**lost)


def _shares(rows: Rows, lengths: list[int]) -> Weights:
    """Return the share of a lost game's penalty, 0..1, at each position of some games, one game after another.

    It rises evenly from 0 at the start to 1 at the line's last position in the book, so that the penalty reaches the
    opening in a book of any depth. ``rows`` has the positions' rows, -1 for those not in the book; ``lengths`` has each
    game's number of positions.
    """
    shares = []
    for game in np.split(rows, np.cumsum(lengths)[:-1]):
        inside = np.flatnonzero(game >= 0)
        last = int(inside[-1]) if len(inside) else 0
        shares.append(np.arange(len(game)) / last if last else np.ones(len(game)))
    return np.concatenate(shares)


def adjust(book: Book, positions: Sequence[tuple[int, int]], loser: int) -> int:
    """Make the line of a lost game less attractive to its loser. Returns the number of changed positions.

    ``loser`` is 0 for the side to move in the first of ``positions``, 1 for the other; passes are positions too. At the
    last position in the book the loser's won games are scaled by `SHRINK` and its lost games by `GROW`, at earlier
    positions by less. A weight never becomes 0, so that a line can be chosen again. Raises `OutOfRange` for another
    ``loser``.
    """
    within("loser", loser, 0, 1)
    line = tally(book, live_game(positions, 1 if loser else -1, "", learned=True))
    old = book.table.results_of(line.rows)
    new = old.copy()
    new["won"] *= line.won
    new["lost"] *= line.lost
    changed = np.flatnonzero(new != old)
    if len(changed):
        book.store_results(line.rows[changed], new[changed])
    return len(changed)


def count(book: Book, games: Games, *, all_games: bool = False, progress: ProgressCallback = no_progress) -> int:
    """Count ``games``, none of which the book has counted yet, in one step for the journal. Returns the number of their
    positions in the book.

    After all are counted, games with the mark ``learned`` make their lines less attractive to their losers, so that the
    order of games does not matter. With ``all_games``, a position without any results also gets the results of games
    counted earlier. A cancellation changes nothing.
    """
    counted_games = book.games
    new = tally(book, games, progress)
    parts = [new]
    if all_games and len(counted_games):
        old = tally(book, counted_games, progress)
        parts.insert(0, old.at(_sums(book.table.results_of(old.rows)) == 0))
    if not len(games) and not any(len(part.rows) for part in parts):
        return 0
    if len(games) and not len(counted_games) and len(_counted_rows(book)):
        games = np.concatenate([COUNTS_WITHOUT_GAMES, games])
    with book.together():
        book.list_games(games)
        for part in parts:
            results = book.table.results_of(part.rows)
            for name in _OUTCOMES:
                np.add(results[name], part.results[name], out=results[name])
            results["won"] *= part.won
            results["lost"] *= part.lost
            book.store_results(part.rows, results)
    return len(new.rows)


def take_back(book: Book, games: Games, progress: ProgressCallback = no_progress) -> None:
    """Take back the results of counted games, and what was learned from them, in one step for the journal. A result
    that no counted game has any more is 0, and one that some have is not, whatever `adjust` made of them.

    A cancellation changes nothing.
    """
    gone = tally(book, games, progress)
    rows, results = _without(book, gone)
    kept = without(book.games, games["identity"].tolist())
    if len(played(kept)) == len(kept):
        others = tally(book, kept, progress)
        left = np.zeros(len(rows), RESULT)
        left[np.isin(rows, others.rows)] = others.results[np.isin(others.rows, rows)]
        before = book.table.results_of(rows)
        for name in _OUTCOMES:
            share = left[name] / np.maximum(left[name] + gone.results[name], 1)
            spent = results[name] == 0
            results[name] = np.where(left[name] == 0, 0.0, np.where(spent, before[name] * share, results[name]))
    with book.together():
        book.unlist_games(games)
        book.store_results(rows, results)
    if book.by_hand.adjusted:
        book.by_hand = book.by_hand._replace(adjusted=())


def _without(book: Book, gone: Tally) -> tuple[Rows, Records]:
    """Return the rows of the tally ``gone``, and the book's results of these rows after the tally is subtracted."""
    results = book.table.results_of(gone.rows)
    results["won"] /= gone.won
    results["lost"] /= gone.lost
    for name in _OUTCOMES:
        # What is left by a rounding error counts as nothing.
        left: Weights = np.subtract(results[name], gone.results[name])
        results[name] = np.where(left > _ROUNDING, left, 0.0)
    return gone.rows, results


def _sums(results: Records) -> Weights:
    """Return the number of games of each `RESULT` record."""
    return np.sum([results[name] for name in _OUTCOMES], axis=0)  # type: ignore[no-any-return]


def _counted_rows(book: Book) -> Rows:
    """Return the rows that have results of games."""
    if not book.table.keeps_results:
        return np.empty(0, np.int64)
    return np.flatnonzero(_sums(book.table.results_of(np.arange(len(book)))))


def counts_without_games(book: Book, progress: ProgressCallback = no_progress) -> tuple[Rows, Records]:
    """Return the rows with results that do not come from the book's listed games, and these results.

    Without listed games these are all results; if every result comes from a listed game there are none.
    """
    rows = _counted_rows(book)
    results = book.table.results_of(rows)
    if not len(book.games):
        return rows, results
    listed = played(book.games)
    if len(listed) < len(book.games):
        counted, rest = _without(book, tally(book, listed, progress))
        results[np.isin(rows, counted)] = rest[np.isin(counted, rows)]
        some = _sums(results) > 0
        return rows[some], results[some]
    return rows[:0], results[:0]


def live_game(
    positions: Sequence[tuple[int, int]], score: int, source: str, identity: bytes = b"", *, learned: bool
) -> Games:
    """Return the record of a game that was just played; it differs from every other game, even one of the same moves.
    ``identity``, 16 bytes, is made up unless given.

    ``positions`` run from the start of the game on, each seen from the side to move, so that sides alternate and passes
    are positions too; ``score`` is the final score in discs for the first mover. Raises `OutOfRange` for a score
    outside -64..64.
    """
    within("final score", score, -64, 64)
    return unpacked(
        packed(identity or secrets.token_bytes(16), positions[0], squares_of(positions), score, source, learned=learned)
    )
