"""Scores of the book, to be stored in the transposition table of a search."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import Words, address
from desdaemon.book.editing.rounds import Position
from desdaemon.book.editing.shrink import root_row
from desdaemon.book.exports import await_kernels
from desdaemon.book.layout import MAX_LEVEL, NOT_IN_BOOK
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import empty_squares
from desdaemon.engine.limits import level_limits
from desdaemon.engine.search import KnownScore
from desdaemon.protocol.othello.rules import MOST_MOVES

from .exports import SPEC, kernels

_STEP = 1 << 10

_limits = cache(level_limits)


def known_scores(
    book: Book, root: Position, most: int, progress: ProgressCallback = no_progress
) -> Iterator[KnownScore]:
    """Yield the scores of ``root`` and its descendants, nearest first, at most ``most``. Raises `NotInBook`.

    Boards are in the orientation in which moves from ``root`` lead to them. A score counts as the result of a search of
    its level. Positions without a score or without a legal move are passed over.
    """
    root_row(book, root)
    # Not under the lock: nobody looks up while a library is compiled there.
    await_kernels(progress, SPEC)
    boards: Words = np.array([root], np.uint64)
    given = 0
    while len(boards) and given < most:
        following = []
        for start in range(0, len(boards), _STEP):
            part = boards[start : start + _STEP]
            children, scores = _scores(book, part)
            following.append(children)
            for score in scores[: most - given]:
                yield score
                given += 1
            progress("scores", given, most)
            if given == most:
                return
        boards = np.unique(np.concatenate(following), axis=0)


def _scores(book: Book, boards: Words) -> tuple[Words, list[KnownScore]]:
    """Return the boards that links of ``boards`` lead to, and a `KnownScore` for each of ``boards`` that has a legal
    move and a score in the book.
    """
    table = book.table
    found: Words = np.empty(len(boards), np.uint64)
    children: Words = np.empty((MOST_MOVES * len(boards), 2), np.uint64)
    boards = np.ascontiguousarray(boards)
    with table.lock:
        count = kernels().list_scores(table.context, address(boards), len(boards), address(found), address(children))
        there = np.flatnonzero(found != np.uint64(NOT_IN_BOOK))
        records = table.records((found[there] & np.uint64(0xFFFFFFFF)).astype(np.int64))
    moves = (found[there] >> np.uint64(32)).astype(np.int64)
    scored = (moves >> 8 != 0) & (records["score"] >= -64) & (records["score"] <= 64)
    levels: npt.NDArray[np.int8] = records["level"].clip(0, MAX_LEVEL)
    empties = empty_squares(records)
    columns = boards[there, 0], boards[there, 1], moves & 0xFF, records["score"], levels, empties
    scores = [
        KnownScore(player, opponent, move, score, _limits(level, free))
        for player, opponent, move, score, level, free in zip(*(each[scored].tolist() for each in columns), strict=True)
    ]
    return children[:count], scores
