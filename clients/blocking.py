"""The client for programs without an event loop: the same verbs, each waiting for its answer.

    with Client.connect() as client:
        for partial in (analysis := client.analyze(moves="f5d6c3", level=16, partial_ms=200)):
            print(partial.best)
        print(analysis.result().best)

It is an `AsyncClient` on a thread of its own, and may be used from several threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, Generic, TypeVar, Unpack

from desdaemon.protocol.system import platform

from .asynchronous import AsyncClient
from .errors import ConnectionLost, Forked
from .handle import AsyncHandle
from .requests import AnalysisLimits, BatchItem, BatchLimits, ListedPosition
from .results import Analysed, BatchPage, BatchResult, BookPosition, Data, Hello, JobDone, JobProgress, Legal

P = TypeVar("P")
F = TypeVar("F")
T = TypeVar("T")


class _Loop:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = platform.event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="desdaemon client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait; an interrupt cancels it."""
        if self.inherited:
            work.close()
            raise Forked(self._process)
        if self._loop.is_closed():
            work.close()
            raise ConnectionLost("the client was closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def inherited(self) -> bool:
        """Whether this process is a fork of the one with the thread."""
        return os.getpid() != self._process

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return self._loop.is_closed()

    def call(self, make: Callable[[], T]) -> T:
        """Call a function there that does not wait."""

        async def called() -> T:
            return make()

        return self.run(called())

    def close(self) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Handle(Generic[P, F]):
    """A request in flight: iterate its partials, ask for its `result`, or `cancel` it."""

    def __init__(self, loop: _Loop, handle: AsyncHandle[P, F]) -> None:
        self._loop = loop
        self._handle = handle

    @property
    def id(self) -> int:
        """The request's number."""
        return self._handle.id

    @property
    def done(self) -> bool:
        """Whether the final or an error has come."""
        return self._handle.done

    @property
    def warnings(self) -> list[str]:
        """The daemon's warnings so far."""
        return list(self._handle.warnings)

    def cancel(self, *, keep: bool = False) -> bool:
        """Cancel the request. Returns whether it was still running.

        `result` then raises `Cancelled`, whose ``found`` has the results so far; with ``keep`` they are the result,
        where an analysis has any.
        """
        return self._loop.run(self._handle.cancel(keep=keep))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the final or an error. Returns False after ``timeout_s``."""
        return self._loop.run(self._handle.wait(timeout_s))

    def result(self, timeout_s: float | None = None) -> F:
        """The final; raises the error of the reply, or `TimedOut`, which cancels the request."""
        return self._loop.run(self._handle.result(timeout_s))

    def __iter__(self) -> Iterator[P]:
        return _iterate(self._loop, self._handle)


def _iterate(loop: _Loop, items: AsyncIterator[T]) -> Iterator[T]:
    async def following() -> list[T]:
        try:
            return [await items.__anext__()]
        except StopAsyncIteration:
            return []

    while found := loop.run(following()):
        yield found[0]


Analysis = Handle[Analysed, Analysed]
GameAnalysis = Handle[Analysed, tuple[Analysed, ...]]
ListAnalysis = Handle[Analysed, tuple[Analysed, ...]]
BookJob = Handle[JobProgress, JobDone]


class Client:
    """A client of one daemon; see `AsyncClient` for each method."""

    def __init__(self, loop: _Loop, client: AsyncClient) -> None:
        self._loop = loop
        self._client = client

    @classmethod
    def connect(
        cls,
        endpoint: str | None = None,
        *,
        key: str | os.PathLike[str] | None = None,
        server_key: str | None = None,
        timeout_s: float = 5.0,
        patience_s: float = 30.0,
    ) -> Client:
        """See `AsyncClient.connect`."""
        loop = _Loop()
        try:
            found = AsyncClient.connect(
                endpoint, key=key, server_key=server_key, timeout_s=timeout_s, patience_s=patience_s
            )
            return cls(loop, loop.run(found))
        except BaseException:
            loop.close()
            raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection: running analyses are cancelled, book jobs go on in the daemon. A second call does
        nothing.
        """
        if not self._loop.closed and not self._loop.inherited:
            self._loop.run(self._client.close())
            self._loop.close()

    @property
    def hello(self) -> Hello:
        """The daemon's greeting."""
        return self._client.hello

    @property
    def connections(self) -> int:
        """The number of connections made so far; more than 1 after a reconnection."""
        return self._client.connections

    def request(self, op: str, args: Data | None = None, *, timeout_s: float | None = None) -> Data:
        """The final data of any operation."""
        return self._loop.run(self._client.request(op, args, timeout_s=timeout_s))

    def start(self, op: str, args: Data | None = None) -> Handle[Data, Data]:
        """Make a request of any kind."""
        return Handle(self._loop, self._loop.call(lambda: self._client.start(op, args)))

    def ping(self, timeout_s: float | None = 5.0) -> float:
        """The milliseconds of a round trip to the daemon."""
        return self._loop.run(self._client.ping(timeout_s))

    def analyze(self, board: str | None = None, moves: str = "", **limits: Unpack[AnalysisLimits]) -> Analysis:
        """Analyse one position; with ``partial_ms`` the partials report the progress."""
        return Handle(self._loop, self._loop.call(lambda: self._client.analyze(board, moves, **limits)))

    def analyze_game(
        self, moves: str, board: str | None = None, plies: Iterable[int] | None = None, **limits: Unpack[AnalysisLimits]
    ) -> GameAnalysis:
        """Analyse plies of a game, by default all: a partial for each finished one, then all of them."""
        return Handle(self._loop, self._loop.call(lambda: self._client.analyze_game(moves, board, plies, **limits)))

    def analyze_many(self, positions: Iterable[ListedPosition], **limits: Unpack[AnalysisLimits]) -> ListAnalysis:
        """Analyse up to 1,000 positions in one request: the final has an analysis of each, in their order."""
        return Handle(self._loop, self._loop.call(lambda: self._client.analyze_many(positions, **limits)))

    def legal(self, board: str | None = None, moves: str = "") -> Legal:
        """The legal moves, the board, whether the game is over, and the discs."""
        return self._loop.run(self._client.legal(board, moves))

    def book_get(self, board: str | None = None, moves: str = "", *, children: bool = False) -> BookPosition:
        """The book's data of a position, with ``children`` of each legal move too."""
        return self._loop.run(self._client.book_get(board, moves, children=children))

    def look_up(self, lines: Iterable[str]) -> list[BookPosition]:
        """The book's data of the positions after these lines, all requested together."""
        return self._loop.run(self._client.look_up(lines))

    def book(self, command: str, **args: Any) -> BookJob:
        """Run a book command by its name as a job; partials are its progress."""
        return Handle(self._loop, self._loop.call(lambda: self._client.book(command, **args)))

    def analyze_batch(
        self, items: Iterable[BatchItem] | None = None, *, file: str | None = None, **limits: Unpack[BatchLimits]
    ) -> int:
        """Analyse many positions as a job of the lowest priority. Returns its number, which outlives both sides."""
        return self._loop.run(self._client.analyze_batch(items, file=file, **limits))

    def batch_results(self, job: int, after: int = 0, limit: int = 1000) -> BatchPage:
        """Results of a batch after a cursor, in the order in which they were found; 0 is the beginning."""
        return self._loop.run(self._client.batch_results(job, after, limit))

    def batch(self, job: int, *, after: int = 0, poll_s: float = 0.5) -> Iterator[BatchResult]:
        """All results of a batch, each as soon as it is found, until the batch is over."""
        return _iterate(self._loop, self._client.batch(job, after=after, poll_s=poll_s))

    def batch_forget(self, job: int) -> bool:
        """Cancel a batch if need be, and remove its results."""
        return self._loop.run(self._client.batch_forget(job))

    def cache_clear(self) -> int:
        """Clear the daemon's cache of analyses. Returns the number removed; requires the role admin."""
        return self._loop.run(self._client.cache_clear())

    def jobs(self) -> list[Data]:
        """The daemon's list of book jobs and batches."""
        return self._loop.run(self._client.jobs())

    def cancel_job(self, job: int) -> bool:
        """Cancel a book job or a batch of any client."""
        return self._loop.run(self._client.cancel_job(job))

    def text(self, line: str) -> tuple[str, str]:
        """Run a command of the text protocol in this client's own session: its output and error messages."""
        return self._loop.run(self._client.text(line))

    def status(self) -> Data:
        """Threads, queue, book and memory."""
        return self._loop.run(self._client.status())

    def metrics(self) -> str:
        """Counters as OpenMetrics text."""
        return self._loop.run(self._client.metrics())

    def shutdown(self) -> None:
        """End the daemon; requires the role admin."""
        self._loop.run(self._client.shutdown())

    def events(self, *topics: str) -> Iterator[tuple[str, Data]]:
        """Events as they arrive: ``job.<id>``, ``book``, ``status``; all of them where none is named."""
        return _iterate(self._loop, self._client.events(*topics))
