"""Searching leaves of the book again: the commands deepen and correct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.editing.rounds import CommandOutcome, GrowthCommand, Worker
from desdaemon.book.errors import within
from desdaemon.book.layout import MAX_LEVEL, NO_LEVEL
from desdaemon.book.record import PositionEntry, empty_squares, have_leaf
from desdaemon.engine.limits import level_limits
from desdaemon.protocol.othello.selectivity import Selectivity


def deepen(book: Book, worker: Worker, level: int) -> CommandOutcome:
    """Search again every leaf that a search of ``level`` reads deeper or more reliably, and raise its position's level.

    Scores set by hand stay. Missing leaves are searched first. Raises `OutOfRange`.
    """
    within("level", level, 0, MAX_LEVEL)
    book.table.need_all()
    job = GrowthCommand(book, worker)

    def deeper(leaf_level: int, empties: int) -> bool:
        return leaf_level < level and level_limits(level, empties) != level_limits(max(leaf_level, 0), empties)

    def work() -> None:
        job.rounds = 1
        job.complete()
        tasks = [task for row in _leaves(job, deeper) if (task := job.leaf_task(row, level)) is not None]
        job.search(tasks, len(tasks), raise_level=True)

    return job.outcome(work)


def _leaves(job: GrowthCommand, wanted: Callable[[int, int], bool]) -> Iterator[int]:
    """Yield the rows that have a leaf whose level and number of empty squares ``wanted`` accepts."""
    table = np.array([[wanted(level, empties) for empties in range(61)] for level in range(NO_LEVEL, MAX_LEVEL + 1)])
    for number, chunk in enumerate(job.book.table.chunks()):
        job.progress("scan", number * CHUNK_ROWS, len(job.book))
        levels: npt.NDArray[np.int8] = chunk["leaf_level"].clip(NO_LEVEL, MAX_LEVEL)
        right = have_leaf(chunk) & table[levels - NO_LEVEL, empty_squares(chunk)]
        yield from (np.flatnonzero(right) + number * CHUNK_ROWS).tolist()


class Correction(NamedTuple):
    """A solved leaf to which a new search has given another score: its entry before, the new move and score."""

    entry: PositionEntry
    move: int
    score: int


def correct(book: Book, worker: Worker) -> tuple[CommandOutcome, list[Correction]]:
    """Solve every solved leaf again and replace those that get another score. Returns outcome and corrections."""
    book.table.need_all()
    job = GrowthCommand(book, worker)
    wrong: list[Correction] = []

    def solved(level: int, empties: int) -> bool:
        limits = level_limits(max(level, 0), empties)
        return limits.depth == empties and limits.selectivity == Selectivity.FULL

    def work() -> None:
        job.rounds = 1
        tasks = []
        for row in _leaves(job, solved):
            level = min(max(book.table.entry(row).leaf_level, 0), MAX_LEVEL)
            task = job.leaf_task(row, level)
            if task is not None:
                tasks.append(task)
        for task, move, score in job.searched(tasks, len(tasks)):
            entry = book.table.entry(task.row)
            if score != entry.leaf_score:
                wrong.append(Correction(entry, move, score))
                book.put(entry._replace(leaf_move=move, leaf_score=score))

    return job.outcome(work), wrong
