"""Lists of learning steps, and the recipes that Egaroucid's author recommends.

A schedule is a text of steps, one a line, done in order: ``learn depth per-move cumulative leaf level``. Blank lines
and text after a # are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.editing.rounds import CommandOutcome, Position, Worker
from desdaemon.book.errors import within
from desdaemon.book.layout import MAX_LEVEL

from .learn import MAX_LEARNING_DEPTH, NO_LIMIT, Window, learn


class LearningStep(NamedTuple):
    """The settings of a run of `learn.learn`: window, leaf error in discs, and level of the searches."""

    window: Window
    leaf_error: int
    level: int

    def __str__(self) -> str:
        return (
            f"learn {self.window.depth} {self.window.per_move} {self.window.cumulative} {self.leaf_error} {self.level}"
        )


def parse(text: str) -> list[LearningStep]:
    """Return the steps in a schedule's text. Raises ValueError and `OutOfRange`, which name the line."""
    steps = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] != "learn" or len(words) != 6:
            raise ValueError(f"line {number}: expected 'learn depth per-move cumulative leaf level'")
        try:
            depth, per_move, cumulative, leaf, level = map(int, words[1:])
        except ValueError:
            raise ValueError(f"line {number}: the five settings are whole numbers") from None
        where = f"line {number}: "
        within(where + "depth", depth, 0, MAX_LEARNING_DEPTH)
        within(where + "error per move", per_move, 0, NO_LIMIT)
        within(where + "cumulative error", cumulative, 0, NO_LIMIT)
        within(where + "leaf error", leaf, 0, NO_LIMIT)
        within(where + "level", level, 1, MAX_LEVEL)
        steps.append(LearningStep(Window(depth, per_move, cumulative), leaf, level))
    return steps


def run(book: Book, root: Position, steps: Iterable[LearningStep], worker: Worker) -> list[CommandOutcome]:
    """Run steps in order from ``root`` until one is cancelled. Returns the outcome of each.

    A second run with the same root and steps begins with the step that was cancelled; the outcomes of the steps before
    it are then empty. Raises as `learn` does.
    """
    steps = list(steps)
    name = ",".join(map(str, (*book.table.canonical(*root)[:2], *steps)))
    number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    done = book.steps.get(number, 0)
    outcomes = [CommandOutcome(True, 0, 0, 0, len(book))] * done
    for step in steps[done:]:
        worker.step = f"step {done + 1} of {len(steps)}: {step}"
        outcomes.append(learn(book, root, worker, step.window, step.leaf_error, step.level))
        if not outcomes[-1].finished:
            return outcomes
        done += 1
        book.step(number, done)
    if done:
        book.step(number, 0)
    return outcomes


RECIPES = {
    "accurate-32": """\
# Broad first, then narrow and deep. Grade A: level 30 solves 28 empties, as level 27 of Egaroucid's does.
learn 31 4 4 4 19
learn 31 4 4 0 19
learn 32 0 0 2 30
""",
    "fast-32": """\
# Grade C: level 21 reads 28 empties to the end at 87 %.
learn 31 4 4 4 17
learn 32 1 1 2 21
""",
    "deep-40": """\
# Grade A: level 21 solves 24 empties, so that play is perfect from move 36 on.
learn 30 3 3 3 8
learn 36 2 2 2 9
learn 40 1 1 1 21
""",
}
"""Texts of schedules, by name."""
