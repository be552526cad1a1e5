"""Making a book smaller: Edax's prune and subtree, and cutting its depth.

Each walks the positions once. A link that is lost becomes the leaf of its position when it is better than the leaf
that is there, so that no score is lost with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .book import Book
from .errors import NotInBook, within
from .links import reach
from .native import kernels
from .options import MAX_DEPTH
from .record import START, Entry
from .table import address

_SLICE = 1 << 15

Marks = npt.NDArray[np.uint8]


class Shrunk(NamedTuple):
    """What a command did: ``removed`` positions are gone, ``leaves`` lost links became leaves.

    ``open`` positions have an unlinked move and no leaf.
    """

    removed: int
    leaves: int
    open: int


def root_row(book: Book, position: tuple[int, int]) -> int:
    """The row of a position in any orientation. Raises NotInBook."""
    row = book.table.find(*position)
    if row < 0:
        raise NotInBook("the position is not in the book")
    return row


def _leaf_from_lost(book: Book, row: int, keep: npt.NDArray[np.bool_]) -> Entry | None:
    """The entry of ``row`` with the best of the links it loses as its leaf, None when the leaf it has is better."""
    entry = book.table.entry(row)
    best: tuple[int, int, int] | None = None
    for move, child in book.table.links(entry.player, entry.opponent):
        if child >= 0 and not keep[child]:
            lost = book.table.entry(child)
            score = -lost.score
            if -64 <= score <= 64 and (best is None or score > best[0]):
                best = score, move, lost.level
    if best is None or (entry.has_leaf and entry.leaf_score >= best[0]):
        return None
    return entry._replace(leaf_score=best[0], leaf_move=best[1], leaf_level=min(best[2], entry.level))


def keep_only(book: Book, keep: npt.NDArray[np.bool_], *, negamax: bool = True) -> Shrunk:
    """Remove every row that is not to be kept, with the leaf rule of this module; then negamax."""
    leaves = 0
    losers: Marks = np.zeros(len(book), np.uint8)
    kept = keep.astype(np.uint8)
    for start in range(0, len(book), _SLICE):
        end = min(len(book), start + _SLICE)
        kernels().list_losers(book.table.context, start, end, address(kept), address(losers))
    for row in np.flatnonzero(losers).tolist():
        changed = _leaf_from_lost(book, row, keep)
        if changed is not None:
            book.put(changed)
            leaves += 1
    removed = book.remove((~keep).astype(np.uint8))
    if negamax:
        book.negamax()
    return Shrunk(removed, leaves, len(book.faults()))


def prune_marks(book: Book, root: tuple[int, int] = START) -> Marks:
    """For each row: 1 reached with its side to move playing only best moves, 2 with the other side, 3 both, 0 neither.

    Raises NotInBook.
    """
    return reach(book.table, {root_row(book, root): 3}, best_only=True)


def prune(book: Book, root: tuple[int, int] = START) -> Shrunk:
    """Keep what can be reached while at least one side always plays a best move; remove the rest.

    Positions that the root does not reach at all go too, as with Edax. Raises NotInBook.
    """
    return keep_only(book, prune_marks(book, root) != 0)


def subtree(book: Book, root: tuple[int, int]) -> Shrunk:
    """Keep the positions that ``root`` leads to, and it. Raises NotInBook."""
    marks = reach(book.table, {root_row(book, root): 1})
    return keep_only(book, marks != 0)


def cut(book: Book, depth: int) -> Shrunk:
    """Remove every position deeper than ``depth`` moves and make it the book's depth.

    Scores stay: what a removed position was worth becomes the leaf where it was the best. Raises OutOfRange.
    """
    within("depth", depth, 0, MAX_DEPTH)
    empties = 64 - np.bitwise_count(book.table.column("player") | book.table.column("opponent")).astype(np.int64)
    shrunk = keep_only(book, empties >= 60 - depth)
    book.options = book.options.at_depth(depth)
    return shrunk


def delete(book: Book, position: tuple[int, int], move: int | None = None) -> Shrunk:
    """Remove ``position``, or the one that ``move`` leads to from it.

    Positions that only it leads to stay. Where the lost link was better than the leaf it becomes the leaf. Raises
    NotInBook.
    """
    if move is not None:
        position = book.table.play(*position, move)
    keep = np.ones(len(book), bool)
    keep[root_row(book, position)] = False
    return keep_only(book, keep)
