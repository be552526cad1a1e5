"""Scores that are set by hand, and taken back."""

from __future__ import annotations

import numpy as np

from desdaemon.book.book import Book, Edit
from desdaemon.book.errors import within
from desdaemon.book.layout import HUMAN, HUMAN_LEVEL, NO_SCORE, PASS
from desdaemon.book.record import PositionEntry


def edit(book: Book, player: int, opponent: int, move: int | None, score: int) -> None:
    """Set by hand the score, in discs for ``player``, of a position (``move`` None) or of the position after ``move``.

    The position is added if it is not in the book. A score set by hand outranks every level and is removed only by
    `Book.remove` and `unedit`. Other scores are `Book.stale` afterwards. Raises `OutOfRange`, and ValueError for an
    illegal move.
    """
    within("score", score, -64, 64)
    if move is not None:
        legal = book.table.moves(player, opponent)
        if not (move < PASS and legal >> move & 1):
            raise ValueError("that move is not legal there")
        player, opponent = book.table.play(player, opponent, move)
        score = -score
    p, o, _ = book.table.canonical(player, opponent)
    row = book.table.find_canonical(p, o)
    old_entry = book.table.entry(row) if row >= 0 else None
    entry = old_entry or PositionEntry(p, o)
    row = book.put(entry._replace(score=score, lower=score, upper=score, level=HUMAN_LEVEL, flags=entry.flags | HUMAN))
    above = () if old_entry else tuple(book.table.entry(parent) for parent in book.table.parents(row) or ())
    done = Edit((p, o), old_entry, above, _linked(book, p, o))
    book.by_hand = book.by_hand._replace(edits=(*book.by_hand.edits, done))


def _linked(book: Book, player: int, opponent: int) -> bool:
    """Return whether a position has a move that leads into the book."""
    return any(child >= 0 for _, child in book.table.links(player, opponent))


def unedit(book: Book, player: int, opponent: int) -> None:
    """Take back the last score that was set by hand in a position. Raises ValueError if there is none.

    If it was set since the book was opened, the earlier score is restored. A position that was not in the book before
    is removed, unless a move of it leads into the book now. Its parents then get back the leaves that it replaced,
    unless they have leaves of a higher level now.

    If it was set before the book was opened, the score is computed from leaf and links again, or needs a search if
    there are none. Scores are `Book.stale` afterwards.
    """
    p, o, _ = book.table.canonical(player, opponent)
    row = book.table.find_canonical(p, o)
    entry = book.table.entry(row) if row >= 0 else None
    if entry is None or not entry.human:
        raise ValueError("no score was set by hand there")
    last = next((done for done in reversed(book.by_hand.edits) if done.key == (p, o)), None)
    old_entry = last.before if last is not None else None
    if last is not None and old_entry is None and not _linked(book, p, o):
        book.remove(np.arange(len(book.table)) == row)
        for old in last.above:
            now = book.entry(*old[:2])
            if now is not None and old.has_leaf and old.leaf_level >= now.leaf_level:
                leaf = {"leaf_move": old.leaf_move, "leaf_score": old.leaf_score, "leaf_level": old.leaf_level}
                book.put(now._replace(**leaf))
        _forget(book, last)
        return
    score = entry.leaf_score if entry.has_leaf else NO_SCORE
    level = entry.leaf_level if entry.has_leaf else book.options.level
    bare = entry._replace(score=score, lower=score, upper=score, level=level, flags=entry.flags & ~HUMAN)
    if old_entry is not None:
        bare = bare._replace(level=old_entry.level)
    if old_entry is not None and last is not None and (old_entry.human or not last.linked):
        bare = bare._replace(score=old_entry.score, lower=old_entry.lower, upper=old_entry.upper, flags=old_entry.flags)
    book.put(bare)
    _forget(book, last)


def _forget(book: Book, edit: Edit | None) -> None:
    """Take an edit that was taken back from the book's, unless it is None, one of before the book was opened."""
    if edit is not None:
        left = [*book.by_hand.edits]
        left.remove(edit)
        book.by_hand = book.by_hand._replace(edits=tuple(left))
