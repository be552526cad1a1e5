"""Two books: merging one into the other, and telling how they differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .book import Book
from .links import Progress
from .record import HUMAN, NO_LEVEL, Entry
from .table import CHUNK_BITS, CHUNK_ROWS

_STEP = 1 << 12


class Conflict(NamedTuple):
    """A position that both books know with different scores: which was kept."""

    player: int
    opponent: int
    ours: int
    theirs: int
    kept: int


class Merged(NamedTuple):
    """What a merge did: positions added, replaced and left alone; ``conflicts`` among the known ones.

    ``finished`` is False after a stop: the rest of the other book has not been looked at.
    """

    added: int
    replaced: int
    kept: int
    conflicts: list[Conflict]
    finished: bool = True


def better(ours: Entry, theirs: Entry, *, keep_ours: bool = False) -> Entry:
    """Which of two entries of one position is kept, leaf and score taken separately.

    A human's score stands before every other, ours before theirs. Then the higher level wins, ours when they are
    equal. With ``keep_ours`` only what we do not have is taken.
    """
    if keep_ours:
        return ours
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


def _known(book: Book, row: int, theirs: Entry, keep_ours: bool, conflicts: list[Conflict]) -> bool:
    """Give the position in ``row`` what is better in ``theirs``; whether that changed it."""
    ours = book.table.entry(row)
    entry = better(ours, theirs, keep_ours=keep_ours)
    if ours.score != theirs.score and min(ours.level, theirs.level) > NO_LEVEL:
        conflicts.append(Conflict(theirs.player, theirs.opponent, ours.score, theirs.score, entry.score))
    if entry != ours:
        book.put(entry)
    return entry != ours


_CONTENT = ("score", "level", "leaf_move", "leaf_score", "leaf_level")


def merge(book: Book, other: Book, *, keep_ours: bool = False, progress: Progress | None = None) -> Merged:
    """Take every position of ``other`` into ``book``, the better entry of those that both have; then negamax.

    Leaves that became links are dropped; some may be open afterwards (`add.fix` searches them). Game results are
    added up, at the end: a merge that ``progress`` stopped adds none.
    """
    replaced = kept = 0
    finished = True
    before = len(book)
    conflicts: list[Conflict] = []
    for number, chunk in enumerate(other.table.chunks()):
        rows = book.table.find_many(np.stack([chunk["player"], chunk["opponent"]], axis=1))
        book.put_new(chunk[rows < 0])
        for place in np.flatnonzero(rows >= 0).tolist():
            row = int(rows[place])
            mine = book.table.chunk(row >> CHUNK_BITS)[row & CHUNK_ROWS - 1]
            if all(mine[name] == chunk[place][name] for name in _CONTENT):
                kept += 1
                continue
            theirs = other.table.entry(number * CHUNK_ROWS + place)
            changed = _known(book, row, theirs, keep_ours, conflicts)
            replaced += changed
            kept += not changed
        if progress is not None and not progress(min(len(other), (number + 1) * CHUNK_ROWS), len(other)):
            finished = False
            break
    if finished and other.table.keeps_results:
        _add_results(book, other)
    added = len(book) - before
    book.negamax()
    return Merged(added, replaced, kept, conflicts, finished)


def _add_results(book: Book, other: Book) -> None:
    for number in range(len(other)):
        results = other.table.results(number)
        if any(results):
            entry = other.table.entry(number)
            row = book.table.find_canonical(entry.player, entry.opponent)
            won, drawn, lost = book.table.results(row)
            book.set_results(row, (won + results[0], drawn + results[1], lost + results[2]))


class Difference(NamedTuple):
    """A position that two books know differently; None where a book does not have it."""

    first: Entry | None
    second: Entry | None


class Differences(NamedTuple):
    """How two books differ: counts, and the positions of different score, by falling difference (at most some)."""

    only_first: int
    only_second: int
    other_score: int
    other_leaf: int
    other_level: int
    same: int
    examples: list[Difference]


def diff(first: Book, second: Book, *, examples: int = 20, progress: Progress | None = None) -> Differences | None:
    """Compare two books position by position; neither is changed. None when ``progress`` asked to stop."""
    only_first = other_score = other_leaf = other_level = same = 0
    found: list[Difference] = []
    for row in range(len(first)):
        if progress is not None and row % _STEP == 0 and not progress(row, len(first)):
            return None
        mine = first.table.entry(row)
        place = second.table.find_canonical(mine.player, mine.opponent)
        if place < 0:
            only_first += 1
            continue
        theirs = second.table.entry(place)
        if mine.score != theirs.score:
            other_score += 1
            found.append(Difference(mine, theirs))
        leaf = mine[10:12] != theirs[10:12]
        other_leaf += leaf
        other_level += mine.level != theirs.level
        same += mine.score == theirs.score and not leaf and mine.level == theirs.level
    only_second = len(second) - (len(first) - only_first)

    def gap(difference: Difference) -> int:
        assert difference.first is not None
        assert difference.second is not None
        return -abs(difference.first.score - difference.second.score)

    found.sort(key=gap)
    return Differences(only_first, only_second, other_score, other_leaf, other_level, same, found[:examples])
