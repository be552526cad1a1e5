"""The loop around a `Player`: connection, searches, files."""

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
from pathlib import Path
from typing import NamedTuple

from desdaemon.clients.arguments import print_text
from desdaemon.protocol import ggs
from desdaemon.protocol.system import logs, platform

from .player import Connect, End, Instruction, Player, Save, Send, Show, StartSearch, StopSearch
from .thinking import Thinker

_TICK_S = 1.0
_CALL_S = 30.0
PROGRAM = "desdaemon ggs"

Event = Callable[[], Iterable[Instruction]]


class Outside(NamedTuple):
    """The server's address, whether to use TLS, and the files for records and for the dialogue, "" for none."""

    host: str
    port: int
    tls: bool = False
    records: str = ""
    log: str = ""


class ServerSession:
    """Runs a `Player` on GGS from connecting to its end: connection, clock, searches and files. Make the session and
    call its methods on the event loop that awaits `run`.
    """

    def __init__(self, outside: Outside, player: Player, thinker: Thinker) -> None:
        self._outside, self._player, self._thinker = outside, player, thinker
        self._events: asyncio.Queue[tuple[asyncio.Task[None] | None, Event]] = asyncio.Queue()
        self._call: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._searches: dict[str, asyncio.Task[None]] = {}
        self._ended: str | None = None

    async def run(self) -> str:
        """Play until the player ends or a file cannot be written. Returns the error, or "". Raises `BadInput` if
        standard output cannot be written.
        """
        self._do(Connect(0.0))
        ticking = asyncio.create_task(self._tick())
        try:
            while self._ended is None:
                call, event = await self._events.get()
                # Late events of an earlier connection are dropped.
                if call in (None, self._call):
                    for instruction in event():
                        self._do(instruction)
        except OSError as error:
            self._ended = f"{error.filename or 'output'}: {error.strerror}"
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
            self._events.put_nowait((None, lambda: self._player.tick(time.monotonic())))

    def _do(self, instruction: Instruction) -> None:
        match instruction:
            case Connect():
                if self._call:
                    self._call.cancel()
                self._call = asyncio.create_task(self._connection(instruction.after_s))
            case Send():
                self._log(">", "(the password)" if instruction.secret else instruction.line)
                if self._writer:
                    self._writer.write(f"{instruction.line}\n".encode())
            case StartSearch():
                self._searches[instruction.game] = asyncio.create_task(self._search(instruction))
            case StopSearch():
                self._searches.pop(instruction.game).cancel()
            case Show() if instruction.ours:
                logs.message(instruction.text, PROGRAM)
            case Show():
                print_text(f"{instruction.text}\n")
            case Save():
                self._append(self._outside.records, instruction.ggf)
            case End():
                self._ended = instruction.reason

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
        place = f"{self._outside.host}:{self._outside.port}"
        writer = None
        try:
            security = ssl.create_default_context() if self._outside.tls else None
            opening = asyncio.open_connection(self._outside.host, self._outside.port, ssl=security)
            reader, writer = await asyncio.wait_for(opening, _CALL_S)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._writer = writer
            self._events.put_nowait((call, lambda: self._player.connected(time.monotonic())))
            blocks = ggs.BlockReader()
            while data := await reader.read(1 << 16):
                for block in blocks.feed(data):
                    self._events.put_nowait((call, partial(self._told, block)))
            reason = f"{place}: the server has ended the connection"
        except OSError as error:
            reason = f"{place}: {error.strerror or error or 'no answer'}"
        finally:
            if writer:
                if self._writer is writer:
                    self._writer = None
                with contextlib.suppress(OSError):
                    writer.close()
        self._events.put_nowait((call, lambda: self._player.lost(reason)))

    def _told(self, block: ggs.ServerBlock) -> list[Instruction]:
        self._log("<", block.text)
        return self._player.told(ggs.read(block), time.monotonic())

    def _log(self, direction: str, text: str) -> None:
        if self._outside.log:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._append(self._outside.log, "\n".join(f"{stamp} {direction} {line}" for line in text.splitlines()))

    @staticmethod
    def _append(path: str, text: str) -> None:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def run(session_of: Callable[[], ServerSession]) -> str:
    """Make a session by ``session_of`` on a new event loop, and run it to its end. It gets the lines of standard input,
    and the line ``quit`` at a signal to end the process. Returns the error or "". Raises `BadInput` if standard output
    cannot be written.
    """

    async def running() -> str:
        session = session_of()
        loop = asyncio.get_running_loop()

        def take(line: str) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(session.typed, line)

        def read_typed() -> None:
            for line in sys.stdin:
                take(line)

        for number in platform.ending_signals():
            platform.on_signal(loop, number, session.typed, "quit")
        threading.Thread(target=read_typed, name="desdaemon typed lines", daemon=True).start()
        return await session.run()

    with asyncio.Runner(loop_factory=platform.event_loop) as runner:
        return runner.run(running())
