"""A daemon as a process of its own, and raw ZeroMQ peers that know nothing but the contract."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack
import pytest
import referee
import zmq
from checkout import ROOT
from reply_checks import reply_faults
from waits import until

from desdaemon.protocol.wire.messages import BY_NAME

REAL = (sys.executable, "-m", "daemon")
PRETENDING = (sys.executable, str(ROOT / "tests" / "support" / "fake_daemon.py"))
PATIENCE_S = 60
ENDLESS = {"level": 60, "book": "ignore"}

CODES = {
    "bad_request",
    "unsupported_version",
    "unknown_op",
    "bad_position",
    "illegal_move",
    "not_found",
    "duplicate_id",
    "busy",
    "cancelled",
    "too_large",
    "forbidden",
    "shutting_down",
    "internal",
}


def heed_signals() -> None:
    """A test run in the background of a shell ignores interrupts, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Served:
    """`desdaemon serve` with its own runtime and data folders, and TCP on a free port; small levels, two slots."""

    def __init__(self, folder: Path, *arguments: str, program: tuple[str, ...] = REAL, **environment: str) -> None:
        self.runtime = folder / "run"
        self.data = folder / "data"
        self.log = folder / "log"
        self.data.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(self.runtime), **environment}
        self._arguments = (*program, "serve", "-l", "1", "-n", "2", "-h", "16", "--data", str(self.data), *arguments)
        self.start()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        file = self.runtime / "connection.json"
        file.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._arguments,
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=heed_signals if os.name == "posix" else None,
            )
        until(lambda: file.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        self.connection = json.loads(file.read_text())

    @property
    def ipc(self) -> str:
        """The endpoint where everybody is an admin. Skips a test on Windows, which has no sockets in files."""
        if sys.platform == "win32":
            pytest.skip("needs POSIX: sockets in files")
        return next(endpoint for endpoint in self.connection["endpoints"] if endpoint.startswith("ipc:"))

    @property
    def tcp(self) -> str:
        """The endpoint on the loopback device."""
        return next(endpoint for endpoint in self.connection["endpoints"] if endpoint.startswith("tcp:"))

    def events(self, endpoint: str) -> str:
        """Where the events of an endpoint are."""
        return str(self.connection["events"][self.connection["endpoints"].index(endpoint)])

    @property
    def memory_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Ask it to end, and wait; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, program: tuple[str, ...] = REAL, **environment: str) -> Iterator[Served]:
    """A daemon for the length of a block."""
    served = Served(folder, *arguments, program=program, **environment)
    running.append(served)
    try:
        yield served
    finally:
        running.remove(served)
        served.end()


running: list[Served] = []
"""Daemons of `serving`, whose logs are shown with a test that fails."""


def line_of(seed: int, plies: int) -> str:
    """Random moves from the start."""
    return "".join(referee.name(move).lower() for move in referee.random_moves(seed, plies))


Reply = dict[str, Any]


class Peer:
    """A DEALER or REQ socket. Every reply that it reads is checked against the tables of the protocol."""

    _ops: dict[object, str | None]
    """The operations that were asked for, by id."""

    def __init__(self, endpoint: str, kind: int = zmq.DEALER, keys: tuple[bytes, bytes, bytes] | None = None) -> None:
        self.kind = kind
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        self.socket.sndhwm = 0
        if keys:
            self.socket.curve_publickey, self.socket.curve_secretkey, self.socket.curve_serverkey = keys
        self.socket.connect(endpoint)
        self.last = 0
        self._ops = {}

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Vanish."""
        self.context.destroy(linger=0)

    def send(self, body: bytes) -> None:
        """Send a body, without a delimiter of one's own."""
        self.socket.send(body)

    def receive(self, patience_s: float = PATIENCE_S) -> bytes:
        """The next body."""
        assert self.socket.poll(int(1000 * patience_s)), "no reply"
        frames = self.socket.recv_multipart()
        assert len(frames) == 1, "a reply is one frame, with a delimiter only where one was sent"
        return frames[0]

    def request(self, op: object, args: object = None, **envelope: Any) -> Any:
        """Send a request; its id, a new number unless given."""
        self.last += 1
        message = {"v": 1, "id": self.last, "op": op, **({} if args is None else {"args": args}), **envelope}
        self.send(msgpack.packb(message))
        if isinstance(message["id"], int | str):
            # A reply to an id that was used twice may be about either request.
            again = message["id"] in self._ops
            self._ops[message["id"]] = op if isinstance(op, str) and op in BY_NAME and not again else None
        return message["id"]

    def reply(self, patience_s: float = PATIENCE_S) -> Reply:
        """The next structured reply."""
        return checked(self.receive(patience_s), self._ops)

    def replies(self, wanted: Any) -> list[Reply]:
        """The replies to a request up to its last; those to others are passed over."""
        found: list[Reply] = []
        while not found or found[-1]["type"] == "partial":
            reply = self.reply()
            if reply["id"] == wanted:
                found.append(reply)
        if self.kind != zmq.REQ:
            assert [reply["seq"] for reply in found] == list(range(len(found)))
        return found

    def ask(self, op: object, args: object = None, **envelope: Any) -> Reply:
        """The last reply to a request."""
        return self.replies(self.request(op, args, **envelope))[-1]

    def final(self, op: str, args: object = None) -> dict[str, Any]:
        """The data of a request that succeeds."""
        reply = self.ask(op, args)
        assert reply["type"] == "final", reply
        data: dict[str, Any] = reply["data"]
        return data

    def refused(self, op: object, args: object = None, **envelope: Any) -> str:
        """The code of a request that fails."""
        reply = self.ask(op, args, **envelope)
        assert reply["type"] == "error", reply
        return str(reply["error"]["code"])

    def text(self, line: str) -> str:
        """The answer to a line of the text protocol."""
        self.send(line.encode())
        return self.receive().decode()


def checked(body: bytes, ops: Mapping[object, str | None] | None = None) -> Reply:
    """The reply in a body, which is as the tables of the protocol say; ``ops`` are the operations of requests by id."""
    reply: Reply = msgpack.unpackb(body)
    faults = reply_faults((ops or {}).get(reply.get("id")), reply)
    assert not faults, "\n".join([*faults, repr(reply)[:2000]])
    return reply
