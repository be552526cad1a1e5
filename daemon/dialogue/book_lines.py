"""`book ...` in the text protocol: a command runs while its progress is shown and `stop` is handled."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Caller
from desdaemon.protocol.commands.book import parse_line
from desdaemon.protocol.errors import BadInput, Unfinished
from desdaemon.protocol.system.terminal import ProgressLine

if TYPE_CHECKING:
    from desdaemon.core.books.jobs import BookJob, JobState
    from desdaemon.core.books.service import Books

    from .session import Session

LINE_S = 1.0
"""Seconds between two lines of progress where the output is no terminal."""

BAR_S = 0.1
_BAR = 30


def books_of(session: Session) -> Books:
    """The book that a session shares. Raises `BadInput` where there cannot be one."""
    if session.books is None:
        raise BadInput("book: this dialogue has no book")
    return session.books


def caller_of(session: Session) -> Caller:
    """The session as the origin of book commands."""
    game = session.game
    return Caller(
        session.name,
        session.settings,
        game.initial,
        tuple(game.moves),
        session.remote,
        session.engine,
        counted=game.counted,
    )


def store_beside(session: Session) -> list[BookJob]:
    """Store a finished game in a job, if there is a book or one being opened. Returns the job in a list, or none."""
    books = session.books
    if books is None or (books.book is None and not books.opening):
        return []
    return [run_command(books, *parse_line("store"), caller_of(session))]


class Speaker(Protocol):
    """The output of book commands in a dialogue; `TextDialect` is one."""

    session: Session

    def say(self, text: str) -> None:
        """A line of the answer, or several."""

    def warn(self, message: str) -> None:
        """Show a warning of one line."""


class Kept:
    """Collects the answer of a book command, for dialogues that send it in another form."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """See `Speaker`."""
        self.lines += text.splitlines()

    def warn(self, message: str) -> None:
        """See `Speaker`."""
        self.lines.append(f"warning: {message}")


def carry_out(text: Speaker, argument: str) -> None:
    """Run a line after the word `book`. Raises `BadInput`, `Unfinished` and the exceptions of the command's work."""
    if not argument:
        raise BadInput("book: expected a command after it, see help book")
    command, values = parse_line(argument)
    session = text.session
    books = books_of(session)
    shown: deque[str] = deque()
    with session.interrupt.searching(bounded=True) as search:
        books.ready(lambda: search.stopped)
        job = run_command(books, command, values, caller_of(session)._replace(show=shown.append))
        watch = _Watch(text, job, shown)
        if not job.over:
            with search.control(_Canceller(job)):
                watch.follow()
        watch.show()
    if job.failure is not None:
        raise job.failure
    for note in job.result.get("notes", ()):
        text.warn(note)
    *lines, last = job.result.get("text") or [""]
    for line in lines:
        text.say(line)
    if last:
        spent = job.result["time_s"]
        text.say(f"{last} ({spent:.1f} s)" if spent >= LINE_S else last)
    if job.obstacle:
        raise Unfinished(f"book {argument}: not finished")


class _Canceller:
    """The control by which `stop` cancels a job."""

    def __init__(self, job: BookJob) -> None:
        self._job = job

    def stop(self) -> None:
        """Cancel the job."""
        self._job.cancel()


class _Watch:
    """Shows the progress of a job: a bar at a terminal, otherwise a line every few seconds."""

    def __init__(self, text: Speaker, job: BookJob, shown: deque[str]) -> None:
        """``shown`` holds lines that the job wants printed beside its progress."""
        self._text = text
        self._job = job
        self._shown = shown
        self._line = ProgressLine()

    def show(self) -> None:
        """Print the job's new lines."""
        while self._shown:
            self._text.say(self._shown.popleft())

    def follow(self) -> None:
        """Show progress until the job is over."""
        while not self._job.wait(BAR_S if self._line.live else LINE_S):
            self.show()
            line = progress_line(self._job)
            if not self._line.live:
                self._text.say(line)
                continue
            found = self._job.reported
            filled = _BAR * found.done // found.total if found.total else 0
            self._line.show(f"[{'#' * filled}{'.' * (_BAR - filled)}] {line}")
        self._line.clear()


def progress_line(job: BookJob) -> str:
    """The progress of a job, in a line: ``Book deviate...search 12/57 done: 183 positions, 4.1/s, 0:11 left``."""
    name = job.op.replace(".", " ", 1).capitalize()
    found: JobState = job.reported
    if not found.phase:
        return f"{name}...{job.state}"
    total = f"/{found.total}" if found.total > found.done else ""
    line = f"{name}...{found.phase} {found.done}{total} done: {found.positions} positions"
    if found.rate:
        line += f", {found.rate:.1f}/s"
    if found.eta_s is not None and total:
        minutes, seconds = divmod(round(found.eta_s), 60)
        line += f", {minutes}:{seconds:02d} left"
    if job.cluster is not None:
        line += f", {job.cluster.workers} workers, {job.cluster.slots} slots, {job.cluster.busy:.0%} busy"
    return line
