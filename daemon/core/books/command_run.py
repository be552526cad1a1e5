"""`BookCommandRun`: one execution of a book command, as its handler gets it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.book.front import CommandProgress, Searches, WorkCancelled, Worker, overlay_base, shipped
from desdaemon.core.metrics import account_of
from desdaemon.core.search.loader import Abandoned
from desdaemon.core.search.schedule import SHORT_S
from desdaemon.core.search.scheduler import Lease, Purpose, Scheduler
from desdaemon.core.searchers import JobSearches, searchers
from desdaemon.core.threads import step_back
from desdaemon.engine.exports import await_kernels
from desdaemon.engine.search import Control
from desdaemon.protocol.commands.book_rows import BookCommand, BookValues
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.rows import load
from desdaemon.protocol.system import platform

from .jobs import BookJob, Effort, HelperFigures
from .service import Books, Caller

if TYPE_CHECKING:
    from pathlib import Path

    from desdaemon.book.front import Book, Evaluate
    from desdaemon.engine.result import Result as SearchResult

SEARCHES_SHOWN = 2
"""Level of `book verbose` from which each search of a command is shown."""


class BookCommandRun(NamedTuple):
    """One execution of a book command, for its handler on the job's thread. ``values`` are its parameters by name."""

    books: Books
    job: BookJob
    command: BookCommand
    values: BookValues
    caller: Caller

    @property
    def book(self) -> Book:
        """The book in use. Raises `NoBook` if there is none."""
        return self.books.needed()

    @property
    def changes(self) -> bool:
        """Whether the command changes the book or its journal: then its result is reported only after the commit."""
        if self.command.name == "verify":
            return self.values["repair"] is True
        return self.command.writes and self.command.name != "save"

    def number(self, name: str) -> int:
        """Return the value of the parameter ``name``, a whole number."""
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def path(self, name: str = "file") -> Path:
        """Return the path of the file in the parameter ``name``. Raises `Forbidden` if the caller may not name it."""
        value = self.values[name]
        assert isinstance(value, str)
        return self.books.files.path(value, remote=self.caller.remote)

    def source(self, name: str = "file") -> Path:
        """Return the path of the book in the parameter ``name``, which is to be read: a file, or the book that ships.

        Raises `Forbidden` if the caller may not name the file or, of an overlay, its base; `Unreadable` if no book was
        installed, or a remote caller names what is no file.
        """
        if self.values[name] == BUILTIN_BOOK:
            return shipped()
        path = self.path(name)
        base = overlay_base(path) if self.caller.remote else ""
        if base not in ("", BUILTIN_BOOK):
            # A client reads no file through an overlay that it may not name itself.
            self.books.files.allow(base)
        return path

    def target(self, name: str = "file") -> Path:
        """Return the path of the file in the parameter ``name``, which is to be written. Raises `Forbidden` if the
        caller may not name it, or no command may write it.
        """
        return self.books.target(self.path(name))

    def paths(self, name: str = "files") -> list[Path]:
        """Return the paths of the files and folders that the parameter ``name`` lists, with patterns replaced by their
        matches. Raises `Forbidden` if the caller may not name one, `BadInput` if a pattern matches nothing.
        """
        value = self.values[name]
        assert isinstance(value, list)
        return [path for part in value for path in self.books.files.matching(part, remote=self.caller.remote)]

    def optional(self, name: str) -> int | None:
        """Return the value of the parameter ``name``, a whole number; None if it was not given."""
        return self.number(name) if self.values[name] is not None else None

    def level(self, name: str = "level") -> int:
        """Return the search level that the parameter ``name`` gives, or the level of the book in use if it was not
        given. Raises `NoBook` if it was not given and no book is open.
        """
        value = self.optional(name)
        return self.book.options.level if value is None else value

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps of ``stage`` are done. Raises `WorkCancelled` after a cancel or once
        the job's budget is spent.
        """
        book = self.books.book
        if not self.job.report(stage, done, total, len(book) if book is not None else 0):
            raise WorkCancelled

    def worker(self) -> Worker:
        """Return a pool for the command's searches, each with one thread. They wait for turns of the scheduler, if
        there is one; those of `searchers` search too. A cancel of the job stops the
        searches. The pool's progress updates the job's effort and is reported.

        Raises `WorkCancelled` if the job is cancelled while the engine is compiled, `Unfinished` if the weights cannot
        be loaded, `BadInput` if the `searchers` cannot be used.
        """
        books, job = self.books, self.job
        settings, show = self.caller.settings, self.caller.show
        on_search = None
        if show is not None and books.book is not None and books.book.options.verbosity >= SEARCHES_SHOWN:
            on_search = shown_search(show, settings.width)
        await_kernels(lambda: self.progress("compile", 0, 0))
        weights = books.weights_of(settings.eval_file)
        searches = Searches(weights=weights, on_search=on_search)
        job.on_cancel(searches.stop)

        earlier_effort, begun = job.effort, time.perf_counter()
        if "nodes" in job.budget:
            searches.most_nodes = job.budget["nodes"] - int(earlier_effort.nodes)
        if "time" in job.budget:
            searches.deadline = time.monotonic() + (job.budget["time"] - earlier_effort.time)

        def on_progress(report: CommandProgress) -> bool:
            pool = reference()
            job.step, job.round = report.step, report.round
            job.effort = Effort(
                earlier_effort.time + time.perf_counter() - begun,
                earlier_effort.nodes + searches.nodes + (pool.nodes_elsewhere if pool else 0),
                earlier_effort.searches + report.searches,
                report.positions - (job.first or 0),
            )
            return job.report(report.stage, report.done, report.total, report.positions)

        threads = settings.book_tasks or platform.processors()
        evaluate = searches if books.scheduler is None else _leased(books.scheduler, job, searches)
        worker = Worker(evaluate, threads=threads, on_progress=on_progress, halt=searches.stop)
        worker.room = self._room()
        # Weak, so that worker and callback do not refer to each other and are freed with the job.
        reference = weakref.ref(worker)
        others = searchers(settings)
        if others is None:
            return worker

        def on_figures(workers: int, slots: int, busy: float) -> None:
            job.helpers = HelperFigures(workers, slots, busy)
            # Report even if nothing has changed, to show that the job is alive.
            progress = job.progress
            job.report(progress.phase, progress.done, progress.total, progress.positions)

        note = job.notes.append if show is None else lambda line: show(f"{line}\n")
        pool: Worker = load(others.worker)(
            JobSearches(settings, weights, evaluate, threads, on_progress, on_figures, job.give_up, note)
        )
        pool.room = self._room()
        reference = weakref.ref(pool)
        job.on_cancel(pool.halt)
        return pool

    def _room(self) -> int | None:
        """Return how many positions the job may still add; None without a budget for them."""
        most, book = self.job.budget.get("positions"), self.books.book
        if most is None:
            return None
        now = len(book) if book is not None else 0
        return max(0, most - (now - (self.job.first if self.job.first is not None else now)))


def _leased(scheduler: Scheduler, job: BookJob, searches: Searches) -> Evaluate:
    key = account_of(job.client)
    lasted_s = 0.0

    def search(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int] | None:
        nonlocal lasted_s
        step_back()
        controls = [Control()]
        # A search keeps nothing in its table between turns: an interrupted one starts over. It will last about as long
        # as the one before.
        short = lasted_s < SHORT_S
        lease = Lease(Purpose.BOOK, key, f"job {job.id}", lambda: controls[-1].stop(), restarts=True, short=short)
        while not job.cancelled:
            control = controls[-1] = Control()
            try:
                with scheduler.turn_of(lease, lambda: job.cancelled):
                    answer = None if lease.interrupted else searches(player, opponent, level, excluded, control)
                    lease.again = answer is None and lease.interrupted
                    lasted_s = time.perf_counter() - lease.began
            except Abandoned:
                return None
            if answer is not None or not (lease.waiting or lease.running):
                return answer
        scheduler.drop(lease)
        return None

    return search


def shown_search(show: Callable[[str], None], width: int) -> Callable[[int, int, SearchResult], None]:
    """Return a callback that passes each finished search to ``show`` as text: its board, and below it the table that
    `go` prints.

    A search does not know colours, so Black is taken to move if the number of empty squares is even. ``width`` is the
    width of a table's line, in characters.
    """

    def show_search(player: int, opponent: int, result: SearchResult) -> None:
        empties = 64 - (player | opponent).bit_count()
        position = Position(player, opponent, empties % 2 == 0)
        line = result.lines[0]._replace(nodes=result.nodes, time_ms=result.time_ms)
        row = edax.table_line(edax.search_row(line, position.black_to_move), width)
        show(f"{edax.compact_board(position)}\n\n{edax.TABLE_HEADER}\n{edax.TABLE_RULE}\n{row}\n{edax.TABLE_RULE}\n")

    return show_search
