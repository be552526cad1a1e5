"""Egaroucid's learning with its four settings, and two commands with a window: reducing, and searching leaves again.

A walk goes from a position down the links. It may lose a number of discs with each move, against the position's score,
and a number of discs in all. A position counts with the largest budget with which any line reaches it, so that the
order of visits does not matter; Egaroucid keeps the budget of its first visit.

Results of a round's searches are remembered beside the book and go into it together at the end of the round. A stopped
command repeats its round from the remembered results, and ends with the same book.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.changes import Question
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.editing.rounds import (
    CommandOutcome,
    GrowthCommand,
    LeafTask,
    Position,
    SearchLine,
    Worker,
    leaf_task,
    leaf_without_search,
)
from desdaemon.book.editing.shrink import Shrunk, keep_only, root_row
from desdaemon.book.errors import within
from desdaemon.book.layout import (
    EGAROUCID_LEVELS,
    FINISHED,
    GUESSED,
    HUMAN,
    MAX_LEVEL,
    NO_LEVEL,
    NO_SCORE,
    PASS,
)
from desdaemon.book.negamax import LayerOrder, layer_of, reach
from desdaemon.book.progress import ProgressCallback, WorkCancelled, no_progress
from desdaemon.book.readings import in_scale, readings
from desdaemon.book.record import PositionEntry, empty_squares
from desdaemon.protocol.othello.rules import final_score

NO_LIMIT = 129
"""An error margin that stands for no limit."""

MAX_LEARNING_DEPTH = 60

_STEP = 1 << 10

R = TypeVar("R")


class Window(NamedTuple):
    """The limits of a walk: ``depth`` moves from the initial position; at most ``per_move`` discs lost by a move and
    ``cumulative`` discs by all moves of a line (`NO_LIMIT` for no limit).
    """

    depth: int
    per_move: int
    cumulative: int

    def checked(self) -> Window:
        """Return the window itself. Raises `OutOfRange` if one of its limits is out of range."""
        within("depth", self.depth, 0, MAX_LEARNING_DEPTH)
        within("error per move", self.per_move, 0, NO_LIMIT)
        within("cumulative error", self.cumulative, 0, NO_LIMIT)
        return self


class Visit(NamedTuple):
    """A position of a walk, and the number of discs that both sides together may still lose from it on."""

    row: int
    remaining: int
    own: bool
    """Whether the side to move is the one to move at the root."""


def _too_deep(entry: PositionEntry, depth: int) -> bool:
    return 64 - entry.empties >= depth + 4


def walk(book: Book, root: Position, window: Window, best_only: bool | None = None) -> Iterator[Visit]:
    """Yield the positions within a window, each as soon as its budget is known. Raises `NotInBook`.

    With ``best_only`` True the side to move at ``root`` follows only its best links (none if the leaf is better), with
    False the other side does, with None neither. A position that even and odd numbers of moves reach is yielded twice.
    """
    start = root_row(book, root)
    budgets: dict[tuple[int, bool], int] = {(start, True): window.cumulative}
    heap = [(-layer_of(book.table, start), start, True)]
    while heap:
        _, row, own = heapq.heappop(heap)
        remaining = budgets[row, own]
        yield Visit(row, remaining, own)
        entry = book.table.entry(row)
        if _too_deep(entry, window.depth):
            continue
        scored = [move for move in book.known_moves(entry) if -64 <= move.score <= 64]
        best = scored[0].score if scored else NO_SCORE
        for move in scored:
            error = max(0, entry.score - move.score)
            follows = move.linked and error <= window.per_move and error <= remaining
            if not follows or (own is best_only and move.score < best):
                continue
            left = remaining - error if window.cumulative < NO_LIMIT else remaining
            key = move.row, not own
            if key not in budgets:
                heapq.heappush(heap, (-layer_of(book.table, move.row), *key))
            budgets[key] = max(budgets.get(key, 0), left)


class RememberedRounds(GrowthCommand):
    """A command whose searches run on several threads; the book remembers their results until they are used."""

    def __init__(self, book: Book, worker: Worker) -> None:
        super().__init__(book, worker)
        self._stopping = False
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Generator[Question, tuple[int, int] | None, tuple[int, int]]:
        """Return the best move and its score in discs for the mover, by the search ``question``.

        If the book remembers an answer, it is used. Otherwise the question is yielded, and the book remembers the
        answer. Raises `WorkCancelled` if the search, or one before it, was stopped.
        """
        answer = self.book.memo.get(question)
        if answer is None:
            answer = None if self._stopping else (yield question)
            if answer is None:
                self._stopping = True
                raise WorkCancelled
            with self._lock:
                self.worker.searches += 1
                self.book.remember(question, answer)
        return answer

    def follow(self, lines: list[SearchLine[R]]) -> list[R]:
        """Run ``lines`` in parallel as `Worker.follow` does, report progress, and return their results in order.

        Raises `WorkCancelled` if the command was cancelled.
        """
        return list(self.following(lines, len(lines)))

    def following(self, lines: Iterable[SearchLine[R]], total: int) -> Iterator[R]:
        """Yield what `follow` returns, of ``total`` lines that are made as they are needed."""
        with closing(self.worker.follow(lines)) as following:
            try:
                for done, result in enumerate(following, 1):
                    yield result
                    self.progress("search", done, total)
            except BaseException:
                # Each line ends with the search that is running.
                self._stopping = True
                raise

    def seen(self, visits: Iterable[Visit]) -> Iterator[Visit]:
        """Yield the visits of a walk and report progress, which raises `WorkCancelled` if the command was cancelled."""
        for number, visit in enumerate(visits, 1):
            if number % _STEP == 0:
                self.progress("walk", number, 0)
            yield visit

    def leaf(self, task: LeafTask) -> SearchLine[tuple[int, int]]:
        """Yield the search of ``task``. Returns the leaf's move and score."""
        return task.leaf(*(yield from self.ask(task.question)))

    def finish_round(self, entries: Iterable[PositionEntry], *, forget: bool = True) -> None:
        """Add or replace entries of the book and, unless later rounds need them, drop the remembered searches, in one
        step; then run negamax.

        New entries for which the worker has no room are left out: then the command is ``full``.
        """
        with self.book.together():
            for entry in entries:
                if self.book.table.find_canonical(entry.player, entry.opponent) < 0:
                    if not self.take_room(1):
                        continue
                    self.added += 1
                self.book.put(entry)
            if forget:
                self.book.forget()
        self.negamax()


def _search_leaves(rounds: RememberedRounds, rows: list[int], level: int) -> bool:
    """Search the leaves of rows at ``level`` and store them. Returns whether any was searched or changed."""
    book = rounds.book
    tasks = [(row, leaf_task(book, row, level)) for row in rows]
    answers = iter(rounds.follow([rounds.leaf(task) for _, task in tasks if task is not None]))
    changed = []
    for row, task in tasks:
        old = book.table.entry(row)
        entry = old if task is None else in_scale(old)
        move, score, reached = leaf_without_search(book, row) if task is None else (*next(answers), level)
        entry = entry._replace(leaf_move=move, leaf_score=score, leaf_level=reached)
        if task is not None or entry != old:
            changed.append(entry)
    if changed:
        rounds.finish_round(changed)
    return bool(changed)


def _bad_leaves(book: Book, visits: Iterable[Visit], depth: int, progress: ProgressCallback) -> list[int]:
    """Return the rows of visited positions whose leaf is faulty (`layout.OPEN` ...), ascending. Only positions less
    than ``depth`` moves from the initial position count.
    """
    rows = {visit.row for visit in visits if not _too_deep(book.table.entry(visit.row), depth)}
    held = book.table.held(np.array(sorted(rows), np.int64))
    found: list[int] = book.faults_among(held, progress)[:, 0].tolist()
    return found


def repair_level(level: int) -> int:
    """Return the level at which learning at ``level`` searches missing leaves; Egaroucid uses the same."""
    return min(20 + (level & 1), max(1, level - 2))


class Expansion(NamedTuple):
    """A leaf to follow: the position after it, its score for the side to move there, and the number of discs that the
    moves from there on may still lose (``remaining``).
    """

    player: int
    opponent: int
    score: int
    remaining: int


def expansions(
    book: Book,
    root: Position,
    window: Window,
    leaf_error: int,
    seen: Callable[[Iterable[Visit]], Iterable[Visit]] = iter,
) -> list[Expansion]:
    """Return the leaves that a round of learning follows, each with its largest budget. Raises `NotInBook`.

    A leaf is at most ``leaf_error`` discs below its position's score. The leaves come from two walks, in each of which
    one side plays only best moves; a leaf of that side must be a best move too. ``seen`` gets the visits of
    each walk and yields them again.
    """
    found: dict[Position, Expansion] = {}
    for best_only in (True, False):
        for visit in seen(walk(book, root, window, best_only)):
            entry = book.table.entry(visit.row)
            if _too_deep(entry, window.depth) or not entry.has_leaf or entry.score - entry.leaf_score > leaf_error:
                continue
            moves = book.known_moves(entry)
            if all(move.linked for move in moves):
                continue
            if visit.own is best_only and entry.leaf_score < moves[0].score:
                continue
            p, o, _ = book.table.canonical(*book.table.play(entry.player, entry.opponent, entry.leaf_move))
            old = found.get((p, o))
            if old is None or (visit.remaining, -entry.leaf_score) > (old.remaining, old.score):
                found[p, o] = Expansion(p, o, -entry.leaf_score, visit.remaining)
    return [found[key] for key in sorted(found)]


def _line(rounds: RememberedRounds, window: Window, level: int, start: Expansion) -> SearchLine[list[PositionEntry]]:
    """Follow the best line from a leaf, yielding its searches; return the entries of its new positions.

    The line ends at a position of the book, at the depth of ``window``, or when a search's score differs from the
    expected one by more discs than ``window`` allows.
    """
    table = rounds.book.table
    entries: list[PositionEntry] = []
    player, opponent, expected, remaining = start
    while True:
        p, o, _ = table.canonical(player, opponent)
        # Lines run in several threads: `find` changes nothing, whatever the table.
        if table.find(p, o) >= 0 or 64 - (p | o).bit_count() < 60 - window.depth:
            return entries
        if not table.moves(p, o):
            if not table.moves(o, p):
                end = final_score(p, o)
                done = PositionEntry(p, o, level=MAX_LEVEL, leaf_score=end, leaf_level=MAX_LEVEL)
                return [*entries, done._replace(score=end, lower=end, upper=end)]
            # This position has no leaf: its score comes from the position after the pass, which follows.
            passing = PositionEntry(p, o, level=level, leaf_move=PASS, leaf_level=level)
            entries.append(passing._replace(score=expected, lower=expected, upper=expected, leaf_score=expected))
            player, opponent, expected = o, p, -expected
            continue
        move, score = yield from rounds.ask((p, o, level, 0))
        entry = PositionEntry(p, o, level=level, leaf_move=move, leaf_score=score, leaf_level=level)
        entries.append(entry._replace(score=score, lower=score, upper=score))
        change = abs(score - expected)
        if _too_deep(entry, window.depth) or change > window.per_move or change > remaining:
            return entries
        if window.cumulative < NO_LIMIT:
            remaining -= change
        player, opponent = table.play(p, o, move)
        expected = -score


def learn(book: Book, root: Position, worker: Worker, window: Window, leaf_error: int, level: int) -> CommandOutcome:
    """Learn from ``root`` on, in rounds, until a round finds nothing.

    A round searches the leaves in the window that are missing, then follows every leaf of `expansions` along its best
    line. A root that is not in the book is searched and added. Raises `OutOfRange`.
    """
    window.checked()
    within("leaf error", leaf_error, 0, NO_LIMIT)
    within("level", level, 1, MAX_LEVEL)
    rounds = RememberedRounds(book, worker)

    def work() -> None:
        rounds.negamax()
        p, o, _ = book.table.canonical(*root)
        rounds.rounds = 1
        if book.table.find_canonical(p, o) < 0:
            start = Expansion(p, o, NO_SCORE, -1)
            (line,) = rounds.follow([_line(rounds, window._replace(depth=MAX_LEARNING_DEPTH), level, start)])
            rounds.finish_round(line)
        while True:
            while True:
                walks = (walk(book, root, window, best_only) for best_only in (True, False))
                visits = [visit for visits in walks for visit in rounds.seen(visits)]
                bad = _bad_leaves(book, visits, window.depth, rounds.progress)
                if not bad or not _search_leaves(rounds, bad, repair_level(level)):
                    break
            if rounds.full:
                raise WorkCancelled
            todo = expansions(book, root, window, leaf_error, rounds.seen)
            if not todo:
                return
            # Each line has a position at least.
            fitting = todo if worker.room is None else todo[: worker.room]
            rounds.full = len(fitting) < len(todo)
            lines = rounds.follow([_line(rounds, window, level, start) for start in fitting])
            entries = {entry[:2]: entry for line in lines for entry in line}
            # In the order of the lines where some may have to be left out: no position without its parent.
            rounds.finish_round(entries[key] for key in (sorted(entries) if worker.room is None else entries))
            rounds.rounds += 1

    return rounds.outcome(work)


def recalculate_leaves(book: Book, root: Position, worker: Worker, window: Window, level: int) -> CommandOutcome:
    """Search again, at ``level``, the leaves in a window that were searched at a lower level, are missing or illegal.

    Raises `NotInBook` and `OutOfRange`.
    """
    window.checked()
    within("level", level, 1, MAX_LEVEL)
    root_row(book, root)
    rounds = RememberedRounds(book, worker)

    def work() -> None:
        rounds.negamax()
        rounds.rounds = 1
        visited = list(rounds.seen(walk(book, root, window)))
        rows = set(_bad_leaves(book, visited, window.depth, rounds.progress))
        lower = set()
        for visit in visited:
            entry = book.table.entry(visit.row)
            if entry.has_leaf and NO_LEVEL <= entry.leaf_level < level and not _too_deep(entry, window.depth):
                lower.add(visit.row)
        rows.update(book.table.held(np.array(sorted(lower), np.int64)).tolist())
        _search_leaves(rounds, sorted(rows), level)

    return rounds.outcome(work)


def leads_to_read(book: Book, progress: ProgressCallback = no_progress) -> npt.NDArray[np.bool_]:
    """Return a mask of rows whose score was set by hand or read to the end of the game, or that lead to such a row."""
    table = book.table
    found: npt.NDArray[np.bool_] = table.kinds(progress) == FINISHED
    for number, chunk in enumerate(table.chunks()):
        leaf = (chunk["leaf_move"] <= PASS) & (chunk["leaf_level"] >= 0)
        levels = np.where(leaf, chunk["leaf_level"], chunk["level"]).astype(np.int64) - NO_LEVEL
        scale = (chunk["flags"] & EGAROUCID_LEVELS != 0).astype(np.int64)
        empties = empty_squares(chunk)
        here = found[number * CHUNK_ROWS :][: len(chunk)]
        here |= (readings()[scale, 0, levels, empties] != GUESSED) | (chunk["flags"] & HUMAN != 0)
    for number, row in enumerate(LayerOrder(table, progress).rows.tolist()):
        if not found[row]:
            entry = table.entry(row)
            found[row] = any(child >= 0 and found[child] for _, child in table.links(entry.player, entry.opponent))
        if number % _STEP == 0:
            progress("walk", number, len(table))
    return found


def reduce(
    book: Book, root: Position, window: Window, *, read_only: bool = False, progress: ProgressCallback = no_progress
) -> Shrunk:
    """Remove the descendants of ``root`` that the window does not reach; other positions stay.

    With ``read_only`` only descendants that lead to a position read to the end of the game, or set by hand, are kept. A
    lost link becomes the leaf if it is better. Raises `NotInBook` and `OutOfRange`.
    """
    window.checked()
    start = root_row(book, root)
    keep = reach(book.table, {start: 1}, progress=progress) == 0
    wanted = leads_to_read(book, progress) if read_only else np.ones(len(book), np.bool_)
    for number, visit in enumerate(walk(book, root, window)):
        keep[visit.row] = wanted[visit.row] or visit.row == start
        if number % _STEP == 0:
            progress("walk", number, 0)
    return keep_only(book, keep, progress)
