"""The operations by name: requests of `desdaemon.protocol.wire.messages`, over any carrier, are dispatched to them.

`Operations.handle` takes a message and a function that sends replies. A request gets any number of partials, then
exactly one final or error; long work runs on other threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from re import Pattern
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.metrics import ServerMetrics
from desdaemon.core.threads import ThreadPool, step_back
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.commands.text import TextLine, read_line
from desdaemon.protocol.othello.notation import board_text, move_text
from desdaemon.protocol.othello.rules import squares
from desdaemon.protocol.rows import ADMIN, EDITOR, Operation, load
from desdaemon.protocol.version import __version__
from desdaemon.protocol.wire import constants, messages, positions
from desdaemon.protocol.wire.messages import RequestError

from .questions import check_list
from .request import (
    ENDINGS,
    Address,
    Admission,
    ClientRecord,
    Data,
    PendingRequest,
    Reply,
    ServerLimits,
    TextLines,
    refusal,
)

if TYPE_CHECKING:
    from desdaemon.core.settings import SessionSettings

    from .analysis import AnalysisService
    from .book_operations import BookOperations
    from .parts import Part


class OperationContext(NamedTuple):
    """What the handler of a satellite's operation knows of its daemon.

    ``settings`` are those that clients begin with. Matches of ``hidden``, the names of folders, are removed from
    messages.
    """

    settings: SessionSettings
    hidden: Pattern[str]


class Operations:
    """Dispatches requests to operations. One thread at a time calls `handle`; replies come from any thread."""

    def __init__(
        self,
        health: ServerMetrics,
        limits: ServerLimits,
        analyses: AnalysisService,
        books: BookOperations,
        texts: TextLines,
        parts: Mapping[str, Part],
        context: OperationContext,
        shut_down: Callable[[], None],
    ) -> None:
        """``parts`` are those of satellites, by name. ``shut_down`` is called for an admin's `shutdown`; it must return
        at once.
        """
        self.health = health
        self.limits = limits
        self.analyses = analyses
        self.books = books
        self._context = context
        self._threads: dict[str, ThreadPool] = {}
        """A thread for each module that answers operations of a satellite: nothing else waits for these."""
        self.texts = texts
        self.parts = parts
        self.closing = False
        self._admission = Admission(limits)
        self._accounts = analyses.scheduler.accounts
        self._shut_down = shut_down
        self._handlers: dict[str, Callable[[PendingRequest], Data | None]] = {
            "ping": self._ping,
            "hello": self._hello,
            "metrics": self._metrics,
            "status": self._status,
            "text": self._text,
            "analyze": self._analyze,
            "legal": self._legal,
            "cache.clear": self._cache_clear,
            "book.get": self._book_get,
            "jobs": self._jobs,
            "cancel": self._cancel,
            "shutdown": self._shutdown,
        }

    def handle(self, client: ClientRecord, message: Data, reply: Reply, address: Address = ()) -> None:
        """Carry out a request; errors are sent as its reply. Replies may be sent before this returns.

        Ids in flight are told apart, and found by `cancel`, for each ``address`` of the client.
        """
        try:
            operation, args = messages.check_request(message)
            identity = message["id"]
            if (address, identity) in client.requests:
                raise RequestError("duplicate_id", "a request with this id is still in flight", "id")
        except RequestError as error:
            self.health.refused(error.code)
            reply(refusal(messages.readable_id(message), error))
            return
        request = PendingRequest(client, identity, operation.name, reply, self.health, address)
        request.warnings = messages.unknown_keys(message)
        self._handle(request, lambda: self._carry_out(request, operation, args))

    def handle_text(self, client: ClientRecord, number: int, line: TextLine, reply: Callable[[str], None]) -> None:
        """Carry out a line of the text protocol sent alone, not in a request; its one reply is all its output, or a
        warning.

        ``number`` counts the client's lines; it becomes a negative id, which no request has.
        """

        def answer(message: Data) -> None:
            error = message.get("error")
            reply(f"WARNING: {error['message']}\n" if error else message["data"]["all"])

        request = PendingRequest(client, -1 - number, "line", answer, self.health)
        self._handle(request, lambda: self._run_line(request, line))

    def _handle(self, request: PendingRequest, work: Callable[[], Data | None]) -> None:
        self._accounts.asked(request.client.account)
        request.answer(work)
        self.health.handled(request.operation, time.perf_counter() - request.arrived)

    def _carry_out(self, request: PendingRequest, operation: Operation, args: Data) -> Data | None:
        client = request.client
        if not messages.allows(client.role, operation.role):
            raise RequestError(
                "forbidden", f"{operation.name} needs the role {operation.role}; yours is {client.role}", "op"
            )
        if args:
            request.values, warnings = messages.check_arguments(operation, args)
            request.warnings += warnings
        elif operation.arguments:
            messages.check_arguments(operation, args)
        handler = self._handlers.get(operation.name)
        if handler is not None:
            return handler(request)
        if operation.handler:
            self._beside(request, operation.handler)
            return None
        if operation.part:
            self.admit(request)
            self.parts[operation.part].ask(request)
            return None
        self._check_jobs()
        self.admit(request)
        self.books.command(request)
        return None

    def admit(self, request: PendingRequest, positions: int = 1) -> None:
        """Count a request and its positions as in flight until it ends. Raises `RequestError` beyond the limits, and
        when the daemon is shutting down.
        """
        if self.closing:
            raise RequestError("shutting_down", ENDINGS["shutting_down"])
        client = request.client
        if len(client.requests) >= self.limits.in_flight:
            raise RequestError("busy", f"{self.limits.in_flight} requests of this client are in flight: try later")
        key = client.account
        self._admission.enter(client, positions)
        request.leave = lambda: self._admission.leave(client.number, key, positions)
        client.requests[request.key] = request

    def _check_jobs(self) -> None:
        """Raise `RequestError` if the jobs on the book, the look-ups and the commands that wait reach the limit
        ``queue``. `admit` does not count jobs, because they outlive their requests.
        """
        books = self.books
        if books.jobs.active + len(books.lookers.waiting) + len(books.commanders.waiting) >= self.limits.queue:
            raise RequestError("busy", f"{self.limits.queue} jobs wait for their turn: try later")

    def drop(self, client: ClientRecord, code: str = "cancelled") -> None:
        """End the requests of a client that has disconnected or may ask no more, with the error ``code``, a key of
        `ENDINGS`; jobs go on, and so do lines that outlive their client.
        """
        self.texts.leave(client)
        for request in list(client.requests.values()):
            if request.outlives:
                request.cancel = None
            request.found = None
            self.end(request, code=code)

    def end(self, request: PendingRequest, *, code: str = "cancelled", keep: bool = False) -> bool:
        """Cancel a request and its work, with the error ``code``, a key of `ENDINGS`. Returns False if it had ended.

        The results so far, if there are any, are sent with the error or, with ``keep``, as the final in its place.
        """
        # Read first: ending the request clears both.
        cancel, so_far = request.cancel, request.found
        results = so_far() if so_far is not None and not request.over else None
        if keep and results is not None:
            stopped = request.final(results)
        else:
            stopped = request.fail(RequestError(code, ENDINGS[code]), results)
        if cancel is not None:
            cancel()
        return stopped

    # The operations

    def _ping(self, request: PendingRequest) -> Data:
        return {}

    def _hello(self, request: PendingRequest) -> Data:
        role = request.client.role
        limits: Data = {
            "body": constants.LARGEST_BODY,
            "line": constants.LONGEST_LINE,
            "multipv": constants.MOST_LINES,
            "plies": constants.MOST_PLIES,
            "positions": constants.MOST_POSITIONS,
            "items": constants.MOST_ITEMS,
            "results": constants.MOST_RESULTS,
            **self.limits._asdict(),
        }
        return {
            "name": "desdaemon",
            "version": __version__,
            "protocol": constants.VERSION,
            "role": role,
            "ops": [offered.name for offered in messages.OPERATIONS if self._offers(offered, role)],
            "features": list(messages.FEATURES),
            "limits": limits,
        }

    def _offers(self, operation: Operation, role: str) -> bool:
        if operation.part and not self.parts[operation.part].available:
            return False
        return messages.allows(role, operation.role)

    def _metrics(self, request: PendingRequest) -> Data:
        return {"text": self.metrics()}

    def metrics(self) -> str:
        """Return counters and latencies as OpenMetrics text."""
        return self.health.open_metrics(self.status())

    def _status(self, request: PendingRequest) -> Data:
        data = self.status()
        if messages.allows(request.client.role, ADMIN):
            data["accounts"] = [
                {
                    "key": name,
                    "requests": account.requests,
                    "nodes": account.nodes,
                    "seconds": round(account.seconds, 3),
                    "in_flight": self._admission.in_flight(name),
                }
                for name, account in self._accounts.listed()
            ]
        return data

    def status(self) -> Data:
        """Return the data of the operation `status`."""
        scheduler = self.analyses.scheduler
        book = self.books.status()
        # The book that ships takes no changes, which is no fault.
        problems = [f"book: {book['reason']}"] if book["reason"] and book["path"] != BUILTIN_BOOK else []
        data: Data = {
            "uptime_s": self.health.uptime_s,
            "threads": scheduler.slots,
            "queued": scheduler.queued,
            "running": scheduler.running,
            "nodes": self.health.nodes,
            "book": book,
            "problems": [*problems, *self.health.problems],
            "memory_mb": self.health.memory_mb,
            "loop": {
                "longest_turn_ms": round(1000 * self.health.longest_turn_s, 3),
                "longest_request_ms": round(1000 * self.health.longest_operation[0], 3),
                "longest_request": self.health.longest_operation[1],
            },
            "clients": self.health.clients,
            "pid": os.getpid(),
        }
        return data | {name: part.status() for name, part in self.parts.items() if part.available}

    def _text(self, request: PendingRequest) -> None:
        self._run_line(request, read_line(request.values["line"]))

    def _run_line(self, request: PendingRequest, line: TextLine) -> None:
        try:
            if line.outlives:
                self._check_jobs()
            self.admit(request)
        except RequestError:
            self.texts.refused(request.client)
            raise
        self.texts.request(request, line)

    def _analyze(self, request: PendingRequest) -> None:
        values = request.values
        if values.get("positions") is not None:
            check_list(values)
        listed = len(values.get("positions") or ()) * values.get("multipv", 1)
        self.admit(request, max(1, len(values.get("plies") or ()), listed))
        self.analyses.ask(request)

    def _legal(self, request: PendingRequest) -> Data:
        position = positions.read_line(request.values).last
        moves = [move_text(move).lower() for move in squares(position.moves)]
        if not moves and position.must_pass:
            moves = ["pa"]
        return {
            "moves": moves,
            "board": board_text(position),
            "over": not moves,
            "discs": [position.black.bit_count(), position.white.bit_count()],
        }

    def _book_get(self, request: PendingRequest) -> Data | None:
        if self.closing:
            # A closed book must not be taken for one without the position.
            raise RequestError("shutting_down", ENDINGS["shutting_down"])
        return self.books.get(request, lambda: self.admit(request))

    def _beside(self, request: PendingRequest, place: str) -> None:
        """Have a satellite's handler answer a request, on its thread: it may load the engine, which takes a minute."""
        self.admit(request, max(1, len(request.values.get("positions") or ())))
        module = place.partition(":")[0]
        thread = self._threads.get(module) or self._threads.setdefault(module, ThreadPool(1, module, step_back))
        thread.submit(partial(request.answer, lambda: load(place)(self._context, request)))

    def _cache_clear(self, request: PendingRequest) -> None:
        self.books.later(request, lambda: {"forgotten": self.analyses.cache.clear()})

    def _jobs(self, request: PendingRequest) -> Data:
        return {"jobs": self.books.listed(request.client)}

    def _cancel(self, request: PendingRequest) -> Data:
        target, number, everything = (request.values.get(name) for name in ("target", "job", "all"))
        if (target is not None) + (number is not None) + bool(everything) != 1:
            raise RequestError("bad_request", "expected one of target, job and all", "target")
        keep = bool(request.values.get("keep"))
        if everything:
            requests = [each for each in list(request.client.requests.values()) if each.address == request.address]
            ended = [self.end(each, keep=keep) for each in requests]
            return {"cancelled": any(ended), "number": sum(ended)}
        if number is None:
            named = request.client.requests.get((request.address, target)) if target is not None else None
            return {"cancelled": named is not None and self.end(named, keep=keep)}
        job = self.books.jobs.find(number)
        editor = messages.allows(request.client.role, EDITOR)
        if not editor and (job is None or job.on_book or job.client != request.client.name):
            message = f"cancelling a job needs the role editor; yours is {request.client.role}"
            raise RequestError("forbidden", message, "job")
        if job is None:
            raise RequestError("not_found", f"there is no job {number}", "job")
        return {"cancelled": self.books.jobs.cancel(number)}

    def _shutdown(self, request: PendingRequest) -> None:
        request.final({})
        self._shut_down()
