"""Making a book smaller: Edax's prune and subtree, and a smaller depth.

A link that a position loses becomes its leaf if it is better than the present leaf, so that no score is lost.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.errors import NotInBook, within
from desdaemon.book.layout import OPEN
from desdaemon.book.negamax import reach
from desdaemon.book.options import MAX_DEPTH
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import START, empty_squares

Marks: TypeAlias = npt.NDArray[np.uint8]


class Shrunk(NamedTuple):
    """Numbers of positions ``removed``, of ``leaves`` that were links, and of ``open`` positions that now lack a leaf
    though a move leads out of the book.
    """

    removed: int
    leaves: int
    open: int


OUTSIDE = "the position is not in the book (book store adds the game that led to it)"


def root_row(book: Book, position: tuple[int, int]) -> int:
    """Return the row of a position in any orientation. Raises `NotInBook`."""
    row = book.table.find(*position)
    if row < 0:
        raise NotInBook(OUTSIDE)
    return row


def keep_only(book: Book, keep: npt.NDArray[np.bool_], progress: ProgressCallback = no_progress) -> Shrunk:
    """Remove every row that is not marked in ``keep``, then run negamax."""
    removed = book.remove(~keep, progress)
    book.negamax(progress=progress)
    faults = book.faults_among(removed.rows, progress)
    return Shrunk(removed.positions, removed.leaves, int(np.count_nonzero(faults[:, 1] == OPEN)))


def prune_marks(book: Book, progress: ProgressCallback = no_progress) -> Marks:
    """Return a mark for each row: which sides can reach its position from the initial one by playing only best moves.

    1: the side to move in the position, 2: the other side, 3: each of them, 0: none. The opponent may play any moves.

    Raises `NotInBook` without the initial position.
    """
    start = book.table.find(*START)
    if start < 0:
        raise NotInBook("the initial position is not in the book")
    return reach(book.table, {start: 3}, best_only=True, progress=progress)


def prune(book: Book, progress: ProgressCallback = no_progress) -> Shrunk:
    """Keep only positions that are reached while at least one side always plays a best move.

    Positions that the initial position does not reach are removed too, as in Edax. Raises `NotInBook` if it is missing.
    """
    return keep_only(book, prune_marks(book, progress) != 0, progress)


def subtree(book: Book, root: tuple[int, int], progress: ProgressCallback = no_progress) -> Shrunk:
    """Keep only ``root`` and its descendants. Raises `NotInBook`."""
    marks = reach(book.table, {root_row(book, root): 1}, progress=progress)
    return keep_only(book, marks != 0, progress)


def cut(book: Book, depth: int, progress: ProgressCallback = no_progress) -> Shrunk:
    """Remove every position deeper than ``depth`` moves, and make that the book's depth.

    Scores stay: a removed position's score becomes the leaf of its parent if it was the best. Raises `OutOfRange`.
    """
    within("depth", depth, 0, MAX_DEPTH)
    keep = np.empty(len(book), bool)
    for number, chunk in enumerate(book.table.chunks()):
        keep[number * CHUNK_ROWS :][: len(chunk)] = empty_squares(chunk) >= 60 - depth
        progress("scan", number * CHUNK_ROWS, len(book))
    shrunk = keep_only(book, keep, progress)
    book.options = book.options.at_depth(depth)
    return shrunk


def delete(
    book: Book, position: tuple[int, int], move: int | None = None, progress: ProgressCallback = no_progress
) -> Shrunk:
    """Remove ``position``, or the position after the legal ``move`` from it; descendants stay. Raises `NotInBook`."""
    if move is not None:
        position = book.table.play(*position, move)
    book.table.need_all()
    keep = np.ones(len(book), bool)
    keep[root_row(book, position)] = False
    return keep_only(book, keep, progress)
