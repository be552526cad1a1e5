"""Merging one book into another, and the differences of two books."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS, Records, Rows
from desdaemon.book.editing.game_results import count, counts_without_games
from desdaemon.book.games import new_games, played, results_merged
from desdaemon.book.layout import EGAROUCID_LEVELS, HUMAN, NO_LEVEL
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.readings import in_scale
from desdaemon.book.record import PositionEntry, have_leaf

CONFLICTS = 1000
"""Most conflicts that `Merged` lists."""


class Conflict(NamedTuple):
    """A position with different scores in two books, and the score that was kept; scores are discs for ``player``."""

    player: int
    opponent: int
    ours: int
    theirs: int
    kept: int


class Merged(NamedTuple):
    """The result of a merge: numbers of positions added, replaced and kept.

    ``conflicting`` positions have different scores, of known level, in the two books; ``conflicts`` lists the first
    `CONFLICTS` of them. ``counted`` games are new, ``known`` ones had been counted. ``without_games`` positions got
    results that the other book has from games that it did not list.
    """

    added: int
    replaced: int
    kept: int
    conflicts: list[Conflict]
    conflicting: int
    counted: int
    known: int
    without_games: int


def better(ours: PositionEntry, theirs: PositionEntry, *, keep_ours: bool = False) -> PositionEntry:
    """Return the entry to keep of two for one position; leaf and score are chosen separately.

    A score set by hand ranks above every other, ours above theirs; then the higher level, ours if they are equal.
    Levels of different scales are first brought to ours (`in_scale`). With ``keep_ours`` ours is returned as it is.
    """
    if keep_ours:
        return ours
    if (ours.flags ^ theirs.flags) & EGAROUCID_LEVELS:
        ours, theirs = in_scale(ours), in_scale(theirs)
    merged = ours
    if not ours.human and (theirs.human or theirs.level > ours.level):
        merged = merged._replace(
            score=theirs.score,
            lower=theirs.lower,
            upper=theirs.upper,
            level=theirs.level,
            flags=ours.flags & ~HUMAN | theirs.flags & HUMAN,
        )
    if theirs.has_leaf and (not ours.has_leaf or theirs.leaf_level > ours.leaf_level):
        merged = merged._replace(leaf_move=theirs.leaf_move, leaf_score=theirs.leaf_score, leaf_level=theirs.leaf_level)
    return merged


_CONTENT = ("score", "level", "leaf_move", "leaf_score", "leaf_level")


def merge(
    book: Book, other: Book, *, keep_ours: bool = False, threads: int = 1, progress: ProgressCallback = no_progress
) -> Merged:
    """Add every position of ``other`` to ``book``, then run negamax on ``threads`` threads. A position of both gets the
    `better` entry; with ``keep_ours`` it keeps that of ``book``.

    Leaves that became links are dropped, and such leaves of ``other`` not taken, so that leaves can be open afterwards:
    `add.fix` searches them. A cancellation keeps the positions merged so far. Game results are added last, so a merge
    that is repeated after a cancellation adds them only once.
    """
    replaced = conflicting = 0
    size = len(book)
    conflicts: list[Conflict] = []

    def without_linked_leaf(entry: PositionEntry) -> PositionEntry:
        """Return the entry without a leaf whose move is a link here: negamax drops such leaves."""
        linked = entry.has_leaf and book.table.find(*book.table.play(*entry[:2], entry.leaf_move)) >= 0
        return entry.without_leaf() if linked else entry

    # First all positions: which leaves become links decides which leaf is kept, and a second merge must find the same.
    for number, chunk in enumerate(other.table.chunks()):
        book.put_new(chunk[book.table.rows_of(chunk) < 0])
        progress("add", number * CHUNK_ROWS + len(chunk), len(other))
    added = len(book) - size
    for number, chunk in enumerate(other.table.chunks()):
        first = number * CHUNK_ROWS
        rows = book.table.rows_of(chunk)
        mine = book.table.records(rows)
        differ = np.zeros(len(chunk), bool)
        for name in _CONTENT:
            differ |= np.not_equal(mine[name], chunk[name])
        for place in np.flatnonzero(differ).tolist():
            ours, theirs = book.table.entry(int(rows[place])), other.table.entry(first + place)
            own = ours if keep_ours else without_linked_leaf(ours)
            chosen = better(own, without_linked_leaf(theirs), keep_ours=keep_ours)
            if ours.score != theirs.score and min(ours.level, theirs.level) > NO_LEVEL:
                conflicting += 1
                if len(conflicts) < CONFLICTS:
                    conflicts.append(Conflict(ours.player, ours.opponent, ours.score, theirs.score, chosen.score))
            if chosen != own:
                book.put(chosen)
                replaced += 1
        progress("merge", first + len(chunk), len(other))
    kept = len(other) - added - replaced
    book.negamax(threads=threads, progress=progress)
    return Merged(added, replaced, kept, conflicts, conflicting, *_add_results(book, other, progress))


def _add_results(book: Book, other: Book, progress: ProgressCallback) -> tuple[int, int, int]:
    """Count the games of the other book that are new, and add its results that belong to no listed game, unless these
    very results were added before.

    Returns the number of games counted now, of games counted before, and of positions with such results.
    """
    own = played(other.games)
    fresh = new_games(own, book.games)
    theirs, extra = counts_without_games(other, progress)
    keys = other.table.records(theirs)
    mark = new_games(results_merged(keys, extra), book.games)
    rows = book.table.rows_of(keys) if len(mark) else theirs[:0]
    with book.together():
        count(book, fresh, all_games=True, progress=progress)
        if len(rows):
            results = book.table.results_of(rows)
            for name in results.dtype.names or ():
                np.add(results[name], extra[name], out=results[name])
            book.store_results(rows, results)
            book.list_games(mark)
    return len(fresh), len(own) - len(fresh), len(rows)


class Difference(NamedTuple):
    """The entries of one position in two books."""

    first: PositionEntry
    second: PositionEntry


class Differences(NamedTuple):
    """The differences of two books: numbers of positions only in one, with another score, leaf or level, or the same.

    A position with several differences counts for each. ``examples`` have the largest differences of score first.
    """

    only_first: int
    only_second: int
    other_score: int
    other_leaf: int
    other_level: int
    same: int
    examples: list[Difference]


def _leaves(records: Records) -> npt.NDArray[np.int64]:
    """Return each leaf's move and score as one number, -1 if there is no leaf."""
    moves: npt.NDArray[np.int64] = records["leaf_move"].astype(np.int64)
    scores: npt.NDArray[np.uint8] = records["leaf_score"].view(np.uint8)
    return np.where(have_leaf(records), moves << 8 | scores, -1)


def diff(first: Book, second: Book, *, examples: int = 20, progress: ProgressCallback = no_progress) -> Differences:
    """Compare two books position by position; neither is changed. At most ``examples`` positions are listed."""
    only_first = other_score = other_leaf = other_level = same = 0
    widest = np.empty((0, 3), np.int64)
    for number, chunk in enumerate(first.table.chunks()):
        first_row = number * CHUNK_ROWS
        places = second.table.rows_of(chunk)
        in_both = np.flatnonzero(places >= 0)
        mine, theirs = chunk[in_both], second.table.records(places[in_both])
        score: Rows = mine["score"].astype(np.int64)
        other: Rows = theirs["score"].astype(np.int64)
        gaps = np.abs(score - other)
        leaf = _leaves(mine) != _leaves(theirs)
        level = mine["level"] != theirs["level"]
        only_first += len(chunk) - len(in_both)
        other_score += int(np.count_nonzero(gaps))
        other_leaf += int(np.count_nonzero(leaf))
        other_level += int(np.count_nonzero(level))
        same += int(np.count_nonzero((gaps == 0) & ~leaf & ~level))
        widest = np.concatenate([widest, np.stack([-gaps, first_row + in_both, places[in_both]], axis=1)[gaps > 0]])
        # A stable sort, so that the first of equal differences stay.
        widest = widest[np.argsort(widest[:, 0], kind="stable")[:examples]]
        progress("diff", first_row + len(chunk), len(first))
    only_second = len(second) - (len(first) - only_first)
    listed = [Difference(first.table.entry(row), second.table.entry(place)) for _, row, place in widest.tolist()]
    return Differences(only_first, only_second, other_score, other_leaf, other_level, same, listed)
