"""The commands ``book ...``: each runs as a job, whose progress is shown and which `stop` cancels."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from desdaemon.core.books.running import DISK_ERRORS, run_command
from desdaemon.core.books.service import Books, Caller
from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.dialogue.session import CommandContext, Session
from desdaemon.protocol.commands.book import parse_line
from desdaemon.protocol.errors import BadInput, Unfinished, lacking
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system.terminal import ProgressLine

if TYPE_CHECKING:
    from desdaemon.core.books.jobs import BookJob

LINE_S = 1.0
"""Seconds between two lines of progress, if the output is no terminal."""

LIVE_S = 0.1
"""Seconds between two changes of a line that is rewritten."""


def caller_of(session: Session) -> Caller:
    """Return the caller of a book command: the session's options, game and engine."""
    game = session.game
    return Caller(
        session.name,
        session.settings,
        game.initial,
        tuple(game.moves),
        session.remote,
        session.role,
        session.engine,
        mark=game.mark,
    )


def usable_book(session: Session) -> Books | None:
    """Return the session's books if one is open or being opened, else None."""
    books = session.books
    return books if books is not None and (books.book is not None or books.opening) else None


def store_game(session: Session, books: Books) -> BookJob:
    """Start to store the game on the board in the book. Returns the job that does it."""
    return run_command(books, *parse_line("store"), caller_of(session))


def run(context: CommandContext, argument: str) -> None:
    """Run the book command that ``argument`` spells until its job ends, show its progress, and print its result. Raises
    `BadInput` for a wrong line, `Unfinished` if the job failed or could not finish, `Abandoned` if it was stopped
    before it began, and `OSError` for a file that cannot be used.
    """
    if not argument:
        raise BadInput("book: expected one of the commands that help book lists")
    command, values = parse_line(argument)
    session, books = context.session, context.session.books
    if books is None:
        raise BadInput("book: this dialogue has no book")
    shown: deque[str] = deque()
    with session.interrupt.searching(bounded=True) as search:
        books.ready(lambda: search.stopped)
        job = run_command(books, command, values, caller_of(session)._replace(show=shown.append))
        watch = _Watch(context, job, shown)
        if not job.over:
            with search.control(_Canceller(job)):
                watch.follow()
        watch.show()
    if job.failure is not None:
        raise _reason(f"book {argument}", job.failure)
    for note in job.result.get("notes", ()):
        context.warn(note)
    *lines, last = job.result.get("text") or [""]
    for line in lines:
        context.say(line)
    if last:
        spent = job.result["time_s"]
        context.say(f"{last} ({spent:.1f} s)" if spent >= LINE_S else last)
    if job.obstacle:
        raise Unfinished(f"book {argument}: not finished")


def _reason(line: str, failure: Exception) -> Exception:
    """Return the error to raise for a failed job: its own error if the line or a file named in it is wrong, or if the
    job was abandoned; otherwise `Unfinished`.
    """
    if reason := lacking(failure):
        return Unfinished(f"{line}: not finished: {reason}")
    if isinstance(failure, BadInput | Abandoned) or (isinstance(failure, OSError) and failure.errno not in DISK_ERRORS):
        return failure
    if isinstance(failure, EngineFailure | OSError):
        return Unfinished(f"{line}: not finished: {failure}")
    return Unfinished(f"{line}: not finished: an internal error: {type(failure).__name__}: {failure}")


class _Canceller:
    """The control of a job, through which `stop` cancels it."""

    def __init__(self, job: BookJob) -> None:
        self._job = job

    def stop(self) -> None:
        self._job.cancel()


class _Watch:
    """Shows the progress of a job: in a line that is rewritten if the output allows that, else in a new line each
    second.
    """

    def __init__(self, context: CommandContext, job: BookJob, shown: deque[str]) -> None:
        """``shown`` is a queue of lines that the job prints besides its progress; any thread may append to it."""
        self._context = context
        self._job = job
        self._shown = shown
        self._rewrite = context.show_progress
        if self._rewrite is None and not context.session.remote:
            line = ProgressLine()
            self._rewrite = line.show if line.live else None

    def show(self) -> None:
        """Print the lines in ``shown``."""
        while self._shown:
            self._context.say(self._shown.popleft())

    def follow(self) -> None:
        """Show progress and print the lines in ``shown`` until the job is over."""
        show = self._rewrite or self._context.say
        while not self._job.wait(LIVE_S if self._rewrite else LINE_S):
            self.show()
            show(progress_line(self._job))
        if self._rewrite:
            self._rewrite("")


def progress_line(job: BookJob) -> str:
    """Return the progress of a job in a line, what matters most first: ``Book deviate...round 3, search 12/57 done,
    0:11 left: 183 positions, 120 added, 92 searches, 4.1/s``. The time left is that of the phase. Before the first
    report the line tells the job's state.
    """
    name = job.op.replace(".", " ", 1).capitalize()
    report = job.reported
    if not report.phase:
        return f"{name}...{job.state}"
    total = f"/{report.total}" if report.total > report.done else ""
    whole = f"{report.step}, round {report.round}" if report.step else f"round {report.round}"
    done = f" {report.done}{total} done" if report.done or total else ""
    line = f"{name}...{f'{whole}, ' if report.round else ''}{report.phase}{done}"
    if report.eta_s is not None and total:
        minutes, seconds = divmod(max(1, round(report.eta_s)), 60)
        line += f", {minutes}:{seconds:02d} left"
    if report.budget:
        line += f", {report.budget:.0%} of the budget"
    line += f": {plural(report.positions, 'position')}"
    if report.round:
        line += f", {report.added} added, {plural(report.searches, 'search')}"
    if report.rate:
        line += f", {report.rate:.1f}/s"
    if job.helpers is not None:
        workers, slots = plural(job.helpers.workers, "worker"), plural(job.helpers.slots, "slot")
        line += f", {workers}, {slots}, {job.helpers.busy:.0%} busy"
    return line
