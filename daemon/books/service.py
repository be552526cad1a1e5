"""The service around the one book of the process: opened beside the dialogues, read by all of them, changed by one job
at a time.

numpy, the book library and the table of commands are imported when a book is first used.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.system import platform
from desdaemon.search.loader import Abandoned
from desdaemon.session.settings import SessionSettings

from .jobs import BookJob, BookJobs, Result

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from desdaemon.book.book import Book, Evaluate
    from desdaemon.book.choose import MoveChoice as ChoiceSettings
    from desdaemon.book.formats.registry import Opened
    from desdaemon.book.growth.game_results import Results
    from desdaemon.book.growth.rounds import Worker
    from desdaemon.book.progress import ProgressCallback
    from desdaemon.book.reports.children import ReportedMove
    from desdaemon.books.commands.context import BookCommandRun
    from desdaemon.engine.evaluation.weights import Weights
    from desdaemon.protocol.commands.book import BookCommand, BookValues
    from desdaemon.search.loader import LoadedEngine
    from desdaemon.search.scheduler import Scheduler

    from .files import Files

_POLL_S = 0.01

SEARCHES_SHOWN = 2
"""From this verbosity on every search of a book's commands is shown."""

IN_MEMORY = "The last changes are in memory alone ({failure}): make room, or book save FILE on another disk"

DUE = "Not all scores follow from the leaves yet: book negamax, or the next long command, sees to that"


class NoBook(BadInput):
    """A book command without a book."""

    def __init__(self) -> None:
        super().__init__("there is no book: book load FILE opens one, book new begins one")


class Caller(NamedTuple):
    """The origin of a command: the ``client``'s name for the list of jobs, its options, and the game on its board.

    The files that a ``remote`` one names are inside the data folder. ``engine`` is for those that have a search,
    ``show`` for those who want to see, from any thread, what `book verbose` asks for; ``counted`` says of a dialogue's
    game whether its result was counted before, and notes that it is.
    """

    client: str
    settings: SessionSettings
    initial: Position = START
    moves: tuple[int, ...] = ()
    remote: bool = False
    engine: Callable[[], LoadedEngine] | None = None
    show: Callable[[str], None] | None = None
    counted: Callable[[], bool] | None = None

    @property
    def positions(self) -> list[Position]:
        """The positions of the game in order, the last is the one on the board."""
        found = [self.initial]
        for move in self.moves:
            found.append(found[-1].after(move))
        return found

    @property
    def position(self) -> tuple[int, int]:
        """The discs of the side to move and of the other side on the board."""
        last = self.positions[-1]
        return last.player, last.opponent


class ScoredMove(NamedTuple):
    """A move that the book knows on some board, with its score in discs for the side to move there."""

    move: int
    score: MoverScore


class BookView(NamedTuple):
    """The book's data about a position; scores in discs for the side to move, moves on the board of the request.

    ``links`` are the moves into the book, best first; ``leaf`` is the best of the others with its search level.
    Moves without a score are left out. ``score`` is None as long as there is none (``lower`` and ``upper`` are then
    of no use). ``results`` are the games of the side to move through the position.
    """

    level: int
    human: bool
    score: MoverScore | None
    lower: MoverScore
    upper: MoverScore
    wins: int
    draws: int
    losses: int
    lines: int
    links: list[ScoredMove]
    leaf: ScoredMove | None
    leaf_level: int
    results: Results

    @property
    def moves(self) -> list[ScoredMove]:
        """Links and leaf, best first."""
        found = self.links if self.leaf is None else [*self.links, self.leaf]
        return sorted(found, key=lambda move: -move.score)


class Books:
    """The one book of the process. Every method may be called from any thread."""

    def __init__(self, jobs: BookJobs, *, scheduler: Scheduler | None = None, data_folder: str | None = None) -> None:
        """``scheduler`` gives the searches of jobs their turns; ``data_folder`` is where remote clients' files are."""
        self.jobs = jobs
        self.scheduler = scheduler
        self._data_folder = data_folder
        self._opened: Opened | None = None
        self._path: Path | None = None
        self.opening_job: BookJob | None = None
        """What opens the file of `prepare`; None when there is none."""
        self.opening_file = ""
        self._lock = threading.Lock()
        self._weights: dict[str, Weights] = {}
        self._rng: tuple[int, Random] | None = None

    @cached_property
    def files(self) -> Files:
        """The resolver of file names; its module is imported with the first name."""
        from .files import Files

        return Files(self._data_folder)

    # The book

    @property
    def book(self) -> Book | None:
        """The book in use, None when there is none (yet)."""
        opened = self._opened
        return opened.book if opened is not None else None

    @property
    def lasting(self) -> bool:
        """Whether changes of the book in use are kept in its journal as they come."""
        store = self._opened.store if self._opened is not None else None
        return store is not None and not store.read_only

    @property
    def file(self) -> str:
        """The file that the book was opened from or saved to; empty when there is none."""
        return str(self._path) if self._path is not None else ""

    @property
    def holder(self) -> int:
        """The process id of another process that has this book's file locked; 0 otherwise."""
        opened = self._opened
        return opened.store.holder if opened is not None and opened.store is not None else 0

    def needed(self) -> Book:
        """The book in use. Raises `NoBook`."""
        book = self.book
        if book is None:
            raise NoBook
        return book

    def prepare(self, path: str, settings: SessionSettings, on_note: Callable[[str], None]) -> None:
        """Start to open a file on a thread of its own; ``on_note`` is called with remarks, or with the reason for a
        failure.
        """
        from desdaemon.protocol.commands.book import BY_NAME

        job = self.run(BY_NAME["load"], {"file": path, "level": 1}, Caller("options", settings))
        self.opening_job, self.opening_file = job, path

        def told(job: BookJob) -> None:
            if job.over:
                # A job that was cancelled before it began has nothing to remark.
                for note in [job.error] if job.failure else job.result.get("notes", ()):
                    on_note(f"book-file = {note}")

        job.watch(told)

    @property
    def opening(self) -> bool:
        """Whether the file of `prepare` is still being opened."""
        return self.opening_job is not None and not self.opening_job.over

    def ready(self, abandoned: Callable[[], bool] = lambda: False) -> Book | None:
        """The book in use; waits until the file of `prepare` is open. Raises `Abandoned` soon after ``abandoned``
        returns true.
        """
        job = self.opening_job
        while job is not None and not job.wait(_POLL_S):
            if abandoned():
                raise Abandoned
        return self.book

    def use(self, opened: Opened, path: Path | None) -> None:
        """Replace the book in use, and close its file."""
        from desdaemon.book.storage.observers import DirtyFlag

        if opened.store is None:
            opened.book.recorder = DirtyFlag()
        before, self._opened, self._path = self._opened, opened, path
        if path is not None and os.access(path.resolve().parent, os.W_OK):
            from desdaemon.book.storage.arena import ARENA

            # What does not fit into memory lies beside the book, where there is room for a book.
            ARENA.folder = path.resolve().parent
        if before is not None and before.store is not None and before.store is not opened.store:
            before.store.close()

    @property
    def failure(self) -> str:
        """The reason why changes could not be written and are in memory alone; empty when all could be."""
        opened = self._opened
        return opened.store.failure if opened is not None and opened.store is not None else ""

    @property
    def reason(self) -> str:
        """The reason why the book's file takes no changes at present; empty where it does, or without a file."""
        opened = self._opened
        store = opened.store if opened is not None else None
        if store is None:
            return ""
        return store.failure or (store.reason if store.read_only else "")

    def _keep_unwritten(self) -> None:
        """Raise `BadInput` where changes that are in memory alone would be lost with the book in use."""
        opened = self._opened
        if opened is None or opened.store is None:
            return
        self._try_commit()
        if opened.store.unwritten:
            raise BadInput(
                f"{self.file}: its last changes are in memory alone: {self.failure}: "
                "make room, or keep them by book save FILE or book export FILE first"
            )

    @property
    def opened(self) -> Opened | None:
        """The book in use with its store and format."""
        return self._opened

    def target(self, path: Path) -> Path:
        """Check a file to be written. Raises `Forbidden` for one that the daemon needs."""
        opened = self._opened
        self.files.check_target(path, opened.store.path if opened is not None and opened.store is not None else None)
        return path

    def close(self) -> list[str]:
        """Close the book; changes are in its journal. Returns warnings for the log."""
        connection = sys.modules.get("desdaemon.cluster.connection")
        if connection is not None:
            connection.CONNECTIONS.close()
        opened, self._opened = self._opened, None
        if opened is None:
            return []
        if opened.store is None:
            from desdaemon.book.storage.observers import DirtyFlag

            recorder = opened.book.recorder
            lost = isinstance(recorder, DirtyFlag) and recorder.changes
            name = self.file or "the book, which has no file"
            return [f"{name}: changes were not saved: expected book save FILE before the end"] if lost else []
        from desdaemon.book.errors import BookError

        try:
            opened.store.close()
        except BookError as error:
            return [str(error)]
        return []

    # Looking

    def look_up(self, player: int, opponent: int) -> BookView | None:
        """The book's data about a position in any orientation; None outside it. Takes microseconds, also during a
        job."""
        book = self.book
        if book is None:
            return None
        # Only a book may load numpy: a first move without one would wait a tenth of a second for it.
        from desdaemon.book.growth.game_results import results_of

        with book.table.lock:
            entry = book.entry(player, opponent)
            if entry is None:
                return None
            moves = [move for move in book.moves_on(player, opponent) if -64 <= move.score <= 64]
            results = results_of(book, book.table.find(player, opponent))
        leaf = [ScoredMove(move.move, move.score) for move in moves if not move.linked]
        return BookView(
            entry.level,
            entry.human,
            MoverScore(entry.score) if -64 <= entry.score <= 64 else None,
            MoverScore(entry.lower),
            MoverScore(entry.upper),
            *entry[2:6],
            [ScoredMove(move.move, move.score) for move in moves if move.linked],
            leaf[0] if leaf else None,
            entry.leaf_level,
            results,
        )

    def grade(self, player: int, opponent: int, progress: ProgressCallback | None = None) -> str:
        """The grade, A to F or AA to AF, empty outside the book; follows the best lines, which may take seconds."""
        from desdaemon.book.progress import no_progress
        from desdaemon.book.reports.grade import Grades, Stale

        while (book := self.book) is not None:
            try:
                return Grades(book).grade(player, opponent, progress=progress or no_progress)
            except (Stale, IndexError):
                # Positions came or went meanwhile.
                time.sleep(_POLL_S)
        return ""

    def children(self, player: int, opponent: int, progress: ProgressCallback | None = None) -> list[ReportedMove]:
        """Every legal move with the book's data of it and its grade, which may take seconds; empty outside the book."""
        from desdaemon.book.progress import no_progress
        from desdaemon.book.reports.children import children
        from desdaemon.book.reports.grade import Stale

        while (book := self.book) is not None:
            try:
                return children(book, player, opponent, progress=progress or no_progress)
            except (Stale, IndexError):
                # Positions came or went meanwhile.
                time.sleep(_POLL_S)
        return []

    def line(self, player: int, opponent: int) -> list[int]:
        """The best line through the book from a position; empty outside it."""
        from desdaemon.book.choose import line

        book = self.book
        return line(book, player, opponent) if book is not None else []

    def choose(self, player: int, opponent: int, settings: SessionSettings) -> ScoredMove | None:
        """A book move by the options of ``settings``; None when the options say not to follow the book here."""
        from desdaemon.book.choose import choose

        book = self.book
        if book is None or not settings.book_usage:
            return None
        wanted = choice_settings(settings)
        with book.table.lock:
            chosen = choose(book, player, opponent, wanted, self._generator(settings.book_seed))
        return ScoredMove(chosen.move, chosen.score) if chosen is not None else None

    def _generator(self, seed: int) -> Random:
        """The random numbers of the choices, restarted when the seed changes. Seed 0: another sequence each time."""
        from random import Random

        with self._lock:
            if self._rng is None or self._rng[0] != seed:
                self._rng = seed, Random(seed or None)
            return self._rng[1]

    # Commands

    def run(self, command: BookCommand, values: BookValues, caller: Caller) -> BookJob:
        """Run a command; values come from `book_commands.parse_line` or `values_by_name`.

        A command that is neither long nor writes is over when this returns. Any other is a job, one at a time in the
        order of arrival, except those that only read positions. Bad input fails the job: ``failure`` is a `BadInput`.
        """

        from desdaemon.books.commands.context import BookCommandRun

        def work(job: BookJob) -> Result:
            return self._carry_out(BookCommandRun(self, job, command, values, caller))

        if not command.long and not command.writes:
            return self.jobs.at_once(command.op, work, caller.client)
        return self.jobs.submit(command.op, work, caller.client, writes=not command.places)

    def _carry_out(self, run: BookCommandRun) -> Result:

        begun = time.monotonic()
        run.job.before_notice = self._commit if run.changes else self._try_commit
        before = len(self.book) if self.book is not None else 0
        result = self._work(run)
        book = self.book
        result.setdefault("positions", len(book) if book is not None else 0)
        result.setdefault("added", max(0, result["positions"] - before))
        result.setdefault("changed", 0)
        result["time_s"] = round(time.monotonic() - begun, 3)
        return result

    def _work(self, run: BookCommandRun) -> Result:
        """Run the command's handler, after the negamax that an earlier, cancelled command has left undone."""
        from desdaemon.book.growth.rounds import SETTLE_S
        from desdaemon.book.progress import WorkCancelled
        from desdaemon.books.commands.registry import WORK, explained

        command, book = run.command, self.book
        if not run.caller.remote:
            self._limit_memory(run.caller.settings)
        threads = run.caller.settings.book_tasks or processors()
        with explained(command.name):
            try:
                if command.replaces:
                    self._keep_unwritten()
                elif book is not None and command.long and not command.places:
                    book.catch_up(threads=threads, progress=run.progress)
                result = WORK[command.name](run)
                if run.changes:
                    self._commit()
                    self._tidy(run)
            except WorkCancelled:
                result = {"finished": False, "text": [f"Book {command.name}...stopped"]}
                book = self.book
                if book is not None and book.stale and not command.places:
                    book.settle(threads, SETTLE_S)
                    self._commit()
        # Who asks for many places in a row is not told each time.
        tells = not command.places or command.name == "show"
        if self.book is not None and self.book.stale and tells:
            result.setdefault("text", []).append(DUE)
        if self.failure and tells:
            result.setdefault("text", []).append(IN_MEMORY.format(failure=self.failure))
        intrusion = self.opened.store.intrusion if self.opened is not None and self.opened.store is not None else ""
        if intrusion and tells:
            result.setdefault("text", []).append(intrusion)
        return result

    def _tidy(self, run: BookCommandRun) -> None:
        """Rewrite the book's file where its journal has grown longer than the file."""
        opened = self._opened
        if opened is not None and opened.store is not None and opened.store.bloated:
            opened.store.save(progress=run.progress)

    def _commit(self) -> None:
        """Commit changes before they are reported."""
        opened = self._opened
        if opened is not None and opened.store is not None:
            opened.store.commit()

    def _limit_memory(self, settings: SessionSettings) -> None:
        """Apply the option `book-memory`."""
        from desdaemon.book.storage.arena import ARENA

        ARENA.limit = settings.book_memory << 20

    def _try_commit(self) -> None:
        from desdaemon.book.errors import BookError

        with contextlib.suppress(BookError):
            self._commit()

    # Searches

    def worker(self, run: BookCommandRun) -> Worker:
        """A pool of parallel searches, one thread each, under the scheduler if there is one."""
        from desdaemon.book.growth.engine_evaluator import Searches
        from desdaemon.book.growth.rounds import CommandProgress, Worker

        settings, show = run.caller.settings, run.caller.show
        told = None
        if show is not None and self.book is not None and self.book.options.verbosity >= SEARCHES_SHOWN:
            from desdaemon.books.commands.context import shown_search

            told = shown_search(show, settings.width)
        searches = Searches(weights=self._weights_of(settings.eval_file), told=told)
        run.job.on_cancel(searches.stop)

        def tell(report: CommandProgress) -> bool:
            return run.job.report(report.stage, report.done, report.total, report.positions)

        threads = settings.book_tasks or processors()
        evaluate = self._leased(run.job, searches)
        if not settings.cluster:
            return Worker(evaluate, threads=threads, tell=tell, halt=searches.stop)
        from desdaemon.cluster.pool import cluster_pool

        return cluster_pool(run.job, settings, self._weights_of(settings.eval_file), evaluate, threads, tell, show)

    def _leased(self, job: BookJob, searches: Evaluate) -> Evaluate:
        scheduler = self.scheduler
        if scheduler is None:
            return searches
        from desdaemon.book.growth.engine_evaluator import Searches
        from desdaemon.engine.search import Control
        from desdaemon.search.accounts import account_of
        from desdaemon.search.scheduler import Purpose, SearchTask
        from desdaemon.search.workers import step_back

        assert isinstance(searches, Searches)

        key = account_of(job.client)

        def search(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int] | None:
            step_back()
            controls = [Control()]
            # Every search is made with a clean table, so that an preempted one begins again.
            item = SearchTask(
                Purpose.BOOK, key, f"job {job.id}", lambda: None, lambda: controls[-1].stop(), restarts=True
            )
            while not job.cancelled:
                control = controls[-1] = Control()
                try:
                    with scheduler.turn_of(item, lambda: job.cancelled):
                        answer = None if item.interrupted else searches(player, opponent, level, excluded, control)
                        item.again = answer is None and item.interrupted
                except Abandoned:
                    return None
                if answer is not None or not (item.waiting or item.running):
                    return answer
            scheduler.drop(item)
            return None

        return search

    def _weights_of(self, eval_file: str) -> Weights:
        from desdaemon.engine.evaluation.weights import Weights, WeightsError

        with self._lock:
            if eval_file not in self._weights:
                try:
                    self._weights = {eval_file: Weights.load(eval_file or None)}
                except WeightsError as error:
                    raise BadInput(str(error)) from None
            return self._weights[eval_file]


def choice_settings(settings: SessionSettings) -> ChoiceSettings:
    """The choice of book moves that a dialogue's options ask for."""
    from desdaemon.book.choose import Choice
    from desdaemon.book.choose import MoveChoice as ChoiceSettings

    return ChoiceSettings(
        Choice(settings.book_choice),
        settings.book_randomness,
        settings.book_reject / 100,
        settings.book_least_level,
        settings.book_registered_only,
    )


def processors() -> int:
    """The number of processors that this process may use."""
    return platform.processors()
