"""The asyncio client.

    async with await AsyncClient.connect() as client:
        analysis = client.analyze(moves="f5d6c3", level=16, partial_ms=200)
        async for partial in analysis:
            print(partial.best)
        print((await analysis).best)

Any number of requests may be made at once; if there are more than the daemon takes from one client, the rest wait here.

When the connection breaks, the client connects again, to the daemon that runs at the endpoint by then. Requests in
flight are sent again if they change nothing; their partials may start over. Other requests in flight raise
`ConnectionLost`, because the daemon may have carried them out.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar, Unpack

import zmq

from desdaemon.protocol.wire import codec, constants

from . import results
from .connection import CONNECTED, DaemonAddress, DaemonLink, equip, find
from .errors import Cancelled, ConnectionLost, DaemonError, Forked, NoDaemon, from_reply
from .handle import AsyncHandle
from .requests import (
    AnalysisLimits,
    BatchItem,
    BatchLimits,
    ListedPosition,
    game_length,
    item_args,
    position_args,
)
from .results import Analysed, BatchPage, BatchResult, BookPosition, Data, Hello, JobDone, JobProgress, Legal

Analysis = AsyncHandle[Analysed, Analysed]
GameAnalysis = AsyncHandle[Analysed, tuple[Analysed, ...]]
ListAnalysis = AsyncHandle[Analysed, tuple[Analysed, ...]]
BookJob = AsyncHandle[JobProgress, JobDone]
P = TypeVar("P")
F = TypeVar("F")

_NOT_GREETED = Hello("", "", 0, "", (), (), {})
_CHECK_S = 0.25
_WINDOW_BEFORE_HELLO = 8
_RESERVED = 2
"""Requests in flight that the daemon would grant beyond those that are sent."""
_AT_ONCE = frozenset(("ping", "hello", "status", "metrics", "legal", "jobs", "cancel"))
"""Operations that the daemon answers at once and does not count among those in flight."""


def _as_it_is(data: Data) -> Data:
    return data


def _body(number: int, op: str, args: Data) -> bytes:
    try:
        body = codec.encode({"v": constants.VERSION, "id": number, "op": op, "args": dict(args)})
    except codec.WireError as error:
        raise DaemonError("bad_request", str(error)) from None
    if len(body) > constants.LARGEST_BODY:
        raise DaemonError("too_large", f"a request of {len(body)} bytes: expected at most {constants.LARGEST_BODY}")
    return body


class AsyncClient:
    """A client of one daemon. ``hello`` is the daemon's last greeting, ``connections`` counts the connections made."""

    def __init__(self, seek: Callable[[], DaemonAddress], patience_s: float) -> None:
        self.hello = _NOT_GREETED
        self.connections = 0
        self._seek = seek
        self._patience_s = patience_s
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._target = seek()
        self._link: DaemonLink | None = None
        self._numbers = itertools.count(1)
        self._open: dict[int, AsyncHandle[Any, Any]] = {}
        self._counted = 0
        """Requests in flight that the daemon counts."""
        self._waiting: deque[AsyncHandle[Any, Any]] = deque()
        self._window = _WINDOW_BEFORE_HELLO
        self._ready = False
        self._closed = False
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._checking: asyncio.TimerHandle | None = None
        self._make_link()
        self._check()

    @classmethod
    async def connect(
        cls,
        endpoint: str | None = None,
        *,
        key: str | os.PathLike[str] | None = None,
        server_key: str | None = None,
        timeout_s: float = 5.0,
        patience_s: float = 30.0,
    ) -> AsyncClient:
        """Return a client of the daemon at an endpoint, such as ``tcp://host:6464``, by default of the one on this
        machine.

        ``key`` is the client's key file. ``server_key``, the daemon's public key (Z85), replaces the one in that file;
        without ``key`` the client gets a new pair of keys. If the daemon is lost later, requests wait up to
        ``patience_s`` for it to come back. Raises `NoDaemon` if no daemon is found or none answers within
        ``timeout_s``, and `DaemonError`, with code ``forbidden``, for keys that are unusable or refused.
        """
        client = cls(lambda: find(endpoint, key, server_key), patience_s)
        try:
            done, _ = await asyncio.wait((client._greeted,), timeout=timeout_s)
            if not done:
                raise NoDaemon(f"{client._target.requests}: no answer within {timeout_s} s")
            client._greeted.result()
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection: running analyses are cancelled, book jobs go on in the daemon. Unfinished and later
        requests raise `ConnectionLost`. Does nothing in a process that inherited the client, or when called again.
        """
        if os.getpid() != self._process:
            # In a fork the connection belongs to the other process.
            return
        self._closed, self._ready = True, False
        if self._checking:
            self._checking.cancel()
        for handle in self._unfinished():
            if handle.sent and self._link and handle.op == "analyze":
                self._send(_body(next(self._numbers), "cancel", {"target": handle.id}))
            handle.fail(ConnectionLost("the client was closed"))
        self._forget_all()
        self._drop_link(linger_ms=200)
        self._greeted.cancel()

    @property
    def connected(self) -> bool:
        """Whether the daemon has greeted over the present connection."""
        return self._ready

    # Requests

    def start(
        self,
        op: str,
        args: Data | None = None,
        read_partial: Callable[[Data], P | None] = _as_it_is,  # type: ignore[assignment]
        read_final: Callable[[Data], F] = _as_it_is,  # type: ignore[assignment]
    ) -> AsyncHandle[P, F]:
        """Make a request, which is sent when the daemon has room for it, and return its handle at once.

        ``read_partial`` and ``read_final`` convert the data of replies for the handle; a partial read as None is
        dropped.

        Raises `DaemonError` for arguments that cannot be sent, and `Forked` in a process that inherited the client.
        """
        if os.getpid() != self._process:
            raise Forked(self._process)
        number = next(self._numbers)
        handle = AsyncHandle(number, op, _body(number, op, args or {}), read_partial, read_final, self._send_cancel)
        handle.deadline = self._loop.time() + self._patience_s
        if self._closed:
            handle.fail(ConnectionLost("the client was closed"))
        elif op in _AT_ONCE and self._ready:
            self._submit(handle)
        else:
            self._waiting.append(handle)
            self._pump()
        return handle

    async def request(self, op: str, args: Data | None = None, *, timeout_s: float | None = None) -> Data:
        """Make a request for any operation and return the final's data. Raises `DaemonError`: the reply's error,
        `ConnectionLost`, or after ``timeout_s`` (None: never) `TimedOut`; then the request is cancelled.
        """
        handle: AsyncHandle[Data, Data] = self.start(op, args)
        return await handle.result(timeout_s)

    async def ping(self, timeout_s: float | None = 5.0) -> float:
        """Return the milliseconds of a round trip to the daemon, including any wait for a lost connection. Raises
        `ConnectionLost`, or `TimedOut` after ``timeout_s`` (None: never).
        """
        began = self._loop.time()
        await self.request("ping", timeout_s=timeout_s)
        return 1000 * (self._loop.time() - began)

    def analyze(self, board: str | None = None, moves: str = "", **limits: Unpack[AnalysisLimits]) -> Analysis:
        """Start to analyse the position after ``moves`` from ``board`` (None: the standard start). With ``partial_ms``,
        partials show the progress.
        """
        return self.start("analyze", {**position_args(board, moves), **limits}, results.analysed, results.analysed)

    def analyze_game(
        self,
        moves: str,
        board: str | None = None,
        plies: Iterable[int] | None = None,
        **limits: Unpack[AnalysisLimits],
    ) -> GameAnalysis:
        """Start to analyse positions of a game from ``board`` (None: the standard start). ``plies`` lists them by the
        number of moves before them, passes counted; None: all. Each finished ply is a partial; the final has all.

        With ``partial_ms``, further partials, whose ``done`` is false, show the progress of each ply.
        """
        wanted = results.analysed if limits.get("partial_ms") else results.analysed_and_done
        listed = list(range(game_length(board, moves) + 1) if plies is None else plies)
        args = {**position_args(board, moves), **limits, "plies": listed}
        return self.start("analyze", args, wanted, results.game_analysed)

    def analyze_many(self, positions: Iterable[ListedPosition], **limits: Unpack[AnalysisLimits]) -> ListAnalysis:
        """Start to analyse up to 1,000 positions in one request. The final has their analyses in order; after a cancel
        some are missing. ``item`` is a position's place in the list, from 0.

        Partials come only with ``partial_ms``: one for each finished position, and others, whose ``done`` is false, for
        the progress of a position.
        """
        args = {"positions": item_args(positions), **limits}
        return self.start("analyze", args, results.analysed, results.list_analysed)

    async def legal(self, board: str | None = None, moves: str = "") -> Legal:
        """Return the legal moves, board and discs of the position after ``moves`` from ``board`` (None: the standard
        start), and whether the game is over.
        """
        return await self.start("legal", position_args(board, moves), _as_it_is, results.legal)

    async def book_get(self, board: str | None = None, moves: str = "", *, children: bool = False) -> BookPosition:
        """Return the book's data about the position after ``moves`` from ``board`` (None: the standard start); its
        ``found`` is false if the book has none. ``children`` adds data about each legal move that the book knows.
        """
        args = position_args(board, moves)
        args |= {"children": True} if children else {}
        return await self.start("book.get", args, _as_it_is, results.book_position)

    async def look_up(self, lines: Iterable[str]) -> list[BookPosition]:
        """Return the book's data about the positions after ``lines``, texts of moves from the standard start; all are
        requested together. ``found`` is false for a position that the book does not have.
        """
        handles = [
            self.start("book.get", position_args(None, line), _as_it_is, results.book_position) for line in lines
        ]
        return [await handle for handle in handles]

    def book(self, command: str, **args: Any) -> BookJob:
        """Start a book command, such as ``deviate``. A command that takes time is a job; partials show its progress.

        Arguments are named as the daemon's `help book` names them, with ``_`` for ``-``.
        """
        named = {name.replace("_", "-"): value for name, value in args.items()}
        name = command.replace("_", "-")
        return self.start(f"book.{name}", named, results.progress, results.job_done)

    async def analyze_batch(
        self, items: Iterable[BatchItem] | None = None, *, file: str | None = None, **limits: Unpack[BatchLimits]
    ) -> int:
        """Start to analyse many positions as a job of the lowest priority. Returns the job's number, which stays valid
        when the daemon restarts.

        In place of ``items``, ``file`` may name a file in the daemon's data folder, which needs the role admin. Results
        are kept until `batch_forget`.
        """
        args: dict[str, Any] = dict(limits)
        if items is not None:
            args["items"] = item_args(items)
        if file is not None:
            args["file"] = file
        return int((await self.request("analyze.batch", args))["job"])

    async def batch_results(self, job: int, after: int = 0, limit: int = 1000) -> BatchPage:
        """Return at most ``limit`` results of a batch, in the order in which they were found, without waiting for more.

        The page begins after the cursor ``after``: 0 for the first page, later the ``cursor`` of the page before.
        """
        args = {"job": job, "after": after, "limit": limit}
        return await self.start("batch.results", args, _as_it_is, results.batch_page)

    async def batch(self, job: int, *, after: int = 0, poll_s: float = 0.5) -> AsyncIterator[BatchResult]:
        """Yield the results of a batch in the order in which they are found, and end with the batch. ``after`` is the
        cursor to go on from, 0 for the beginning. If there are no new results, the daemon is asked again every
        ``poll_s`` seconds.
        """
        while True:
            page = await self.batch_results(job, after)
            for result in page.results:
                yield result
            after = page.cursor
            if page.done:
                return
            if not page.results:
                await asyncio.sleep(poll_s)

    async def batch_forget(self, job: int) -> bool:
        """Cancel a batch, if it runs, and remove its results. Returns True; raises `DaemonError` if there is no such
        batch.
        """
        return bool((await self.request("batch.forget", {"job": job}))["forgotten"])

    async def cache_clear(self) -> int:
        """Clear the daemon's cache of analyses. Returns the number of positions removed; needs the role admin."""
        return int((await self.request("cache.clear"))["forgotten"])

    async def jobs(self) -> list[Data]:
        """Return the book jobs that wait, run or have ended recently, and the batches that are kept, a map each."""
        return list((await self.request("jobs"))["jobs"])

    async def cancel_job(self, job: int) -> bool:
        """Cancel a book job or a batch of any client. Returns False if it had ended already; needs the role editor, or
        the key of the batch.
        """
        return bool((await self.request("cancel", {"job": job}))["cancelled"])

    async def text(self, line: str) -> tuple[str, str]:
        """Run a command of the text protocol in this client's session. Returns its output and its error messages, each
        "" if there is none.
        """
        data = await self.request("text", {"line": line})
        return str(data.get("out", "")), str(data.get("err", ""))

    async def status(self) -> Data:
        """Return the reply to `status`: threads, queue, book, memory and more."""
        return await self.request("status")

    async def metrics(self) -> str:
        """Return the daemon's metrics as OpenMetrics text."""
        return str((await self.request("metrics"))["text"])

    async def shutdown(self) -> None:
        """End the daemon; needs the role admin."""
        await self.request("shutdown")

    async def events(self, *topics: str) -> AsyncIterator[tuple[str, Data]]:
        """Yield topic and data of events as they arrive: of the ``topics``, such as ``job.<id>``, ``book`` and
        ``status``, or without ``topics`` of all.

        Events before the first step of the iteration are missed. The iteration listens to the daemon of that moment; if
        the client connects to a daemon elsewhere, call this again.
        """
        import zmq.asyncio

        context: zmq.asyncio.Context = zmq.asyncio.Context.shadow(self._context)
        socket = context.socket(zmq.SUB)
        equip(socket, self._target, self._target.events)  # type: ignore[arg-type]
        try:
            for topic in topics or ("",):
                socket.subscribe(topic)
            while True:
                frames = await socket.recv_multipart()
                try:
                    topic, data = frames[0].decode(), codec.decode(frames[-1])
                except ValueError:
                    continue
                if not topics or topic in topics:
                    yield topic, data
        finally:
            socket.close(linger=0)

    # The connection

    def _submit(self, handle: AsyncHandle[Any, Any]) -> None:
        self._open[handle.id] = handle
        self._counted += handle.op not in _AT_ONCE
        handle.sent = True
        self._send(handle.body)

    def _send(self, body: bytes) -> None:
        assert self._link
        self._link.send(body)
        # Sending may swallow the signal that a reply has arrived.
        self._loop.call_soon(self._receive, self._link)

    def _pump(self) -> None:
        while self._ready and self._waiting and self._counted < self._window:
            handle = self._waiting.popleft()
            if not handle.done:
                self._submit(handle)

    def _unfinished(self) -> list[AsyncHandle[Any, Any]]:
        return [*self._open.values(), *self._waiting]

    def _forget_all(self) -> None:
        self._counted = 0
        self._open.clear()
        self._waiting.clear()

    async def _send_cancel(self, handle: AsyncHandle[Any, Any], keep: bool) -> bool:
        if not handle.sent:
            handle.fail(Cancelled("the request was cancelled before it was sent"))
            return True
        args: Data = {"target": handle.id, **({"keep": True} if keep else {})}
        return bool((await self.request("cancel", args))["cancelled"])

    def _receive(self, link: DaemonLink) -> None:
        if link is not self._link:
            return
        for body in link.received():
            try:
                reply = codec.decode(body)
            except ValueError:
                continue
            number = reply.get("id")
            if number is None and reply.get("type") == "error":
                # An error about the whole client, whose key may have been revoked.
                self._fail_all(from_reply(reply.get("error")))
            handle = self._open.get(number) if isinstance(number, int) else None
            if handle and handle.take(reply):
                self._open.pop(handle.id, None)
                self._counted -= handle.op not in _AT_ONCE
        self._pump()

    def _observe(self, link: DaemonLink) -> None:
        if link is not self._link:
            return
        for event in link.news():
            if event == CONNECTED:
                self._greet()
            elif self.connections or self._ready:
                self._lose()
                return
        if link.refusal:
            self._fail_all(DaemonError("forbidden", link.refusal))

    def _greet(self) -> None:
        number = next(self._numbers)
        body = _body(number, "hello", {})
        handle: AsyncHandle[Data, Hello] = AsyncHandle(
            number, "hello", body, _as_it_is, results.hello, self._send_cancel
        )
        handle.when_done(lambda: self._know(handle))
        self._submit(handle)

    def _know(self, handle: AsyncHandle[Data, Hello]) -> None:
        try:
            self.hello = handle.outcome()
        except ConnectionLost:
            return
        except DaemonError as error:
            self._fail_all(error)
            return
        self.connections += 1
        self._window = max(1, self.hello.limits.get("in_flight", _WINDOW_BEFORE_HELLO) - _RESERVED)
        self._ready = True
        if not self._greeted.done():
            self._greeted.set_result(None)
        # Those that need not wait for the others come first.
        self._waiting = deque(sorted(self._waiting, key=lambda handle: handle.op not in _AT_ONCE))
        self._pump()

    def _lose(self) -> None:
        """Replace a broken connection by a new one. Requests in flight that change nothing wait for it, in their order
        and before requests not yet sent. All others in flight fail.
        """
        from desdaemon.protocol.wire.messages import REPEATABLE

        self._ready = False
        self._drop_link()
        due = self._loop.time() + self._patience_s
        again = []
        for handle in self._open.values():
            handle.sent, handle.deadline = False, due
            if handle.op == "hello" or handle.op not in REPEATABLE:
                handle.fail(
                    ConnectionLost(
                        f"the connection broke before the final reply to {handle.op}, which may have been carried out "
                        "or not and is not repeated"
                    )
                )
            else:
                again.append(handle)
        self._open.clear()
        self._counted = 0
        self._waiting.extendleft(reversed(again))
        self._make_link()

    def _check(self) -> None:
        """Have the loop call this again in a quarter of a second. Until the daemon has greeted, look for it, also at a
        new endpoint, and fail requests that have waited too long.
        """
        self._checking = self._loop.call_later(_CHECK_S, self._check)
        if self._ready:
            return
        self._make_link()
        now = self._loop.time()
        for handle in [handle for handle in self._waiting if handle.deadline < now]:
            self._waiting.remove(handle)
            handle.fail(ConnectionLost(f"the daemon has been away for {self._patience_s:g} s"))

    def _make_link(self) -> None:
        try:
            target = self._seek()
        except DaemonError:
            return
        if self._link:
            if target == self._target:
                return
            self._drop_link()
        self._target = target
        try:
            link = self._link = DaemonLink(self._context, target)
        except NoDaemon:
            if not self.connections:
                raise
            # Later there may be descriptors again.
            return
        self._loop.add_reader(link.socket.fileno(), self._receive, link)
        self._loop.add_reader(link.monitor.fileno(), self._observe, link)
        self._loop.call_soon(self._observe, link)

    def _drop_link(self, linger_ms: int = 0) -> None:
        link, self._link = self._link, None
        if link:
            self._loop.remove_reader(link.socket.fileno())
            self._loop.remove_reader(link.monitor.fileno())
            link.close(linger_ms)

    def _fail_all(self, error: DaemonError) -> None:
        for handle in self._unfinished():
            handle.fail(error)
        self._forget_all()
        if not self._greeted.done():
            self._greeted.set_exception(error)
