"""The loop around a `Player`: connection, searches, files, output."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from desdaemon.protocol.system import files, logs, platform
from desdaemon.protocol.system.output import UnreadOutput

from . import lines as ggs
from .player import Connect, End, Instruction, Player, Save, Send, Show, StartSearch, StopSearch
from .thinking import Thinker

_TICK_S = 1.0
_RESOLVE_S = 20.0
_CALL_S = 30.0
"""Seconds for all addresses of a host, TLS included."""
_MOST_ADDRESSES = 4
_MOST_UNSENT = 1 << 18
"""Most bytes that wait for the server to read them."""
_CLOSED = "the server has ended the connection"
PROGRAM = "desdaemon ggs"

Event = Callable[[], Iterable[Instruction]]


class Outside(NamedTuple):
    """The server's address, whether to use TLS, and the files for records and for the dialogue, "" for none."""

    host: str
    port: int
    tls: bool = False
    records: str = ""
    log: str = ""

    @property
    def place(self) -> str:
        """The address as messages have it."""
        return f"{self.host}:{self.port}"


class ServerSession:
    """Runs a `Player` on GGS from connecting to its end: connection, clock, searches and files. Make the session and
    call its methods on the event loop that awaits `run`.
    """

    def __init__(self, outside: Outside, player: Player, thinker: Thinker, show: Callable[[str], object]) -> None:
        """``show`` takes text for standard output. It does not wait, and raises `OSError` if that cannot be written."""
        self._outside, self._player, self._thinker, self._show = outside, player, thinker, show
        self._events: asyncio.Queue[tuple[asyncio.Task[None] | None, Event]] = asyncio.Queue()
        self._call: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._searches: dict[str, asyncio.Task[None]] = {}
        self._ended: str | None = None
        self._full: set[str] = set()
        """The files that could not be written."""

    async def run(self) -> str:
        """Play until the player ends or standard output cannot be written. Returns the error, or ""."""
        self._do(Connect(0.0))
        ticking = asyncio.create_task(self._tick())
        try:
            while self._ended is None:
                call, event = await self._events.get()
                # Late events of an earlier connection are dropped.
                if call in (None, self._call):
                    for instruction in event():
                        self._do(instruction)
                self._events.task_done()
        except OSError as error:
            self._ended = f"standard output: {error.strerror}"
        finally:
            ended = [task for task in (ticking, self._call, *self._searches.values()) if task]
            for task in ended:
                task.cancel()
            await asyncio.gather(*ended, return_exceptions=True)
        return self._ended or ""

    def typed(self, line: str) -> None:
        """Queue a line of the user for the player; `run` passes it on."""
        self._events.put_nowait((None, lambda: self._player.typed(line.strip(), time.monotonic())))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._events.put_nowait((None, self._ticked))

    def _ticked(self) -> list[Instruction]:
        # This raises the error of an earlier text.
        self._show("")
        return self._player.tick(time.monotonic())

    def _do(self, instruction: Instruction) -> None:
        match instruction:
            case Connect():
                if self._call:
                    self._call.cancel()
                self._call = asyncio.create_task(self._connection(instruction.after_s))
            case Send():
                self._log(">", "(the password)" if instruction.secret else instruction.line)
                self._send(f"{instruction.line}\n".encode())
            case StartSearch():
                self._searches[instruction.game] = asyncio.create_task(self._search(instruction))
            case StopSearch():
                self._searches.pop(instruction.game).cancel()
            case Show() if instruction.ours:
                logs.message(instruction.text, PROGRAM)
            case Show():
                self._show(f"{instruction.text}\n")
            case Save():
                self._append(self._outside.records, instruction.ggf)
            case End():
                self._ended = instruction.reason

    def _send(self, data: bytes) -> None:
        if self._writer is None:
            return
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > _MOST_UNSENT:
            self._writer.transport.abort()
            self._writer = None
            reason = f"{self._outside.place}: the server does not read what it is told"
            self._events.put_nowait((self._call, lambda: self._player.lost(reason)))

    async def _search(self, search: StartSearch) -> None:
        try:
            answer = await self._thinker.think(search)
        except Exception as error:
            reason = f"the search has failed: {error or type(error).__name__}"
            self._events.put_nowait((None, lambda: [End(reason)]))
        else:
            self._events.put_nowait((None, partial(self._player.found, answer)))

    async def _connection(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        call = asyncio.current_task()
        writer = None
        try:
            reader, writer = await _call(self._outside)
            self._writer = writer
            self._events.put_nowait((call, lambda: self._player.connected(time.monotonic())))
            blocks = ggs.BlockReader()
            # What is read is carried out before signals and typed lines are heard again, and before more is read.
            while data := await reader.read(1 << 12):
                self._hear(call, blocks.feed(data))
                await self._events.join()
                # Neither waits where much has come and none of it is a block.
                await asyncio.sleep(0)
            self._hear(call, blocks.end())
            failure = _CLOSED
        except Exception as error:
            failure = _described(error)
        finally:
            if writer:
                if self._writer is writer:
                    self._writer = None
                with contextlib.suppress(OSError):
                    writer.close()
        self._events.put_nowait((call, lambda: self._player.lost(f"{self._outside.place}: {failure}")))

    def _hear(self, call: asyncio.Task[None] | None, blocks: list[ggs.ServerBlock]) -> None:
        for block in blocks:
            self._events.put_nowait((call, partial(self._told, block)))

    def _told(self, block: ggs.ServerBlock) -> list[Instruction]:
        self._log("<", block.text)
        return self._player.told(ggs.read(block), time.monotonic())

    def _log(self, direction: str, text: str) -> None:
        if self._outside.log:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._append(self._outside.log, "\n".join(f"{stamp} {direction} {line}" for line in text.splitlines()))

    def _append(self, path: str, text: str) -> None:
        """Add to a file. What fails costs no match: it is told, once for each file."""
        try:
            files.append(path, f"{text}\n".encode())
        except OSError as error:
            if path not in self._full:
                self._full.add(path)
                logs.message(f"{path}: {error.strerror or error}: the matches go on", PROGRAM)


async def _call(outside: Outside) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection to the server. Raises `OSError` or `ValueError`, whose text `_described` has."""
    security = ssl.create_default_context() if outside.tls else None
    name = outside.host if outside.tls else None
    addresses = await _resolved(outside.host, outside.port)
    failure: Exception = OSError("the host has no address")
    for address in addresses:
        opening = asyncio.open_connection(address, outside.port, ssl=security, server_hostname=name)
        try:
            reader, writer = await asyncio.wait_for(opening, _CALL_S / len(addresses))
        except TimeoutError:
            failure = TimeoutError(f"no answer within {_CALL_S:g} s")
        except OSError as error:
            failure = error
        else:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return reader, writer
    raise failure


async def _resolved(host: str, port: int) -> list[str]:
    """Return the first addresses of a host. Raises `OSError` or `ValueError` as `socket.getaddrinfo` does, and
    `TimeoutError`.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def resolve() -> None:
        try:
            listed = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [*dict.fromkeys(str(address[0]) for *_, address in listed)]
            done = partial(found.set_result, addresses[:_MOST_ADDRESSES])
        except Exception as error:
            done = partial(found.set_exception, error)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: found.done() or done())

    # A thread of the loop's own would keep the program until the resolver answers.
    threading.Thread(target=resolve, name="desdaemon resolver", daemon=True).start()
    try:
        return await asyncio.wait_for(found, _RESOLVE_S)
    except TimeoutError:
        raise TimeoutError(f"the host was not found within {_RESOLVE_S:g} s") from None


def _described(error: Exception) -> str:
    """Return the text of an error of a connection."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return f"no TLS: {(error.reason or str(error)).replace('_', ' ').lower()}"
        case UnicodeError():
            return "not the name of a host"
        case OSError():
            # Where the server closes within the handshake of TLS the error has no text.
            return error.strerror or str(error) or _CLOSED
    return f"{type(error).__name__}: {error}"


def run(session_of: Callable[[Callable[[str], object]], ServerSession]) -> str:
    """Make a session by ``session_of``, which gets what the session needs to show text, on a new event loop, and run it
    to its end. It gets the lines of standard input, and the line ``quit`` at a signal to end the process. Returns the
    error or "".

    Nothing waits for a reader of standard output or for more lines than one of standard input.
    """

    async def running(show: Callable[[str], object]) -> str:
        session = session_of(show)
        loop = asyncio.get_running_loop()

        def take(line: str, taken: threading.Event) -> None:
            session.typed(line)
            taken.set()

        def read_typed() -> None:
            with contextlib.suppress(RuntimeError):
                for line in sys.stdin:
                    taken = threading.Event()
                    loop.call_soon_threadsafe(take, line, taken)
                    taken.wait()

        for number in platform.ending_signals():
            platform.on_signal(loop, number, session.typed, "quit")
        threading.Thread(target=read_typed, name="desdaemon typed lines", daemon=True).start()
        return await session.run()

    output = UnreadOutput(1)
    with asyncio.Runner(loop_factory=platform.event_loop) as runner:
        failure = runner.run(running(output.write))
    try:
        output.close()
    except OSError as error:
        return failure or f"standard output: {error.strerror}"
    return failure
