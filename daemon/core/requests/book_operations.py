"""The operations on the book: look-ups, answered at once, and book commands, run as jobs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.core.books.allowed_files import Forbidden
from desdaemon.core.books.jobs import CANCELLED, FAILED, QUEUED, RUNNING, BookJob
from desdaemon.core.books.lookup import Looks
from desdaemon.core.books.running import DISK_ERRORS, run_command
from desdaemon.core.books.service import Books, Caller, NoBook
from desdaemon.core.paths import names_of_folders
from desdaemon.core.settings import SessionSettings
from desdaemon.core.threads import ThreadPool
from desdaemon.protocol.commands.book import BY_NAME, complete
from desdaemon.protocol.commands.book_rows import OPTIONS
from desdaemon.protocol.errors import BadInput, lacking
from desdaemon.protocol.othello.notation import Position, parse_move
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

    from .request import ClientRecord, Data, PendingRequest, TextLines

_AT_ONCE_S = 0.004

NONE, OPENING, OPEN = "none", "opening", "open"
"""States of the book in `status`; the fourth is `FAILED`: the book's file could not be opened."""


class BookOperations:
    """Carries out the operations on the book: quick look-ups at once, all else on threads, once no book is being
    opened. One thread calls `get`, any thread the other methods.
    """

    def __init__(
        self,
        books: Books,
        settings: SessionSettings,
        texts: TextLines,
        health: ServerMetrics,
        hidden: re.Pattern[str],
    ) -> None:
        """``settings`` apply to searches of jobs; matches of ``hidden`` are removed from texts for remote clients."""
        self.books = books
        self.jobs = books.jobs
        self._settings = settings
        self._texts = texts
        self._health = health
        self._looks = Looks(books)
        self._hidden = hidden
        self.lookers = ThreadPool(1, "looks", begun=True)
        self.commanders = ThreadPool(1, "commands", begun=True)

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
        if self.books.store is not None:
            return self.jobs.active > 0 or bool(self.books.failure)
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

    def get(self, request: PendingRequest, admit: Callable[[], None]) -> Data | None:
        """Return the reply to `book.get`. If the look-up is slow, ``admit`` is called, to count the request in, the
        reply comes from the thread of slow look-ups, and None is returned. Raises `RequestError` for wrong arguments,
        and if ``admit`` does.

        Of a list of positions this thread looks up the first ones, until one is slow or `_AT_ONCE_S` is over.
        """
        values = request.values
        children, items = bool(values.get("children")), values.get("positions")
        if items is not None:
            check_list_alone(values)
        replies: list[Prepared] = []
        until = time.perf_counter() + _AT_ONCE_S
        for position in _positions(values, 0):
            data = self._looks.get(position.player, position.opponent, children=children)
            if data is None or time.perf_counter() > until:
                admit()
                self.later(request, lambda: self._find(request, replies, children=children))
                return None
            replies.append(data)
        return PreparedList({"results": replies}) if items is not None else replies[0]

    def _find(self, request: PendingRequest, replies: list[Prepared], *, children: bool) -> Data | None:
        """Look up the positions that have none of the ``replies`` yet. Returns None if the request ends meanwhile."""
        for position in _positions(request.values, len(replies)):
            if request.over:
                return None
            replies.append(self._looks.find(position.player, position.opponent, children=children))
        return PreparedList({"results": replies}) if request.values.get("positions") is not None else replies[0]

    def later(self, request: PendingRequest, work: Callable[[], Data | None]) -> None:
        """Reply to the request with the result of ``work``, computed on the thread of slow look-ups."""
        self._submit(self.lookers, request, work)

    def _submit(self, pool: ThreadPool, request: PendingRequest, work: Callable[[], Data | None]) -> None:
        def carry_out() -> None:
            self.books.ready()
            request.answer(work)

        pool.submit(carry_out)

    def command(self, request: PendingRequest) -> None:
        """Run the book command of a request on a thread, a long one as a job that outlives the client. Errors become
        the reply.
        """
        self._submit(self.commanders, request, lambda: self._command(request))

    def _command(self, request: PendingRequest) -> None:
        command = BY_NAME[request.operation.removeprefix("book.")]
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
            naming = BY_NAME[request.operation.removeprefix("book.")].saves
            fixed = self.books.holder > 0 or (self.books.opened is not None and self.books.opened.refusal != "")
            error = _explained(job.failure, fixed=fixed, naming=naming)
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


def _positions(values: Data, first: int) -> Iterator[Position]:
    """Yield the positions of a request: those of its list from the number ``first`` on, or the only one. Raises
    `RequestError` for a wrong one.
    """
    items = values.get("positions")
    if items is None:
        yield last_position(values)
        return
    for number in range(first, len(items)):
        yield read_listed(number, items[number], last_position)


def _explained(failure: Exception | None, *, fixed: bool, naming: bool) -> RequestError:
    """Return the error reply for a failed job; ``fixed`` says that another process writes the book, or that it is of a
    kind that takes no changes, ``naming`` that the job wrote a file that its client named.
    """
    from desdaemon.book.front import ReadOnly, WriteFailed

    if isinstance(failure, RequestError):
        return failure
    if failure is not None and (reason := lacking(failure)):
        return RequestError("internal", reason)
    if isinstance(failure, Forbidden):
        return RequestError("forbidden", str(failure), "file")
    if isinstance(failure, NoBook):
        return RequestError("not_found", str(failure))
    causes = list(_causes(failure))
    refused = next((cause for cause in causes if isinstance(cause, OSError)), None)
    of_disk = refused is None or refused.errno in DISK_ERRORS
    if any(isinstance(cause, WriteFailed) for cause in causes) and (of_disk or not naming):
        return RequestError("internal", str(failure))
    if isinstance(refused, FileNotFoundError):
        return RequestError("not_found", str(failure), "file")
    if refused is not None and of_disk:
        return RequestError("internal", str(failure))
    if not fixed and any(isinstance(cause, ReadOnly) and cause.of_file for cause in causes):
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
    if job.helpers is not None:
        data |= {"workers": job.helpers.workers, "slots": job.helpers.slots, "busy": round(job.helpers.busy, 3)}
    return data
