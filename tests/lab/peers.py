"""The process of hostile peers in `python tests/lab storm`: floods, broken frames, abandoned and half-open connections.

They speak ZMTP over plain sockets, because libzmq prevents most of it. None of their requests changes the book, so that
the expected answers to other clients stay the same.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from desdaemon.protocol.rows import READER
from desdaemon.protocol.system import platform
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.messages import OPERATIONS

_PROGRAM = (sys.executable, "-P", str(Path(__file__).parent), "peers")
_MORE, _LONG, _COMMAND = 1, 2, 4
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
_CONNECT_S = 5.0
_STOPPED = 4
_SILENT = 1_300
"""More connections than the daemon's table of handshakes holds."""
_LINE = "f5d6c3d3c4f4c5b3c2e3d2c6b4"
_LINES = ("init", "moves", "play f5", "undo", "hint 1", "go", "level 1", "setboard x", "nonsense", "book show", "\0")
_OPS = [operation for operation in OPERATIONS if operation.role == READER]
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 3, 61, 2**63, 0.5, "", "f5", "f5d6", "a1", "X" * 64 + " O", "x" * 999, b"\xff\0"),
    *([], ["f5"], [0] * 200, {}, {"a": {"b": []}}),
)


def _frame(content: bytes, flags: int = 0) -> bytes:
    if len(content) < 256:
        return bytes((flags, len(content))) + content
    return bytes((flags | _LONG,)) + len(content).to_bytes(8, "big") + content


def _ready(kind: bytes) -> bytes:
    properties = b"".join(
        bytes((len(name),)) + name + len(value).to_bytes(4, "big") + value
        for name, value in ((b"Socket-Type", kind), (b"Identity", b""))
    )
    return _frame(b"\x05READY" + properties, _COMMAND)


_PING = _frame(b"\x04PING\x00\x00", _COMMAND)


def _request(number: int, op: str, **args: Any) -> bytes:
    return _frame(codec.encode({"v": 1, "id": number, "op": op, "args": args}))


class _HostileConnection:
    """A plain socket after the handshake; its errors are ignored, whatever the daemon does."""

    def __init__(self, endpoint: str, kind: bytes = b"DEALER") -> None:
        if endpoint.startswith("ipc://"):
            self.socket = platform.ipc_socket()
            self.socket.settimeout(_CONNECT_S)
            self.socket.connect(endpoint.removeprefix("ipc://"))
        else:
            host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
            self.socket = socket.create_connection((host, int(port)), _CONNECT_S)
        self.socket.sendall(_GREETING + _ready(kind))
        self.socket.setblocking(False)

    def send(self, data: bytes, patience_s: float = 0.2) -> None:
        """Send as much as the daemon takes within ``patience_s``."""
        until = time.monotonic() + patience_s
        left = memoryview(data)
        while left and time.monotonic() < until:
            try:
                left = left[self.socket.send(left) :]
            except BlockingIOError:
                time.sleep(0.005)

    def read(self, size: int) -> None:
        """Read some of the received bytes."""
        with contextlib.suppress(BlockingIOError):
            while size > 0 and (found := self.socket.recv(min(size, 1 << 16))):
                size -= len(found)

    def reset(self) -> None:
        """Close at once, with unread bytes too: over TCP with a RST."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def leave(self) -> None:
        """Close in one of the two ways."""
        if random.random() < 0.5:
            self.reset()
        else:
            self.socket.close()


class Hostile:
    """All behaviours, a thread each, until the time is over; ``counts`` is the number of times each was carried out."""

    def __init__(self, endpoints: list[str], events: list[str], connections: int, seconds: float) -> None:
        self.counts: Counter[str] = Counter()
        self._endpoints = endpoints
        self._events = events
        self._connections = connections
        self._end = time.monotonic() + seconds
        self._stopped: list[subprocess.Popen[bytes]] = []

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end

    def run(self) -> None:
        """Run all behaviours in parallel; returns at the end."""
        behaviours = (
            self.flood,
            self.leave_backlogs,
            self.ping_behind_backlogs,
            self.crowd,
            self.fuzz,
            self.break_handshakes,
            self.flood_silently,
            self.send_halves,
            self.search_and_vanish,
            self.subscribe_and_sleep,
            self.stop_processes,
        )
        threads = [threading.Thread(target=self._repeat, args=(behaviour,)) for behaviour in behaviours]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _repeat(self, behaviour: Callable[[random.Random], None]) -> None:
        dice = random.Random(behaviour.__name__)
        while not self.over:
            try:
                behaviour(dice)
                self.counts[behaviour.__name__] += 1
            except OSError:
                # Refused, reset or out of time: that is the daemon's good right.
                self.counts["closed by the daemon"] += 1
            time.sleep(dice.random() / 4)

    def _connect(self, dice: random.Random) -> _HostileConnection:
        return _HostileConnection(dice.choice(self._endpoints))

    def flood(self, dice: random.Random) -> None:
        """Requests as fast as they are taken, answers unread."""
        connection = self._connect(dice)
        ops = ("ping", "hello", "legal", "status", "book.get")
        connection.send(b"".join(_request(number, dice.choice(ops)) for number in range(2000)), 1.0)
        connection.leave()

    def leave_backlogs(self, dice: random.Random) -> None:
        """Many connections that request much, read a part of it, and close."""
        found = [self._connect(dice) for _ in range(20)]
        for connection in found:
            connection.send(_request(1, "metrics") * 200 + _request(2, "legal", moves=_LINE) * 60)
        time.sleep(dice.random() / 10)
        for connection in found:
            with contextlib.suppress(OSError):
                connection.read(dice.randrange(1 << 17))
            connection.leave()

    def ping_behind_backlogs(self, dice: random.Random) -> None:
        """The sequence that makes libzmq abort: a backlog, heartbeats behind it, a reset."""
        found = [self._connect(dice) for _ in range(10)]
        for connection in found:
            connection.send(_request(1, "ping") * 200 + (_request(2, "metrics") + _PING) * 300)
        for connection in found:
            connection.reset()

    def crowd(self, dice: random.Random) -> None:
        """Many connections, some of which are closed and replaced all the time."""
        found: list[_HostileConnection] = []
        while not self.over:
            while len(found) < self._connections and not self.over:
                with contextlib.suppress(OSError):
                    found.append(self._connect(dice))
                    found[-1].send(_request(1, "ping"))
                if len(found) % 50 == 0:
                    time.sleep(0.05)
            for _ in range(min(len(found), dice.randrange(200))):
                found.pop(dice.randrange(len(found))).leave()
            for connection in dice.sample(found, min(len(found), 100)):
                with contextlib.suppress(OSError):
                    connection.send(_request(2, "status"))
                    connection.read(1 << 16)
            self.counts["rounds of the crowd"] += 1
            time.sleep(dice.random())
        for connection in found:
            connection.leave()

    def fuzz(self, dice: random.Random) -> None:
        """Invalid messages, from clients that live briefly."""
        connection = self._connect(dice)
        for _ in range(dice.randrange(1, 100)):
            connection.send(self._noise(dice))
        connection.read(1 << 16)
        connection.leave()

    def _noise(self, dice: random.Random) -> bytes:
        kind = dice.randrange(6)
        if kind == 0:
            return _frame(dice.randbytes(dice.randrange(300)))
        if kind == 1:
            return _frame(dice.choice(_LINES).encode() + dice.choice((b"", b" ", b"\xff")))
        if kind == 2:
            return b"".join(_frame(dice.randbytes(dice.randrange(3)), _MORE) for _ in range(9)) + _frame(b"")
        operation = dice.choice(_OPS)
        names = [argument.name for argument in operation.arguments if "file" not in argument.name] or ["x"]
        args = {dice.choice(names): dice.choice(_VALUES) for _ in range(dice.randrange(4))}
        message: dict[str, Any] = {"v": 1, "id": dice.randrange(50), "op": operation.name, "args": args}
        if kind == 3:
            message[dice.choice(("v", "id", "op", "args"))] = dice.choice(_VALUES)
        body = bytearray(codec.encode(message))
        if kind == 4:
            body[dice.randrange(len(body))] = dice.randrange(256)
        return _frame(bytes(body), dice.choice((0, 0, 0, 0, _COMMAND)))

    def break_handshakes(self, dice: random.Random) -> None:
        """Garbage instead of a greeting, or after it, or a greeting that never ends."""
        for begin in (b"", _GREETING, _GREETING[: dice.randrange(64)]):
            connection = self._connect(dice)
            connection.reset()
            raw = platform.ipc_socket()
            with raw:
                raw.settimeout(_CONNECT_S)
                raw.connect(self._endpoints[0].removeprefix("ipc://"))
                raw.sendall(begin + dice.randbytes(dice.randrange(200)))
                time.sleep(dice.random() / 20)

    def flood_silently(self, dice: random.Random) -> None:
        """Connections that never say anything, more than there is room for, from one loopback address or from eight."""
        endpoint = next(endpoint for endpoint in self._endpoints if endpoint.startswith("tcp:"))
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        addresses = dice.choice((1, 8))
        with contextlib.ExitStack() as silent:
            for number in range(_SILENT):
                own = (f"127.0.0.{1 + number % addresses}", 0)
                silent.enter_context(socket.create_connection((host, int(port)), _CONNECT_S, own))
                if number % 50 == 0:
                    time.sleep(0.02)
            time.sleep(5 * dice.random())

    def send_halves(self, dice: random.Random) -> None:
        """Large messages that stop half-way."""
        found = [self._connect(dice) for _ in range(10)]
        for connection in found:
            connection.send(bytes((_LONG,)) + (1 << 20).to_bytes(8, "big") + bytes(dice.randrange(1 << 20)))
        time.sleep(dice.random())
        for connection in found:
            connection.leave()

    def search_and_vanish(self, dice: random.Random) -> None:
        """Endless searches whose client disconnects."""
        connection = self._connect(dice)
        for number in range(dice.randrange(1, 20)):
            moves = _LINE[: 2 * dice.randrange(1, 13)]
            connection.send(_request(number, "analyze", moves=moves, level=60, book="ignore", partial_ms=1))
        time.sleep(dice.random())
        connection.leave()

    def subscribe_and_sleep(self, dice: random.Random) -> None:
        """Subscribers that never read."""
        found = [_HostileConnection(dice.choice(self._events), b"SUB") for _ in range(20)]
        for connection in found:
            connection.send(_frame(b"\x01") + _frame(b"\x09SUBSCRIBEjob", _COMMAND))
        time.sleep(5 * dice.random())
        for connection in found:
            connection.leave()

    def stop_processes(self, dice: random.Random) -> None:
        """Processes that are stopped (SIGSTOP) during a flood, continued later, or killed while stopped."""
        while len(self._stopped) < _STOPPED:
            self._stopped.append(self._flooding_process(dice.randrange(10**9)))
        time.sleep(0.3)
        for process in self._stopped:
            psutil.Process(process.pid).suspend()
        time.sleep(3 * dice.random())
        for process in list(self._stopped):
            psutil.Process(process.pid).resume()
            if dice.random() < 0.5 or self.over:
                process.kill()
                process.wait()
                self._stopped.remove(process)

    def _flooding_process(self, seed: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*_PROGRAM, "flood", str(seed), *self._endpoints])

    def kill_stopped(self) -> None:
        """Kill all stopped processes."""
        for process in self._stopped:
            process.kill()
            process.wait()


def leave_behind_flood(endpoint: str, flood: str, count: int, lines: list[str], patience_s: float) -> bool:
    """Send a flood, then these lines of text, and leave at once. Returns False if the daemon ended the handshake.

    The flood is ``count`` requests ("ping") or lines that only ask ("moves"); of searches ("hint ...") one does.
    """
    if flood == "ping":
        noise = _request(1, "ping") * count
    elif flood.startswith("hint"):
        noise = b"".join(_frame(line.encode()) for line in ("level 40", "book-usage off", flood))
    else:
        noise = _frame(flood.encode()) * count
    with contextlib.suppress(ConnectionError), _HostileConnection(endpoint).socket as peer:
        peer.settimeout(patience_s)
        # A handshake that lasts for over a second may be ended, with all that was sent behind it.
        peer.sendall(_request(0, "ping"))
        missing = 1 + len(_GREETING + _ready(b"ROUTER"))
        while missing > 0 and (received := peer.recv(1 << 10)):
            missing -= len(received)
        if missing <= 0:
            peer.sendall(noise + b"".join(_frame(line.encode()) for line in lines))
            return True
    return False


def _flood(seed: int, endpoints: list[str]) -> None:
    dice = random.Random(seed)
    body = b"".join(_request(number, dice.choice(("metrics", "legal", "hello"))) for number in range(200))
    found = [_HostileConnection(dice.choice(endpoints)) for _ in range(5)]
    while True:
        for connection in found:
            connection.send(body)
            connection.read(1000)
        time.sleep(0.01)


def main(arguments: list[str]) -> int:
    """``SECONDS CONNECTIONS ENDPOINT,... EVENTS,...``; prints the counts at the end."""
    if arguments[0] == "flood":
        with contextlib.suppress(OSError):
            _flood(int(arguments[1]), arguments[2:])
        return 0
    # What is measured is the daemon, not how many processes the machine can run.
    platform.lower_process(10)
    seconds, connections, endpoints, events = arguments
    hostile = Hostile(endpoints.split(","), events.split(","), int(connections), float(seconds))
    try:
        hostile.run()
    finally:
        hostile.kill_stopped()
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in sorted(hostile.counts.items())) + "\n")
    return 0
