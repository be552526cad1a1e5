"""Run book commands, for dialogues and the wire alike: short ones at once, the others as jobs."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.core.metrics import account_of
from desdaemon.protocol.commands.book import BY_NAME, complete
from desdaemon.protocol.commands.book_rows import BUDGET
from desdaemon.protocol.errors import BadInput, Unfinished, escaped
from desdaemon.protocol.othello.notation import board_text, parse_board
from desdaemon.protocol.system import platform

from .jobs import BookJob, Effort, Result
from .service import Books, Caller

if TYPE_CHECKING:
    from desdaemon.book.front import GivenCommand
    from desdaemon.core.books.command_run import BookCommandRun
    from desdaemon.core.books.job_journal import Data
    from desdaemon.core.settings import SessionSettings
    from desdaemon.protocol.commands.book_rows import BookCommand, BookValues

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG)
"""Errors with which a full or broken disk refuses every write, whatever the file's name."""

IN_MEMORY = "The last changes are only in memory ({failure}): make room, or book save FILE on another disk"

DUE = "Some scores are not up to date: book negamax, or the next long command, updates them"


def run_command(
    books: Books, command: BookCommand, values: BookValues, caller: Caller, earlier: tuple[int, Data] | None = None
) -> BookJob:
    """Run a book command, on any thread; ``values`` has a value for each parameter, as `parse_line` or `complete`
    returns them.

    A command that is neither ``long`` nor ``writes`` is over on return; others become jobs. Wrong input fails the job:
    its ``failure`` is a `BadInput`. The caller's role is not checked here. To resume a job of an earlier process, give
    its number and stored data as ``earlier``.
    """
    from desdaemon.core.books.command_run import BookCommandRun

    def work(job: BookJob) -> Result:
        return _carry_out(BookCommandRun(books, job, command, values, caller))

    if not command.long and not command.writes:
        return books.jobs.at_once(command.op, work, caller.client)

    # A backup copies the files of a book with a journal, so the book may change meanwhile.
    alone = not command.places and not (command.name == "backup" and books.lasting)

    journal = books.journal if command.goes_on and books.lasting else None

    def prepare(job: BookJob) -> None:
        job.alone = alone
        job.budget = {limit.name: value for limit in BUDGET if isinstance(value := values.get(limit.name), int)}
        if earlier is not None:
            data = earlier[1]
            job.started, job.first, job.effort = data["started"], data["first"], Effort(*data["effort"])
            job.games = data.get("games", 0)
            job.earlier = job.effort
        if journal is not None:
            journal.keep(job, _entry(books, command, values, caller))

    number = earlier[0] if earlier is not None else 0
    if journal is not None and not number:
        number = books.jobs.next_number()
        while not journal.take(number):
            number = books.jobs.next_number()
    return books.jobs.submit(command.op, work, caller.client, writes=alone, before=prepare, number=number)


def _entry(books: Books, command: BookCommand, values: BookValues, caller: Caller) -> Data:
    """Return the data from which a later process can resume the job; its effort is stored apart."""
    return {
        "book": books.file,
        "command": command.name,
        "values": values,
        "client": caller.client,
        "role": caller.role,
        "remote": caller.remote,
        "board": board_text(caller.initial),
        "moves": list(caller.moves),
    }


def _go_on(books: Books, settings: SessionSettings) -> None:
    """Resume the stored jobs on the book that this process has open for writing, if their clients' roles still allow
    them; run the hook for ended jobs, and forget old ones. ``settings`` apply to the resumed jobs.
    """
    from desdaemon.protocol.wire.messages import allows

    journal = books.journal
    if journal is None:
        return
    for number, data in list(journal.entries()):
        if "ended" in data:
            journal.tell(number, data["ended"])
            continue
        try:
            command, moves, board = BY_NAME[data["command"]], tuple(data["moves"]), parse_board(data["board"])
            if data["book"] == books.file and books.lasting and allows(data["role"], command.role):
                caller = Caller(data["client"], settings, board, moves, data["remote"], data["role"])
                run_command(books, command, complete(command, data["values"]), caller, (number, data))
        except (KeyError, ValueError, TypeError, BadInput) as error:
            journal.complain(f"job {number} cannot go on: {error!r}")
    journal.forget()


def begin_opening(books: Books, path: str, settings: SessionSettings, on_note: Callable[[str], None]) -> None:
    """Open a book on another thread, then resume an earlier process's jobs on it. ``on_note`` is called with each
    remark, or with the reason for a failure.
    """
    command = BY_NAME["load"]
    values = complete(command, {"file": path, "overlay": settings.book_overlay or None})
    job = run_command(books, command, values, Caller("options", settings))
    books.opening_job, books.opening_file = job, path

    def report(job: BookJob) -> None:
        if job.over:
            # A job that was cancelled before it began has no notes.
            for note in [job.error] if job.failure else job.result.get("notes", ()):
                on_note(f"book-file = {note}")
            _go_on(books, settings)

    job.watch(report)


def _carry_out(run: BookCommandRun) -> Result:
    """Run a command and add the fields that every result has: positions, added, changed, time_s. An empty ``text`` or
    ``notes`` is left out; control characters in them, which a file's name may have, are escaped.

    Raises `BadInput` for wrong input, `Unfinished` if the command was valid but its file failed, and any other
    exception of the handler.
    """
    from desdaemon.book.front import BookError

    begun = time.perf_counter()
    books = run.books
    run.job.before_notice = books.commit if run.changes else books.try_commit
    positions = len(books.book) if books.book is not None else 0
    given = _given(run)
    if run.job.first is None:
        run.job.started, run.job.first, run.job.games = given.started, given.positions, given.games
        run.job.begins()
    # What was added is in the book; the file of the job may be a second older.
    earlier = run.job.earlier = run.job.earlier._replace(positions=max(0, positions - run.job.first))
    try:
        result = _worked(run, given)
    except BookError as error:
        if error.of_file:
            raise Unfinished(str(error)) from error
        raise BadInput(f"book {run.command.name}: {error}" if error.bare else str(error)) from error
    book = books.book
    result.setdefault("positions", len(book) if book is not None else 0)
    result.setdefault("added", earlier.positions + max(0, result["positions"] - positions))
    result.setdefault("changed", 0)
    for name in ("text", "notes"):
        result[name] = [escaped(line) for line in result.get(name, ())]
    result["time_s"] = round(earlier.time + time.perf_counter() - begun, 3)
    return {name: value for name, value in result.items() if value or name not in ("text", "notes")}


def _given(run: BookCommandRun) -> GivenCommand:
    """Return the command for the book's journal: the one there, if it is the same and a kill has ended it."""
    from desdaemon.book.front import GivenCommand
    from desdaemon.protocol.commands.book import written_line

    line, who, root = written_line(run.command, run.values), account_of(run.caller.client), run.caller.position
    given = GivenCommand(line, who, run.job.started, root)
    book = run.books.book
    return book.given(given, resumes=run.command.goes_on) if book is not None else given


def _worked(run: BookCommandRun, given: GivenCommand) -> Result:
    """Run the handler, commit its changes, and add remarks. The result of a cancelled command has ``finished`` false.

    A command that replaces a book with unsaved changes raises `BadInput`, unless `--discard` drops the changes. With
    `edax-compatible`, a local caller's book without a journal is saved by `Books.keep_aside` instead. Any other long
    command that runs alone begins with a negamax if scores are stale.
    """
    from desdaemon.book.front import WorkCancelled
    from desdaemon.protocol.rows import load

    books, command = run.books, run.command
    book, opened_before, path, aside = books.book, books.opened, books.path, False
    settings = run.caller.settings
    if not run.caller.remote:
        books.limit_memory(settings)
    threads = settings.book_tasks or platform.processors()
    try:
        if command.replaces:
            discard = run.values["discard"] is True
            # Scripts for Edax replace an unsaved book without asking: it is kept in a file beside its own.
            aside = settings.edax_compatible and not run.caller.remote and not discard and books.unsaved
            aside = aside and opened_before is not None and opened_before.store is None
            books.check_unsaved(discard=discard or aside)
        elif book is not None and command.long and run.job.alone:
            book.catch_up(threads=threads, progress=run.progress)
        book = books.book if run.changes else None
        recorder = book.recorder if book is not None else None
        if recorder is not None:
            recorder.begin(given)
        try:
            result: Result = load(command.handler)(run)
        finally:
            # Another book may be open now.
            if recorder is not None and books.book is not None and books.book.recorder is recorder:
                recorder.ended()
        if aside and opened_before is not None and opened_before is not books.opened:
            result.setdefault("notes", []).append(books.keep_aside(opened_before, path))
        if run.changes:
            books.commit()
            books.tidy(run.progress)
    except WorkCancelled:
        result = {"finished": False, "text": [f"Book {command.name}...stopped"]}
        book = books.book
        if book is not None and book.stale and run.job.alone:
            book.settle(threads)
            books.commit()
    # A client that asks about many positions in a row gets the remarks only with `show`.
    if not command.places or command.name == "show":
        due = DUE if books.book is not None and books.book.stale else ""
        in_memory = IN_MEMORY.format(failure=books.failure) if books.failure else ""
        intrusion = books.store.intrusion if books.store is not None else ""
        result.setdefault("text", []).extend(filter(None, (due, in_memory, intrusion)))
    return result
