"""Searching again what a book knows already: deepen and correct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.engine.limits import level_limits

from .book import Book
from .errors import within
from .jobs import Job, Outcome, Stopped, Task, Worker
from .record import MAX_LEVEL, PASS, Entry

_STEP = 1 << 12


def deepen(book: Book, worker: Worker, level: int) -> Outcome:
    """Search again, at ``level``, every leaf that would be searched deeper or surer so, and raise its position's
    level. Human scores stay. Raises OutOfRange."""
    within("level", level, 0, MAX_LEVEL)
    job = Job(book, worker, f"deepen {level}")

    def tasks() -> Iterator[Task]:
        for row in range(len(book)):
            if row % _STEP == 0:
                job.tell(row, len(book), "scan")
            entry = book.table.entry(row)
            if not entry.has_leaf or entry.leaf_level >= level:
                continue
            if level_limits(level, entry.empties) != level_limits(max(entry.leaf_level, 0), entry.empties):
                task = job.leaf_task(row, level)
                if task is not None:
                    yield task

    try:
        job.rounds = 1
        job.complete()
        found = list(tasks())
        job.search(found, len(found), raise_level=True)
        finished = True
    except Stopped:
        finished = False
    job.negamax()
    return Outcome(finished, job.rounds, job.searches, job.added)


class Correction(NamedTuple):
    """A solved leaf that a new search sees otherwise."""

    entry: Entry
    move: int
    score: int


def correct(book: Book, worker: Worker) -> tuple[Outcome, list[Correction]]:
    """Solve every exactly solved leaf again; answers which scores were wrong, as they were before."""
    job = Job(book, worker, "correct")
    wrong: list[Correction] = []
    try:
        job.rounds = 1
        tasks = _solved(job)
        before = {task.row: entry for task, entry in tasks}
        for done, (task, answer) in enumerate(worker.run([task for task, _ in tasks])):
            if answer is None:
                raise Stopped
            move, score = answer
            if task.passed:
                move, score = PASS, -score
            entry = before[task.row]
            if score != entry.leaf_score:
                wrong.append(Correction(entry, move, score))
                book.put(entry._replace(leaf_move=move, leaf_score=score))
            job.searches += 1
            job.tell(done + 1, len(tasks))
        finished = True
    except Stopped:
        finished = False
    job.negamax()
    return Outcome(finished, job.rounds, job.searches, 0), wrong


def _solved(job: Job) -> list[tuple[Task, Entry]]:
    """The searches of all exactly solved leaves, each with its position."""
    book = job.book
    found = []
    for row in range(len(book)):
        if row % _STEP == 0:
            job.tell(row, len(book), "scan")
        entry = book.table.entry(row)
        if entry.has_leaf:
            level = min(max(entry.leaf_level, 0), MAX_LEVEL)
            limits = level_limits(level, entry.empties)
            if limits.depth == entry.empties and limits.selectivity == 100:
                task = job.leaf_task(row, level)
                if task is not None:
                    found.append((task, entry))
    return found
