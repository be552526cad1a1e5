"""The client for programs without an event loop: the methods of `AsyncClient` without ``await``.

    with Client.connect() as client:
        for partial in (analysis := client.analyze(moves="f5d6c3", level=16, partial_ms=200)):
            print(partial.best)
        print(analysis.result().best)

A `Client` runs an `AsyncClient` on a thread of its own; several threads may use it.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from desdaemon.protocol.system import platform
from desdaemon.protocol.system.interpreter import awaited

from .asynchronous import AsyncClient
from .errors import ConnectionLost, Forked
from .handle import AsyncHandle
from .results import Analysed, Data, Hello, JobDone, JobProgress

P = TypeVar("P")
F = TypeVar("F")
T = TypeVar("T")
A = ParamSpec("A")


class _Loop:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = platform.event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="desdaemon client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and return its result or raise its exception; an interrupt cancels it.

        Raises `Forked` in a process that inherited the client, and `ConnectionLost` once the loop is closed.
        """
        if self.inherited:
            work.close()
            raise Forked(self._process)
        if self._loop.is_closed():
            work.close()
            raise ConnectionLost("the client was closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return awaited(future)
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine on the loop's thread without waiting for it, unless the loop is closed or inherited."""
        if self.inherited or self.closed:
            work.close()
        else:
            asyncio.run_coroutine_threadsafe(work, self._loop)

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one that runs the loop's thread."""
        return os.getpid() != self._process

    @property
    def closed(self) -> bool:
        """Whether the loop has ended."""
        return self._loop.is_closed()

    def call(self, make: Callable[[], T]) -> T:
        """Call ``make`` on the loop's thread and return its result. ``make`` must not wait."""

        async def called() -> T:
            return make()

        return self.run(called())

    def start(self, make: Callable[[], AsyncHandle[P, F]]) -> Handle[P, F]:
        """Return a handle of the request that ``make`` makes on the loop's thread. An interrupt cancels the request,
        of which nobody has the handle then.
        """
        made: list[AsyncHandle[P, F]] = []
        try:
            self.call(lambda: made.append(make()))
            return Handle(self, made[0])
        except BaseException:
            self.begin(_cancel_all(made))
            raise

    def close(self) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all(made: list[AsyncHandle[P, F]]) -> None:
    for handle in made:
        await handle.cancel()


class Handle(Generic[P, F]):
    """A request in flight: iterate its partials, get its `result`, or `cancel` it."""

    def __init__(self, loop: _Loop, handle: AsyncHandle[P, F]) -> None:
        self._loop = loop
        self._handle = handle

    @property
    def id(self) -> int:
        """The number of the request."""
        return self._handle.id

    @property
    def done(self) -> bool:
        """Whether the request has ended, with a final or an error."""
        return self._handle.done

    @property
    def warnings(self) -> list[str]:
        """The daemon's warnings so far."""
        return list(self._handle.warnings)

    def cancel(self, *, keep: bool = False) -> bool:
        """Cancel the request. Returns False if it had ended already.

        After a cancel `result` raises `Cancelled`, whose ``found`` has the results so far of an analysis. With ``keep``
        `result` returns these results instead, if there are any. Raises `ConnectionLost` if the connection breaks
        meanwhile.
        """
        return self._loop.run(self._handle.cancel(keep=keep))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the final or an error and return True. Return False after ``timeout_s`` (None: never); the request
        goes on.
        """
        return self._loop.run(self._handle.wait(timeout_s))

    def result(self, timeout_s: float | None = None) -> F:
        """Wait for the final and return it. Raises `DaemonError`: the reply's error, `ConnectionLost`, or `TimedOut`
        after ``timeout_s`` (None: never). A timeout or an interrupt cancels the request.
        """
        return self._loop.run(self._handle.result(timeout_s))

    def __iter__(self) -> Iterator[P]:
        return _iterate(self._loop, self._handle)


def _iterate(loop: _Loop, items: AsyncIterator[T]) -> Iterator[T]:
    async def following() -> list[T]:
        try:
            return [await items.__anext__()]
        except StopAsyncIteration:
            return []

    while batch := loop.run(following()):
        yield batch[0]


Analysis = Handle[Analysed, Analysed]
GameAnalysis = Handle[Analysed, tuple[Analysed, ...]]
ListAnalysis = Handle[Analysed, tuple[Analysed, ...]]
BookJob = Handle[JobProgress, JobDone]


def _waits(
    method: Callable[Concatenate[AsyncClient, A], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, A], T]:
    """Return a method of `Client` that runs a coroutine method of the asyncio client and waits for its result."""

    @functools.wraps(method)
    def call(client: Client, /, *args: A.args, **kwargs: A.kwargs) -> T:
        return client._loop.run(method(client._client, *args, **kwargs))

    return call


def _starts(
    method: Callable[Concatenate[AsyncClient, A], AsyncHandle[P, F]],
) -> Callable[Concatenate[Client, A], Handle[P, F]]:
    """Return a method of `Client` that makes a request without waiting for it."""

    @functools.wraps(method)
    def call(client: Client, /, *args: A.args, **kwargs: A.kwargs) -> Handle[P, F]:
        return client._loop.start(lambda: method(client._client, *args, **kwargs))

    return call


def _follows(
    method: Callable[Concatenate[AsyncClient, A], AsyncIterator[T]],
) -> Callable[Concatenate[Client, A], Iterator[T]]:
    """Return a method of `Client` that yields the items of an asynchronous iterator."""

    @functools.wraps(method)
    def call(client: Client, /, *args: A.args, **kwargs: A.kwargs) -> Iterator[T]:
        return _iterate(client._loop, method(client._client, *args, **kwargs))

    return call


class Client:
    """A client of one daemon. Its methods are those of `AsyncClient`: coroutines become methods that wait for the
    answer, asynchronous iterators plain ones, and methods that start a request return a `Handle` at once.
    """

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
        """Return a client of a daemon; `AsyncClient.connect` describes the arguments. Raises `NoDaemon` if no daemon is
        found or answers, and `DaemonError` for unusable keys.
        """
        loop = _Loop()
        try:
            connecting = AsyncClient.connect(
                endpoint, key=key, server_key=server_key, timeout_s=timeout_s, patience_s=patience_s
            )
            return cls(loop, loop.run(connecting))
        except BaseException:
            loop.close()
            raise

    def __enter__(self) -> Client:
        return self

    def close_soon(self) -> None:
        """Begin to close the connection without waiting: running analyses are cancelled, unfinished and later requests
        raise `ConnectionLost`. A signal handler may call this; `close` must follow.
        """
        self._loop.begin(self._client.close())

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection: running analyses are cancelled, book jobs go on in the daemon. Does nothing in a
        process that inherited the client, or when called again.
        """
        if not self._loop.closed and not self._loop.inherited:
            self._loop.run(self._client.close())
            self._loop.close()

    @property
    def hello(self) -> Hello:
        """The daemon's last greeting."""
        return self._client.hello

    @property
    def connections(self) -> int:
        """The number of connections made so far."""
        return self._client.connections

    @property
    def connected(self) -> bool:
        """Whether the daemon has greeted over the present connection."""
        return self._client.connected

    def start(self, op: str, args: Data | None = None) -> Handle[Data, Data]:
        """Make a request for any operation without waiting for its replies; partials and final are the maps that the
        daemon sends.
        """
        return self._loop.start(lambda: self._client.start(op, args))

    def book(self, command: str, **args: Any) -> BookJob:
        """Start a book command, such as ``deviate``, without waiting for its end; arguments and partials are those of
        `AsyncClient.book`.
        """
        return self._loop.start(lambda: self._client.book(command, **args))

    request = _waits(AsyncClient.request)
    ping = _waits(AsyncClient.ping)
    legal = _waits(AsyncClient.legal)
    book_get = _waits(AsyncClient.book_get)
    look_up = _waits(AsyncClient.look_up)
    analyze_batch = _waits(AsyncClient.analyze_batch)
    batch_results = _waits(AsyncClient.batch_results)
    batch_forget = _waits(AsyncClient.batch_forget)
    cache_clear = _waits(AsyncClient.cache_clear)
    jobs = _waits(AsyncClient.jobs)
    cancel_job = _waits(AsyncClient.cancel_job)
    text = _waits(AsyncClient.text)
    status = _waits(AsyncClient.status)
    metrics = _waits(AsyncClient.metrics)
    shutdown = _waits(AsyncClient.shutdown)
    analyze = _starts(AsyncClient.analyze)
    analyze_game = _starts(AsyncClient.analyze_game)
    analyze_many = _starts(AsyncClient.analyze_many)
    batch = _follows(AsyncClient.batch)
    events = _follows(AsyncClient.events)
