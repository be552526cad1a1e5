"""The operations on the book: look-ups, answered at once, and book commands, run as jobs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.core.books.allowed_files import Forbidden
from desdaemon.core.books.jobs import CANCELLED, FAILED, QUEUED, RUNNING, BookJob, BookJobs
from desdaemon.core.books.lookup import Looks
from desdaemon.core.books.running import DISK_ERRORS, handlers, run_command
from desdaemon.core.books.service import Books, Caller, NoBook
from desdaemon.core.paths import names_of_folders
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.commands.book import BY_NAME, OPTIONS, BookCommand, complete
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import parse_move
from desdaemon.protocol.wire.codec import Prepared, PreparedList
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import (
    check_list_alone,
    last_position,
    read_line,
    read_listed,
)

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.protocol.wire.messages import Operation

    from .request import ClientRecord, Data, PendingRequest, TextLines

_AT_ONCE_S = 0.004

NONE, OPENING, OPEN = "none", "opening", "open"
"""States of the book in `status`; the fourth is `FAILED`: the book's file could not be opened."""


class BookOperations:
    """Carries out the operations on the book; slow work is done on the thread of deferred work (`Looks.defer`). One
    thread calls `get` and `command`, any thread the other methods.
    """

    def __init__(
        self,
        books: Books,
        jobs: BookJobs,
        settings: SessionSettings,
        texts: TextLines,
        health: ServerMetrics,
        hidden: re.Pattern[str],
    ) -> None:
        """``settings`` apply to searches of jobs; matches of ``hidden`` are removed from texts for remote clients."""
        self.books = books
        self.jobs = jobs
        self._settings = settings
        self._texts = texts
        self._health = health
        self.looks = Looks(books, jobs, health.mistake)
        self._hidden = hidden
        self._commands_deferred = 0
        """Number of commands deferred, counted by the thread that calls `command`."""
        self._commands_done = 0
        """Number of deferred commands that are done, counted by the thread of deferred work.

        While it is less than the number deferred, later commands are deferred too, to keep the order.
        """

    def status(self) -> Data:
        """Return the book's part of the reply to `status`."""
        books = self.books
        book, opening = books.book, books.opening_job
        loading = opening is not None and not opening.over
        reason = opening.error if opening is not None and opening.failure is not None and book is None else books.reason
        data: Data = {
            "path": os.path.basename(books.opening_file if loading else books.file),  # noqa: PTH119
            "positions": len(book) if book is not None else 0,
            "dirty": self._dirty(),
            "state": OPENING if loading else OPEN if book is not None else FAILED if reason else NONE,
            "writable": book is not None and not reason,
            "reason": self._hidden.sub("", names_of_folders(os.path.dirname(books.file)).sub("", reason)),  # noqa: PTH120
            "holder": books.holder,
        }
        if loading:
            assert opening is not None
            data["opening"] = {name: getattr(opening.progress, name) for name in ("phase", "done", "total")}
        return data

    def _dirty(self) -> bool:
        """Return whether changes may be missing on the disk: without a journal, until the book is saved; with one,
        while a job runs, which may change the book, and after a failed write.
        """
        opened = self.books.opened
        if opened is None:
            return False
        if opened.store is not None:
            return self.jobs.active > 0 or bool(opened.store.failure)
        return self.books.unsaved

    def listed(self, client: ClientRecord) -> list[Data]:
        """Return the jobs as data for the reply to `jobs`; folders are cut from texts for a remote client."""
        return [self._job_data(job, client) for job in self.jobs.listed()]

    def _job_data(self, job: BookJob, client: ClientRecord) -> Data:
        data = progress_data(job) | {"op": job.op, "client": job.client, "state": job.state}
        data |= {"started": job.started, "over": job.state not in (QUEUED, RUNNING)}
        for name in ("eta_s", "positions", "rate", "workers", "slots", "busy"):
            data.pop(name, None)
        for line in [job.error] if job.failure is not None else job.result.get("text", [])[-1:]:
            data["result"] = self._hidden.sub("", line) if client.remote else line
        return data

    def get(self, request: PendingRequest, admit: Callable[[], None]) -> None:
        """Reply to `book.get`, at once if the look-up is quick. Otherwise ``admit`` is called, to count the request in,
        and the reply comes from the thread of deferred work. Raises `RequestError` for wrong arguments, and if
        ``admit`` does.
        """
        children = bool(request.values.get("children"))
        if request.values.get("positions") is not None:
            self._get_many(request, admit, children=children)
            return
        position = last_position(request.values)
        data = self.looks.get(position.player, position.opponent, children=children)
        if data is not None:
            request.final(data)
            return
        admit()
        self._beside(
            request,
            lambda: request.final(self.looks.find(position.player, position.opponent, children=children)),
        )

    def _get_many(self, request: PendingRequest, admit: Callable[[], None], *, children: bool) -> None:
        """Reply with the results in the order of the positions. This thread looks up positions until one is slow or
        `_AT_ONCE_S` is over; the thread of deferred work looks up the rest.
        """
        values = request.values
        check_list_alone(values)
        items = values["positions"]
        replies: list[Prepared] = []
        until = time.perf_counter() + _AT_ONCE_S
        for number, item in enumerate(items):
            position = read_listed(number, item, last_position)
            data = self.looks.get(position.player, position.opponent, children=children)
            if data is None or time.perf_counter() > until:
                admit()
                self._beside(request, lambda: self._get_rest(request, items, replies, children=children))
                return
            replies.append(data)
        request.final(PreparedList({"results": replies}))

    def _get_rest(self, request: PendingRequest, items: list[Data], replies: list[Prepared], *, children: bool) -> None:
        for number in range(len(replies), len(items)):
            if request.over:
                return
            position = read_listed(number, items[number], last_position)
            replies.append(self.looks.find(position.player, position.opponent, children=children))
        request.final(PreparedList({"results": replies}))

    def aside(self, request: PendingRequest, work: Callable[[], Data]) -> None:
        """Reply to the request with the result of ``work``, computed on the thread of deferred work."""
        self._beside(request, lambda: request.final(work()))

    def _beside(self, request: PendingRequest, work: Callable[[], object]) -> None:
        """Run ``work``, which replies to the request, on the thread of deferred work; errors become the reply."""

        def carry_out() -> None:
            try:
                work()
            except RequestError as error:
                request.fail(error)
            except BadInput as error:
                request.fail(RequestError("bad_request", str(error)))

        def fail() -> None:
            request.fail(RequestError("internal", "an internal error: see the daemon's log"))

        self.looks.defer(carry_out, fail)

    def command(self, request: PendingRequest, operation: Operation) -> None:
        """Run the book command of a request, a long one as a job that outlives the client. Raises `RequestError` or
        `BadInput` for wrong arguments.

        What would hold up the loop of the sockets runs on the thread of deferred work; its errors become the reply.
        """
        command = BY_NAME[operation.name.removeprefix("book.")]
        # The first command imports the modules of all; that takes longer than the loop may be held.
        if self.books.opening or not self._commands_done or self._commands_done < self._commands_deferred:
            self._commands_deferred += 1
            self._beside(request, lambda: self._command_in_order(request, command))
        elif command.game:
            self._beside(request, lambda: self._command(request, command))
        else:
            self._command(request, command)

    def _command_in_order(self, request: PendingRequest, command: BookCommand) -> None:
        try:
            handlers()
            self._command(request, command)
        finally:
            self._commands_done += 1

    def _command(self, request: PendingRequest, command: BookCommand) -> None:
        if request.over:
            return
        line = read_line(request.values)
        values = complete(command, request.values)
        for parameter in command.parameters:
            move = values[parameter.name]
            if parameter.kind == "move" and isinstance(move, str):
                values[parameter.name] = parse_move(move)
        client = request.client
        settings = self._texts.settings_of(client) if command.about == OPTIONS else self._settings
        caller = Caller(client.name, settings, line.first, tuple(line.moves), client.remote, client.role)
        job = run_command(self.books, command, values, caller)
        if job.over and job.id == 0:
            self._end(request, job)
            return
        request.outlives = True
        request.attach(job.cancel)
        job.watch(lambda job: self._tell(request, job))

    def _tell(self, request: PendingRequest, job: BookJob) -> None:
        if job.over:
            self._end(request, job)
            return
        request.partial(progress_data(job))

    def _end(self, request: PendingRequest, job: BookJob) -> None:
        if job.state == FAILED:
            error = _explained(job.failure, elsewhere=self.books.holder > 0)
            if request.client.remote:
                error.message = self._hidden.sub("", error.message)
            if error.code == "internal":
                self._health.log.error("job failed", job=job.id, op=job.op, error=job.error)
            request.fail(error)
        elif job.state == CANCELLED:
            request.fail(RequestError("cancelled", f"the job {job.id} was cancelled"))
        else:
            result = {**job.result, "job": job.id}
            for name in ("text", "notes"):
                if request.client.remote and name in result:
                    result[name] = [self._hidden.sub("", line) for line in result[name]]
            request.final(result)


def _explained(failure: Exception | None, *, elsewhere: bool) -> RequestError:
    """Return the error reply for a failed job; ``elsewhere`` says that another process writes the book."""
    from desdaemon.book.errors import ReadOnly, WriteFailed

    if isinstance(failure, RequestError):
        return failure
    if isinstance(failure, Forbidden):
        return RequestError("forbidden", str(failure), "file")
    if isinstance(failure, NoBook):
        return RequestError("not_found", str(failure))
    causes = list(_causes(failure))
    if any(isinstance(cause, WriteFailed) for cause in causes):
        return RequestError("internal", str(failure))
    if any(isinstance(cause, FileNotFoundError) for cause in causes):
        return RequestError("not_found", str(failure), "file")
    if any(isinstance(cause, OSError) and cause.errno in DISK_ERRORS for cause in causes):
        return RequestError("internal", str(failure))
    if not elsewhere and any(isinstance(cause, ReadOnly) for cause in causes):
        return RequestError("internal", str(failure))
    if isinstance(failure, BadInput | OSError | ValueError):
        return RequestError("bad_request", str(failure))
    return RequestError("internal", f"an internal error: {type(failure).__name__}")


def _causes(failure: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its chain of causes."""
    while failure is not None:
        yield failure
        failure = failure.__cause__ or failure.__context__


def progress_data(job: BookJob) -> Data:
    """Return a job's progress as the data of a partial, without the fields that do not apply. For a job on the book
    this is the progress that was reported last.
    """
    # Changes of the book are told only once they are on the disk.
    progress = job.reported if job.on_book else job.progress
    data: Data = {**progress._asdict(), "rate": round(progress.rate, 3)}
    for name in ("step", "round", "added", "searches", "budget"):
        if not (progress.round if name in ("added", "searches") else data[name]):
            del data[name]
    if job.cluster is not None:
        data |= {"workers": job.cluster.workers, "slots": job.cluster.slots, "busy": round(job.cluster.busy, 3)}
    return data
