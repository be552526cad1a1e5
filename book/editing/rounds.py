"""Long commands: rounds of searching, negamaxing and adding, on several threads, which can be cancelled and resumed.

A round searches the open leaves, runs negamax, chooses the positions to add by the scores alone, and adds them. The
searches of a round are independent of each other and of the threads. A cancellation between any two searches leaves a
negamaxed book with some open leaves. The next run of the command searches these first, and ends with the same book.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import NamedTuple, TypeVar

import numpy as np

from desdaemon.book.book import Book, Evaluate
from desdaemon.book.changes import Question
from desdaemon.book.chunks import Rows
from desdaemon.book.counts import parents_of
from desdaemon.book.errors import within
from desdaemon.book.layout import HUMAN, LINKED, NO_LEVEL, NO_MOVE, NO_SCORE, OPEN, PASS
from desdaemon.book.passes import await_kernels
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.readings import in_scale
from desdaemon.book.record import unsearched
from desdaemon.protocol.othello.rules import final_score
from desdaemon.protocol.system.executor import Executor

Position = tuple[int, int]

_ADDED = 1 << 11
_AHEAD = 1 << 8
"""Lines of searches for each thread that are begun before the first of them has ended, so that no thread waits for it.
"""


class CommandProgress(NamedTuple):
    """Progress of a long command: ``done`` of ``total`` (0 if unknown) in this round's ``stage``.

    ``positions`` is the number of the book's positions, ``searches`` that of searches since the worker was made.
    ``step`` is the step of a schedule, otherwise "". Stages: ``search`` (searches), ``add`` (positions or games given),
    ``results`` (games counted), ``walk`` (positions of a window); ``scan``, ``leaves``, ``order``, ``negamax``,
    ``select`` and others (positions of the whole book).
    """

    stage: str
    done: int
    total: int
    positions: int
    round: int
    searches: int
    step: str


OnProgress = Callable[[CommandProgress], bool]
"""Called after every search, and between parts of the other stages; returns whether to go on."""


class CommandOutcome(NamedTuple):
    """The outcome of a command. ``finished`` is False after a cancellation.

    ``searches`` and ``added`` are its numbers of searches and added positions; ``positions`` is the book's size now.
    """

    finished: bool
    rounds: int
    searches: int
    added: int
    positions: int


R = TypeVar("R")

SearchLine = Generator[Question, tuple[int, int] | None, R]
"""A sequence of searches that depend on each other: a generator that yields questions and returns a result.

It is sent (move, score) for each question, or None if the search was stopped.
"""


class LeafTask(NamedTuple):
    """The search for the leaf of the position in ``row``; ``passed`` says that its board is the one after a forced
    pass.
    """

    row: int
    question: Question
    passed: bool = False

    def leaf(self, move: int, score: int) -> tuple[int, int]:
        """Return the move and the score of the leaf, for the position's side to move, from those that were found."""
        return (PASS, -score) if self.passed else (move, score)

    def line(self) -> SearchLine[tuple[LeafTask, int, int]]:
        """Yield the search; return the task with the leaf's move and score. Raises `WorkCancelled` after a stop."""
        answer = yield self.question
        if answer is None:
            raise WorkCancelled
        return self, *self.leaf(*answer)


def leaf_task(book: Book, row: int, level: int) -> LeafTask | None:
    """Return the search of ``level`` for a position's leaf; None if no move of it leads out of the book."""
    entry = book.table.entry(row)
    links = book.table.links(entry.player, entry.opponent)
    if links and links[0] == (PASS, -1):
        return LeafTask(row, (entry.opponent, entry.player, level, 0), passed=True)
    if all(child >= 0 for _, child in links):
        return None
    excluded = sum(1 << move for move, child in links if child >= 0)
    return LeafTask(row, (entry.player, entry.opponent, level, excluded))


def leaf_without_search(book: Book, row: int) -> tuple[int, int, int]:
    """Return move, score and level of the leaf of a position that has no `leaf_task`: of a finished game its final
    score, else no leaf.
    """
    entry = book.table.entry(row)
    if book.table.links(entry.player, entry.opponent):
        return NO_MOVE, NO_SCORE, NO_LEVEL
    return NO_MOVE, final_score(entry.player, entry.opponent), max(entry.level, 0)


class Worker:
    """Runs lines of searches in parallel, one on each thread; results come in the order of the lines."""

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        threads: int = 1,
        on_progress: OnProgress | None = None,
        halt: Callable[[], None] | None = None,
    ) -> None:
        """``on_progress`` returns False to cancel a command; ``halt`` is called then, to stop the running searches.

        If ``halt`` stops later searches too, as `Searches.stop` does, the worker is of no use for another command.
        Raises `OutOfRange` for other than 1 to 1024 ``threads``.
        """
        self.evaluate = evaluate
        self.threads = within("threads", threads, 1, 1024)
        self.on_progress = on_progress or (lambda report: True)
        self.searches = 0
        """Number of searches whose result was used, in all commands of this worker."""
        self.nodes_elsewhere = 0
        """Number of nodes of searches made by other processes."""
        self.step = ""
        """The step of a schedule that runs now."""
        self.room: int | None = None
        """Positions that may still be added; None for any number."""
        self.halt = halt or (lambda: None)

    def follow(self, lines: Iterable[SearchLine[R]]) -> Generator[R, None, None]:
        """Carry out the searches that ``lines`` yield, several lines in parallel. Yields each line's result, in order.

        To end early, close the generator: it stops the running searches.
        """

        def followed(line: SearchLine[R]) -> R:
            try:
                question = next(line)
                while True:
                    question = line.send(self.evaluate(*question))
            except StopIteration as end:
                result: R = end.value
                return result

        waiting = iter(lines)
        running: deque[Future[R]] = deque()
        with Executor(self.threads) as pool:
            try:
                while True:
                    for line in itertools.islice(waiting, _AHEAD * self.threads - len(running)):
                        running.append(pool.submit(followed, line))
                    if not running:
                        return
                    result = running[0].result()
                    running.popleft()
                    yield result
            finally:
                if running:
                    self.halt()
                for future in running:
                    future.cancel()


class LongCommand:
    """A running command on a book: its progress, numbers and outcome. Only the command's thread may use it."""

    def __init__(self, book: Book, worker: Worker) -> None:
        self.book = book
        self.worker = worker
        self.rounds = 0
        self.added = 0
        self.full = False
        """Whether positions were left out because the worker has no room for them."""
        self._searches_before = worker.searches

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report progress. Raises `WorkCancelled` if the command was cancelled."""
        if not self.worker.on_progress(self._report(stage, done, total)):
            raise WorkCancelled

    def _report(self, stage: str, done: int, total: int) -> CommandProgress:
        worker = self.worker
        return CommandProgress(stage, done, total, len(self.book), self.rounds, worker.searches, worker.step)

    def take_room(self, wanted: int) -> int:
        """Return how many of ``wanted`` new positions may be added, and count them. If these are fewer, the command is
        ``full`` from now on.
        """
        room = self.worker.room
        if room is None:
            return wanted
        taken = min(wanted, room)
        self.full |= taken < wanted
        self.worker.room = room - taken
        return taken

    def negamax(self) -> None:
        self.book.negamax(threads=self.worker.threads, progress=self.progress)

    def outcome(self, work: Callable[[], None]) -> CommandOutcome:
        """Run ``work``, update the scores, and return the outcome.

        After a cancellation the update takes at most `book.SETTLE_S`, so that scores may be stale.
        """
        try:
            await_kernels(self.progress)
            work()
            self.negamax()
            finished = True
        except WorkCancelled:
            # The last search's nodes and time count too, though it has no result.
            self.worker.on_progress(self._report("search", 0, 0))
            self.book.settle(self.worker.threads)
            finished = False
        searches = self.worker.searches - self._searches_before
        return CommandOutcome(finished, self.rounds, searches, self.added, len(self.book))


class GrowthCommand(LongCommand):
    """A command that searches leaves and adds positions in rounds."""

    def leaf_task(self, row: int, level: int | None = None) -> LeafTask | None:
        """Return the search that a position's leaf needs. If it needs none, set the leaf (`leaf_without_search`) and
        return None.

        Without ``level`` the search has the position's level. If this is unknown, or the score was set by hand, it has
        the book's level.
        """
        entry = self.book.table.entry(row)
        if level is None:
            level = self.book.options.level if entry.flags & HUMAN or entry.level < 0 else entry.level
        task = leaf_task(self.book, row, level)
        if task is None:
            self._set_leaf(row, *leaf_without_search(self.book, row))
        return task

    def _set_leaf(self, row: int, move: int, score: int, level: int, *, raise_level: bool = False) -> None:
        entry = self.book.table.entry(row)
        searched = in_scale(entry) if move != NO_MOVE else entry
        changed = searched._replace(leaf_move=move, leaf_score=score, leaf_level=level)
        if raise_level and not entry.human:
            changed = changed._replace(level=level)
        if not entry.human and (entry.score == NO_SCORE or score > entry.score):
            # A provisional score until the next negamax.
            changed = changed._replace(score=score)
        if changed != entry:
            self.book.put(changed)

    def searched(self, tasks: Iterable[LeafTask], total: int) -> Iterator[tuple[LeafTask, int, int]]:
        """Run the searches ``tasks``; yield each with its leaf's move and score, and count it when that was used.
        ``total``, for the progress, is the most searches expected.

        Raises `WorkCancelled` if a search was stopped or the command cancelled.
        """
        with closing(self.worker.follow(task.line() for task in tasks)) as following:
            for done, result in enumerate(following, 1):
                yield result
                self.worker.searches += 1
                self.progress("search", done, total)

    def search(self, tasks: Iterable[LeafTask], total: int, *, raise_level: bool = False) -> None:
        """Run the searches ``tasks`` as `searched` does and store the leaves; those stored before a cancellation stay.

        With ``raise_level`` the positions get the searches' level.
        """
        for task, move, score in self.searched(tasks, total):
            self._set_leaf(task.row, move, score, task.question[2], raise_level=raise_level)

    def complete(self) -> None:
        """Drop the leaves at fault and search every open leaf; run negamax first if the book's state is unknown."""
        if self.book.state_unknown:
            # One pass brings the scores up to date and finds the leaves at fault.
            self.negamax()
        rows = self.book.unverified_rows()
        faults = self.book.faults(self.progress) if rows is None else self.book.faults_among(rows, self.progress)
        self._search_open(faults[:, 0].tolist())
        self.book.checked()

    def store(self, positions: Collection[Position]) -> None:
        """Add canonical positions as `storing` does, and nothing else."""
        with self.storing(positions):
            pass

    @contextmanager
    def storing(self, positions: Collection[Position]) -> Iterator[None]:
        """A context that begins by adding canonical positions; a crash leaves all or none of them and of what its block
        changes. After the block it searches a new leaf for each of them whose leaf is faulty, and for each parent whose
        leaf has become a link or is missing.
        """
        table = self.book.table
        whole = self.book.complete or not len(self.book)
        with self.book.together():
            self.add((position, NO_SCORE) for position in positions)
            yield
        rows = {row for position in positions if (row := table.find_canonical(*position)) >= 0}
        self.complete_at(np.array(sorted(rows), np.int64), whole=whole)

    def complete_at(self, rows: Rows, *, whole: bool) -> None:
        """Search a new leaf for each position of the ascending ``rows`` whose leaf is faulty, and for each parent whose
        leaf has become a link or is missing. ``whole`` says that no other leaf of the book is faulty.
        """
        above = parents_of(self.book.table, rows) if len(rows) < len(self.book) else None
        if above is None:
            self.complete()
            return
        own = set(rows.tolist())
        faults = self.book.faults_among(np.union1d(rows, above[0]), self.progress)
        # After a kill a leaf that has become a link is missing: whoever opens a book runs negamax, which drops those.
        self._search_open([row for row, fault in faults.tolist() if row in own or fault in (LINKED, OPEN)])
        if whole:
            self.book.checked()

    def _search_open(self, at_fault: list[int]) -> None:
        # The tasks depend on the set of positions, which does not change meanwhile.
        self.search((task for row in at_fault if (task := self._open_task(row)) is not None), len(at_fault))

    def _open_task(self, row: int) -> LeafTask | None:
        entry = self.book.table.entry(row)
        if entry.leaf_move != NO_MOVE or entry.leaf_score != NO_SCORE:
            self.book.put(entry.without_leaf())
        return self.leaf_task(row)

    def add(self, positions: Iterable[tuple[Position, int]]) -> int:
        """Add ``positions`` that the book lacks, each with a provisional score or `NO_SCORE`; return their number.

        The positions must be canonical. All are added or none, because the next round's choice depends on all of them;
        but no more than the worker has room for: then the command is ``full``.
        """
        new: dict[Position, int] = {}
        for number, (position, score) in enumerate(positions, 1):
            if position not in new and self.book.table.find_canonical(*position) < 0:
                new[position] = score
            if number % _ADDED == 0:
                self.progress("add", number, 0)
        new = dict(itertools.islice(new.items(), self.take_room(len(new))))
        if new:
            keys = np.array(list(new), np.uint64).reshape(-1, 2)
            with self.book.together():
                self.book.put_new(unsearched(keys, self.book.options.level, list(new.values())))
        self.added += len(new)
        return len(new)

    def run(
        self,
        choose: Callable[[], Iterable[tuple[Position, int]]] = lambda: (),
        begin: Callable[[], object] = lambda: None,
    ) -> CommandOutcome:
        """Call ``begin``. Then repeat a round until ``choose`` returns no new position: search missing leaves, run
        negamax, and add the positions that ``choose`` returns, each with its score or NO_SCORE. Without room for all of
        them the command ends unfinished, once those that it added are searched. Raises `ReadOnly`, before anything is
        searched, if not all positions are in memory.
        """
        self.book.table.need_all()

        def work() -> None:
            begin()
            self.rounds = 1
            while True:
                self.complete()
                self.negamax()
                if self.full:
                    raise WorkCancelled
                if not self.add(choose()) and not self.full:
                    return
                self.rounds += 1

        return self.outcome(work)
