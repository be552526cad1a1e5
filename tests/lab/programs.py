"""The programs that `python tests/lab storm` runs beside the server: packed bombs to each of their doors, hostile game
servers and sites, a watched folder with links and pipes, floods of connections to the board's gateway.

Each act says beforehand how the program must end and how much memory it may take; what it does otherwise is a fault.
"""

from __future__ import annotations

import asyncio
import base64
import bz2
import contextlib
import gzip
import http.client
import json
import lzma
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from desdaemon.clients.bench.daemon import PROGRAM
from desdaemon.protocol.system import platform

# Links, pipes and what a process used are those of POSIX.
assert sys.platform != "win32"

_MOST_MB = 400
"""Memory that a program may take whatever it is given; without a file it takes 60 to 180."""
_SLOW_S = 240.0
"""Seconds within which a program ends by itself or after a signal, and the board answers, on a busy machine."""
_LONGEST_TURN_S = 1.0
"""What a look at a program counts of these seconds at most: in a longer one the machine had no time, for it neither."""
_STOPPED = (0, 1, -signal.SIGTERM)
"""The statuses of a program that a signal ends, perhaps while it still starts."""
_BOMB_PARTS, _BOMB_PART = 200, 1 << 20
"""Bombs of 200 MiB are packed parts in a row: packing them whole takes minutes, and memory that a child begins with."""
_LARGEST_FILE = 190_000
"""Bytes of a file that a page can send in one frame."""
_SECRET = b"secret-word\n"
_GREETINGS = (
    b"",
    b": Enter login (yours, or one you'd like to use).\r\n: Enter your password.\r\n",
    b": Enter login (yours, or one you'd like to use).\r\n: Enter your password.\r\n: + /os 1\r\nREADY\r\n",
)


class Programs:
    """All acts, a thread each, until the time is over."""

    def __init__(self, folder: Path, endpoint: str, seconds: float) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.most_mb: Counter[str] = Counter()
        self._folder, self._endpoint = folder, endpoint
        self._running: set[subprocess.Popen[bytes]] = set()
        (folder / "token").write_bytes(_SECRET)
        (folder / "token").chmod(0o600)
        self._bombs = _bombs(folder)
        self._small_bombs = [*_dense_bombs(), *(bomb.read_bytes() for bomb in self._bombs)]
        self._board: _WatchedBoard | None = None
        self._seconds, self._end = seconds, 0.0

    def run(self) -> None:
        """Say that all is ready, then run all acts in parallel; returns at the end."""
        with _WatchedBoard(self._folder, self._endpoint) as self._board:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            self._end = time.monotonic() + self._seconds
            acts = (
                *(self.unpack_bombs, self.upload_bombs, self.ask_with_bombs, self.tell_models_bombs),
                *(self.serve_ggs, self.serve_bots, self.watch, self.flood_the_board),
            )
            threads = [threading.Thread(target=self._repeat, args=(act,)) for act in acts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def end(self) -> None:
        """Kill what still runs."""
        for process in tuple(self._running):
            process.kill()

    def _repeat(self, act: Callable[[random.Random], None]) -> None:
        dice = random.Random(act.__name__)
        while time.monotonic() < self._end:
            try:
                act(dice)
                self.counts[act.__name__] += 1
            except Exception as error:
                self._fault(f"{act.__name__}: {type(error).__name__} {error}")
            time.sleep(dice.random() * 2)

    def _fault(self, what: str) -> None:
        self.faults.append(what)
        sys.stderr.write(f"lab programs: {what}\n")
        sys.stderr.flush()

    def _ended(
        self,
        name: str,
        arguments: list[str],
        statuses: tuple[int, ...],
        told: bytes = b"",
        stop_s: float | None = None,
    ) -> None:
        """Run a program that is ``told`` something. It must end by itself, or with ``stop_s`` after the signal that it
        gets after so many seconds, with one of these statuses, no traceback, and no more memory than `_MOST_MB`.
        """
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as input:
            input.write(told)
            input.seek(0)
            process = subprocess.Popen([*PROGRAM, *arguments], stdin=input, stdout=said, stderr=said, cwd=self._folder)
            self._running.add(process)
            try:
                patience_s = _SLOW_S if stop_s is None else stop_s
                last, after = time.monotonic(), 0.0
                signals = 0
                while not (found := os.wait4(process.pid, os.WNOHANG))[0]:
                    now = time.monotonic()
                    after += min(now - last, _LONGEST_TURN_S)
                    last = now
                    # A second one ends a program that still finishes a game.
                    if after > (1 + signals) * patience_s and signals < 2:
                        process.send_signal(signal.SIGTERM)
                        signals += 1
                    if after > patience_s + _SLOW_S:
                        process.kill()
                        self._fault(f"{name}: it did not end")
                    time.sleep(0.05)
                _, status, used = found
                process.returncode = os.waitstatus_to_exitcode(status)
            finally:
                self._running.discard(process)
            said.seek(0)
            text = said.read(1 << 20).decode(errors="replace")
        memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) >> 20
        self.most_mb[name] = max(self.most_mb[name], memory)
        if memory > _MOST_MB:
            self._fault(f"{name}: {memory} MB")
        if signals and stop_s is None:
            self._fault(f"{name}: not ended by itself within {_SLOW_S:.0f} s: {text[-300:]}")
        elif process.returncode not in statuses:
            self._fault(f"{name}: status {process.returncode}: {text[-300:]}")
        if "Traceback" in text or "internal error" in text:
            self._fault(f"{name}: {text[-1000:]}")

    def unpack_bombs(self, dice: random.Random) -> None:
        """Small files that unpack to 200 MiB, to the readers of games."""
        bomb = str(dice.choice(self._bombs))
        ways = (
            *(["analyze", bomb], ["analyze", "--list", bomb], ["games", "index", "--out", "bomb.games", bomb]),
            *(["-solve", bomb], ["match", "self", "self", "--games", "2", "--openings", bomb]),
        )
        arguments = dice.choice(ways)
        self._ended(f"a bomb to {arguments[0]}", arguments, (1,))

    def upload_bombs(self, dice: random.Random) -> None:
        """Such files dropped at the board, and ones that unpack to just as much as it reads."""
        assert self._board
        bomb = dice.choice(self._small_bombs)[:_LARGEST_FILE]
        name = dice.choice(("", "x.txt", "x.pgn", "x.sgf", "x.ggf", "x.wtb", "x.json", "x.txt.gz"))
        answer = self._board.ask("web.read", {"name": name, "data": base64.b64encode(bomb).decode()})
        self.counts["bombs that the board read or refused" if answer else "tabs that the daemon did not let in"] += 1
        if answer and answer["type"] == "error" and answer["error"]["code"] != "bad_request":
            self._fault(f"a bomb called {name!r} at the board: {answer}")
        self._board_answers()

    def ask_with_bombs(self, dice: random.Random) -> None:
        """Such files as the body or the address of a question over HTTP, said to be packed."""
        assert self._board
        bomb = dice.choice(self._small_bombs)
        long = "?moves=" + base64.b64encode(bomb).decode()[: dice.randrange(20_000)]
        for method, address, body in (("GET", "", bomb), ("POST", "", bomb), ("PUT", "", bomb[:9]), ("GET", long, b"")):
            packing = dice.choice(("gzip", "deflate", "br", "identity"))
            status = self._board.status(method, f"/api/v1/position{address}", body, packing)
            if status and not 400 <= status < 500:
                self._fault(f"the board answered a packed {method} with {status}")
        if (status := self._board.status("GET", "/api/v1/position?moves=f5", b"", "")) not in (200, 404, 429, 503):
            self._fault(f"the board answered a question with {status}")

    def tell_models_bombs(self, dice: random.Random) -> None:
        """Such files, deep and long JSON and long lines as what a language model says."""
        bomb = dice.choice(self._small_bombs)
        lines = (
            *(bomb[:1_000_000], b"[" * 1_000_000, b'{"a":' * 200_000, b'"' + b"x" * 3_000_000, b"9" * 1_000_000),
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"legal_moves","arguments":{"moves":"%b"}}}'
            % base64.b64encode(bomb),
        )
        told = b"\n".join(dice.choices(lines, k=5)) + b"\n"
        # In a storm the daemon may not answer it within its five seconds.
        self._ended("mcp", ["mcp", self._endpoint], (0, 1), told)

    def serve_ggs(self, dice: random.Random) -> None:
        """A game server that says nothing, nonsense or too much, that does not read, or that hangs up."""
        arguments = ["--login", "alice", "--password-file", "token", "--accept", "*", "--log", "/dev/null"]
        with _server(dice, _GREETINGS) as port:
            self._ended("ggs", ["ggs", f"127.0.0.1:{port}", *arguments], _STOPPED, stop_s=8 + 8 * dice.random())

    def serve_bots(self, dice: random.Random) -> None:
        """A site that does the same to the bot, under HTTP."""
        account = b'{"id": "thebot", "title": "BOT"}'
        heads = (
            b"",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(account), account),
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{",
            b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
        )
        with _server(dice, heads) as port:
            arguments = ["bot", "token", "--accept", "people", "--server", f"http://127.0.0.1:{port}"]
            self._ended("bot", arguments, _STOPPED, stop_s=8 + 8 * dice.random())

    def watch(self, dice: random.Random) -> None:
        """Links, pipes, devices and holes in a folder of pages: none is served, and the page beside them is."""
        assert self._board
        for name in dice.sample(_WatchedBoard.TRAPS, 3):
            status, body = self._board.get(f"/match/{name}")
            if status == 200 or b"root:" in body:
                self._fault(f"the board served {name}")
        self._board_answers()

    def flood_the_board(self, dice: random.Random) -> None:
        """Connections to the board that say nothing, half of something or nonsense."""
        assert self._board
        with contextlib.ExitStack() as open_:
            for _ in range(dice.randrange(50, 300)):
                with contextlib.suppress(OSError):
                    peer = open_.enter_context(socket.create_connection(("127.0.0.1", self._board.port), _SLOW_S))
                    peer.sendall(dice.choice((b"", b"GET /socket HTTP/1.1\r\n", b"GET / HTTP", dice.randbytes(200))))
            time.sleep(dice.random())
            self._board_answers()

    def _board_answers(self) -> None:
        assert self._board
        status, body = self._board.get("/match/index.html")
        self.counts["pages of the board, right"] += 1
        if (status, body) != (200, _WatchedBoard.PAGE):
            self._fault(f"the board's page: status {status}, {body[:80]!r}")
        self.most_mb["web, now"] = platform.own_bytes(self._board.process.pid) >> 20
        self.most_mb["web"] = max(self.most_mb["web"], self.most_mb["web, now"])


class _WatchedBoard:
    """`desdaemon web` on the storm's daemon, with a watched folder in which somebody has put traps."""

    PAGE = b"<!doctype html><title>a match</title>"
    TRAPS = (*(f"game-{number}.html" for number in range(1, 8)), "..%2ftoken")

    def __init__(self, folder: Path, endpoint: str) -> None:
        watched = folder / "watched"
        watched.mkdir()
        (watched / "index.html").write_bytes(self.PAGE)
        (watched / "game-1.html").symlink_to("/etc/passwd")
        (watched / "game-3.html").symlink_to("/dev/zero")
        (watched / "game-6.html").symlink_to(folder / "token")
        os.mkfifo(watched / "game-2.html")
        (watched / "game-5.html").mkdir()
        with (watched / "game-4.html").open("wb") as hole:
            hole.truncate(8 << 30)
        arguments = ["web", "--no-browser", "--listen", ":0", "--api", "--watch", str(watched), endpoint]
        self.process = subprocess.Popen([*PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.process.stdout
        address = self.process.stdout.readline().decode().strip()
        where, _, self._token = address.partition("?token=")
        self.port = int(where.strip("/").rpartition(":")[2])
        self._cookie = ""

    def __enter__(self) -> _WatchedBoard:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SLOW_S)
        connection.request("GET", f"/?token={self._token}")
        self._cookie = (connection.getresponse().headers["Set-Cookie"] or "").partition(";")[0]
        connection.close()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(_SLOW_S)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a request as a browser makes it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SLOW_S)
        try:
            connection.request("GET", path, headers={"Cookie": self._cookie})
            answer = connection.getresponse()
            return answer.status, answer.read(1 << 20)
        finally:
            connection.close()

    def status(self, method: str, path: str, body: bytes, packing: str) -> int:
        """Return the status of a request without a cookie whose body is packed like this; 0 where it is cut off."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SLOW_S)
        try:
            headers = {"Content-Encoding": packing} if packing else {}
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request(method, path, body or None, headers)
                return connection.getresponse().status
            return 0
        finally:
            connection.close()

    def ask(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request of the board's page; {} where the daemon does not let the tab in in time."""
        page = re.search(rb'"page" content="(\w+)"', self.get("/")[1])
        assert page

        async def answer() -> dict[str, Any]:
            address = f"ws://127.0.0.1:{self.port}/socket?page={page[1].decode()}"
            headers = {"Cookie": self._cookie, "Origin": f"http://127.0.0.1:{self.port}"}
            socket = await websocket_connect(HTTPRequest(address, headers=headers, connect_timeout=_SLOW_S))
            frame: str | bytes | None = None
            try:
                # Before the daemon has let the tab in the gateway takes nothing.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_SLOW_S / 2):
                        while (frame := await socket.read_message()) and '"connected":true' not in str(frame):
                            pass
                if not frame or '"connected":true' not in str(frame):
                    return {}
                await socket.write_message(json.dumps({"v": 1, "id": 1, "op": op, "args": args}))
                while frame := await socket.read_message():
                    message: dict[str, Any] = json.loads(frame)
                    if message.get("id") == 1:
                        return message
                return {"type": "error", "error": {"code": f"closed: {socket.close_code} {socket.close_reason}"}}
            finally:
                socket.close()

        return asyncio.run(asyncio.wait_for(answer(), 2 * _SLOW_S))


def _dense_bombs() -> Iterator[bytes]:
    """Small files that hold as much as a reader unpacks of so many bytes, some MiB."""
    for content in (b"f5\n", b"\n", b"x\n", b'{"moves":"f5"}\n', b"[", b'"', b"(;GM[2]B[f5])\n", b"1. f5 *\n\n", b"\0"):
        noise = base64.b16encode(random.Random(content).randbytes(60_000)) + b"\n"
        yield gzip.compress(noise + content * (3_900_000 // len(content)))


def _bombs(folder: Path) -> list[Path]:
    found = []
    for kind, content in (("lines", b"\n"), ("zeros", b"\0"), ("games", b"f5d6\n")):
        text = content * (_BOMB_PART // len(content))
        for end, packed in (("bz2", bz2.compress), ("xz", partial(lzma.compress, preset=0)), ("gz", gzip.compress)):
            found.append(folder / f"{kind}.txt.{end}")
            found[-1].write_bytes(packed(text) * _BOMB_PARTS)
    return found


@contextmanager
def _server(dice: random.Random, beginnings: tuple[bytes, ...]) -> Iterator[int]:
    """A server on a free port that begins with one of these and goes on in one of its ways."""
    over = threading.Event()
    seed = dice.random()

    def converse(peer: socket.socket) -> None:
        own = random.Random(seed)
        with contextlib.suppress(OSError), peer:
            peer.settimeout(0.5)
            peer.sendall(own.choice(beginnings))
            way = own.choice(("hang up", "silence", "noise", "flood", "trickle", "boards", "echo"))
            while not over.is_set():
                if way == "hang up":
                    return
                if way in ("silence", "trickle"):
                    over.wait(0.2)
                if way == "trickle":
                    peer.sendall(own.randbytes(1))
                if way == "noise":
                    peer.sendall(own.randbytes(own.randrange(2_000)) + own.choice((b"", b"\r\nREADY\r\n")))
                    over.wait(0.05)
                if way == "flood":
                    # A line without an end.
                    peer.sendall(b"x" * 65_536)
                if way == "boards":
                    board = f"/os: update .{own.randrange(99)} 8 K?\r\n|{own.randbytes(40).hex()}\r\nREADY\r\n"
                    peer.sendall(board.encode() + b"/os: + .1 1 ann 5:00 8 U 1 alice\r\nREADY\r\n")
                    over.wait(0.01)
                if way == "echo":
                    with contextlib.suppress(TimeoutError):
                        peer.sendall(peer.recv(4_096))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)

        def accept() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    threading.Thread(target=converse, args=(listening.accept()[0],), daemon=True).start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            over.set()
            accepting.join()


def main(arguments: list[str]) -> int:
    """``SECONDS ENDPOINT``; prints a line when it begins, and the counts at the end. The exit status is 1 where a
    program did what it must not.
    """
    platform.lower_process(10)
    seconds, endpoint = arguments
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder), endpoint, float(seconds))
        try:
            programs.run()
        finally:
            programs.end()
    counts = ", ".join(f"{count} {name}" for name, count in sorted(programs.counts.items()))
    most = ", ".join(f"{name} {size}" for name, size in sorted(programs.most_mb.items()))
    sys.stdout.write(f"{counts}; most memory in MB: {most}\n")
    for fault in sorted(set(programs.faults)):
        sys.stdout.write(f"failed: {fault}\n")
    return int(bool(programs.faults))
