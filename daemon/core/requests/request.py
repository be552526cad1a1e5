"""A client that sends requests, a request in flight, and the limits for both."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from desdaemon.core.metrics import account_of
from desdaemon.protocol.errors import BadInput, lacking
from desdaemon.protocol.wire import constants
from desdaemon.protocol.wire.messages import RequestError

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.core.settings import SessionSettings
    from desdaemon.protocol.commands.text import TextLine

ENDINGS = {
    "cancelled": "the request was cancelled",
    "forbidden": "this key was revoked",
    "shutting_down": "the daemon is about to end",
}
"""The messages of errors that end requests in flight, by code."""

MISTAKE = "an internal error: see the daemon's log"
"""The message of an error that a mistake in the daemon has caused."""

_NUMBERS = itertools.count(1)

SMALL = 4
"""Positions that a client with nothing in flight may always request."""

Data = dict[str, Any]
Reply = Callable[[Data], None]

Address = tuple[bytes, ...]
"""Tells apart those who send requests through one client, as through a broker: () for the client itself."""

RequestKey = tuple[Address, str | int]
"""Identifies a request in flight of a client: its address and its id."""


class ServerLimits(NamedTuple):
    """The limits for clients, keys and the daemon, as ``--limit`` sets them; docs/server.md describes each."""

    in_flight: int = 64
    queue: int = 8192
    key_queue: int = 4096
    backlog: int = 1000
    backlog_bytes: int = 1 << 20
    grace_s: int = 15
    session_s: int = 3600
    clients: int = 4096
    analyses_bytes: int = 32 << 20
    batches: int = 16
    batch_bytes: int = 256 << 20


class ClientRecord:
    """A client: name, role, requests in flight. A ``remote`` client may name only files in the data folder."""

    def __init__(self, name: str, role: str, *, remote: bool = True) -> None:
        self.rename(name)
        self.role = role
        self.remote = remote
        self.number = next(_NUMBERS)
        """The client's number, unique in the process."""
        self.requests: dict[RequestKey, PendingRequest] = {}
        self.parting: set[PendingRequest] = set()
        """Requests that are over, but whose last reply was not handed over yet."""
        self.texts: Any = None
        """The client's text session, which `TextSessions` keeps here."""

    @property
    def departed(self) -> bool:
        """Whether the client has gone for good and can receive no replies."""
        return False

    def rename(self, name: str) -> None:
        """Set ``name``, and with it ``account``, to which the client's work is charged (`account_of`)."""
        self.name = name
        self.account = account_of(name)


class PendingRequest:
    """A request in flight for ``operation``. Any thread may call the methods."""

    __slots__ = (
        "_health",
        "_lock",
        "_reply",
        "_seq",
        "address",
        "arrived",
        "cancel",
        "client",
        "endless",
        "found",
        "id",
        "leave",
        "operation",
        "outlives",
        "over",
        "values",
        "warnings",
    )

    def __init__(
        self,
        client: ClientRecord,
        identity: str | int,
        operation: str,
        reply: Reply,
        health: ServerMetrics,
        address: Address = (),
    ) -> None:
        self.client = client
        self.id = identity
        self.address = address
        self.operation = operation
        self.values: Data = {}
        self.warnings: list[str] = []
        self.arrived = time.perf_counter()
        self.over = False
        self.cancel: Callable[[], None] | None = None
        """Ends the request's work, without a reply; None before `attach` and once the request is over."""
        self.found: Callable[[], Data | None] | None = None
        """Returns an analysis's results so far, as a final with ``finished`` false.

        None before `attach`, once the request is over, and for other operations.
        """
        self.endless = False
        """Whether only a cancel ends the request."""
        self.outlives = False
        """Whether dropping the request ends no work: a job on the book goes on, and for a line its session decides."""
        self.leave: Callable[[], None] | None = None
        """Takes the request out of the numbers in flight."""
        self._reply = reply
        self._health = health
        self._seq = 0
        self._lock = threading.Lock()

    @property
    def key(self) -> RequestKey:
        return self.address, self.id

    def attach(self, cancel: Callable[[], None], found: Callable[[], Data | None] | None = None) -> bool:
        """Set two functions: ``cancel`` ends the work, ``found`` returns the results so far. Returns False if the
        request is over; then neither is called, and the caller must end the work.
        """
        with self._lock:
            if not self.over:
                self.cancel = cancel
                self.found = found
            return not self.over

    def answer(self, work: Callable[[], Data | None]) -> None:
        """End the request with the result of ``work``, or with the error that it raises; a result of None means that
        ``work`` has seen to the reply. A request that is over does nothing.
        """
        if self.over:
            return
        try:
            data = work()
            if data is not None:
                self.final(data)
        except RequestError as error:
            self.fail(error)
        except BadInput as error:
            self.fail(RequestError("bad_request", str(error)))
        except Exception as error:
            reason = lacking(error)
            if not reason:
                self._health.mistake(self.operation)
            self.fail(RequestError("internal", reason or MISTAKE))

    def partial(self, data: Data) -> bool:
        """Send an intermediate result. Returns False if the request is over."""
        with self._lock:
            return not self.over and self._send("partial", "data", data)

    def final(self, data: Data) -> bool:
        """End the request and send its result. Returns False, having sent nothing, if it was over."""
        return self._end("final", "data", data)

    def fail(self, error: RequestError, found: Data | None = None) -> bool:
        """End the request and send an error, with the results so far if ``found`` is not None. Returns False, having
        sent nothing, if it was over.
        """
        failed = self._end("error", "error", error.data(), found)
        if failed:
            self._health.refused(error.code)
        return failed

    def _end(self, kind: str, key: str, data: Data, found: Data | None = None) -> bool:
        with self._lock:
            if self.over:
                return False
            self.over = True
            self.client.parting.add(self)
            # Before the reply is sent, because its receiver may use the id again.
            if self.client.requests.get(self.key) is self:
                del self.client.requests[self.key]
            if self.leave is not None:
                self.leave()
            try:
                self._send(kind, key, data, found)
            finally:
                self.client.parting.discard(self)
                # They refer to this request; without the cycle it is freed now, not minutes later by the garbage
                # collector.
                self.cancel = self.found = self.leave = None
        log = self._health.log
        if log.debugging:
            fields: Data = {"client": self.client.name, "op": self.operation, "id": self.id}
            fields["ms"] = round(1000 * (time.perf_counter() - self.arrived), 1)
            if kind == "error":
                fields["error"] = data["code"]
            log.write("debug", "request", fields)
        return True

    def _send(self, kind: str, key: str, data: Data, found: Data | None = None) -> bool:
        message: Data = {"v": constants.VERSION, "id": self.id, "type": kind, "seq": self._seq, key: data}
        if found is not None:
            message["data"] = found
        self._seq += 1
        if self.warnings:
            message["warnings"] = self.warnings
            self.warnings = []
        self._reply(message)
        return True


class Admission:
    """Counts positions in flight by client, by key and in all, and refuses requests beyond the limits.

    A client may use half of what its key has left, a key half of what the daemon has left, so that none shuts the
    others out. A client with nothing in flight may always request `SMALL` positions.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._total = 0
        self._keys: dict[str, int] = {}
        self._clients: dict[int, int] = {}
        self._lock = threading.Lock()

    def enter(self, client: ClientRecord, positions: int) -> None:
        """Count a request's positions as in flight; call `leave` at its end. Raises `RequestError` (``busy``) over a
        limit.
        """
        limits, key, number = self._limits, client.account, client.number
        with self._lock:
            mine, ours = self._clients.get(number, 0), self._keys.get(key, 0)
            if mine or positions > SMALL:
                left = limits.queue - self._total
                if mine + positions > min(left, limits.key_queue - ours) or ours + positions > left:
                    most = min(limits.queue, limits.key_queue)
                    if positions > most:
                        raise RequestError("busy", f"{positions} positions in a request: expected at most {most}")
                    raise RequestError(
                        "busy",
                        f"{mine} positions of this client, {ours} of {key} and {self._total} of all are in flight: "
                        "try later",
                    )
            self._clients[number] = mine + positions
            self._keys[key] = ours + positions
            self._total += positions

    def leave(self, number: int, key: str, positions: int) -> None:
        """Undo `enter` for a request that has ended, with its client's number and key. Any thread may call it."""
        with self._lock:
            self._total -= positions
            mine, ours = self._clients.pop(number) - positions, self._keys.pop(key) - positions
            if mine:
                self._clients[number] = mine
            if ours:
                self._keys[key] = ours

    def in_flight(self, key: str) -> int:
        """Return the number of positions in flight of a key."""
        return self._keys.get(key, 0)


def refusal(identity: str | int | None, error: RequestError) -> Data:
    """Return the error reply to a message that is no valid request; ``identity`` is its id, None without one."""
    return {"v": constants.VERSION, "id": identity, "type": "error", "seq": 0, "error": error.data()}


class TextLines(Protocol):
    """Runs lines of the text protocol for clients that send requests, each client's in a session of its own."""

    def request(self, request: PendingRequest, line: TextLine) -> None:
        """Queue a request's line, to be run and replied to on another thread. Raises `RequestError` if it is not
        allowed.
        """

    def refused(self, client: ClientRecord) -> None:
        """Note that a line of ``client`` was refused before it came to `request`.

        Until all its waiting and running lines are over, further lines do not outlive the client. If it has gone
        already, no further line is run.
        """

    def leave(self, client: ClientRecord) -> None:
        """Note that a client has gone. Its lines go on up to the last one that outlives the client, but those that only
        ask for a reply are cancelled, as are all later lines.
        """

    def settings_of(self, client: ClientRecord) -> SessionSettings:
        """Return the options of the client's session; a new session begins with the daemon's options."""

    def close(self) -> None:
        """Start no more lines of any client; running ones go on."""
