"""The daemon to measure, started in folders of its own, and the plain ZeroMQ sockets that measure it."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import zmq

from desdaemon.clients.connection import started
from desdaemon.clients.errors import DaemonError, NoDaemon, from_reply
from desdaemon.clients.programs.engine_process import OWN_COMMAND
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import moves_text
from desdaemon.protocol.wire import codec, constants

PROGRAM = OWN_COMMAND
_START_S, _REPLY_S, _END_S = 120, 600, 30


def random_line(dice: random.Random, plies: int) -> str:
    """Return a line of ``plies`` random legal moves from the standard start, without a pass, as text."""
    while True:
        player, opponent = rules.START
        moves: list[int] = []
        while len(moves) < plies and (legal := rules.squares(rules.legal_moves(player, opponent))):
            moves.append(dice.choice(legal))
            player, opponent = rules.play(player, opponent, moves[-1])
        if len(moves) == plies:
            return moves_text(moves)


class BenchDaemon:
    """A context manager that runs `desdaemon serve` as a process with an empty book. All files of the daemon are in
    ``folder``, which must be empty. Entering raises `DaemonError` if the daemon does not start or reply.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        self.threads = threads
        self._folder = folder

    def __enter__(self) -> BenchDaemon:
        data = self._folder / "data"
        data.mkdir()
        file = self._folder / "run" / "connection.json"
        environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(self._folder / "run")}
        arguments = ["serve", "--bind", "tcp://127.0.0.1:0", "--data", str(data), "-n", str(self.threads)]
        # A cache of analyses that is full within a minute: then the memory is that of a daemon which has run for days.
        arguments += ["--limit", f"analyses_bytes={1 << 20}"]
        with (self._folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._prepare(file)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _prepare(self, file: Path) -> None:
        """Wait for the daemon's endpoints, give it an empty book, and load its engine by a search. Raises `NoDaemon` if
        the daemon ends or has no endpoints after `_START_S` seconds, `DaemonError` if it does not reply.
        """
        try:
            self.connection = started(self.process, file, _START_S)
        except NoDaemon as error:
            said = (self._folder / "log").read_text("utf-8", "replace").strip()
            raise NoDaemon(f"{error.message}: {said[-500:]}") from None
        self.ipc = self.connection.endpoints[0]
        self.tcp = next(endpoint for endpoint in self.connection.endpoints if endpoint.startswith("tcp:"))
        with BenchPeer(self.ipc) as peer:
            self.in_flight = int(peer.ask("hello")["limits"]["in_flight"])
            peer.ask("book.new", {"level": 4, "depth": 40})
            # After the first search the engine is loaded.
            peer.ask("analyze", {"level": 1})

    def beside(self, *arguments: str, lines: str = "") -> str:
        """Run another `desdaemon` with these arguments and input lines. Returns its output. Raises `DaemonError` if it
        fails.
        """
        done = subprocess.run([*PROGRAM, *arguments], input=lines, capture_output=True, encoding="utf-8")
        if done.returncode:
            raise DaemonError("internal", f"desdaemon {' '.join(arguments)}: {done.stderr[-200:]}")
        return done.stdout

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def until_running(self, peer: BenchPeer, count: int) -> None:
        """Ask the daemon, over ``peer``, until ``count`` searches run; give up silently after `_START_S` seconds."""
        due = time.monotonic() + _START_S
        while peer.ask("status")["running"] < count and time.monotonic() < due:
            time.sleep(0.05)


class BenchPeer:
    """A DEALER socket that times requests; without ``context`` it has a ZeroMQ context of its own."""

    def __init__(self, endpoint: str, context: zmq.Context[zmq.Socket[bytes]] | None = None) -> None:
        self._own = context is None
        self.context: zmq.Context[zmq.Socket[bytes]] = context or zmq.Context()
        if self._own:
            self.context.set(zmq.MAX_SOCKETS, 8_192)
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.sndhwm = self.socket.rcvhwm = 0
        self.socket.connect(endpoint)
        self._last = 0

    def __enter__(self) -> BenchPeer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()
        if self._own:
            self.context.term()

    def send(self, op: str, args: dict[str, Any] | None = None) -> int:
        """Send a request. Returns its number."""
        self._last += 1
        self.socket.send(codec.encode({"v": constants.VERSION, "id": self._last, "op": op, "args": args or {}}))
        return self._last

    def _reply(self) -> dict[str, Any]:
        if not self.socket.poll(1000 * _REPLY_S):
            raise DaemonError("timed_out", f"no reply within {_REPLY_S} s")
        return codec.decode(self.socket.recv())

    def _final(self, number: int) -> dict[str, Any]:
        while True:
            reply = self._reply()
            if reply["id"] == number and reply["type"] != "partial":
                return reply

    def ask(self, op: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the data of its final. Raises `DaemonError` for an error, or after `_REPLY_S`
        seconds without a reply.
        """
        reply = self._final(self.send(op, args))
        if reply["type"] == "error":
            raise from_reply(reply["error"])
        data: dict[str, Any] = reply["data"]
        return data

    def timed(self, op: str, args: dict[str, Any] | None = None) -> float:
        """Send a request and return the seconds to its final or error. Raises `DaemonError` after `_REPLY_S` seconds
        without a reply.
        """
        began = time.perf_counter()
        self._final(self.send(op, args))
        return time.perf_counter() - began

    def keep_busy(self, searches: int) -> None:
        """Start ``searches`` endless searches and wait, without limit, until all run. They end with this connection."""
        for seed in range(searches):
            self.send("analyze", {"moves": random_line(random.Random(-1 - seed), 6), "level": 60, "book": "ignore"})
        while self.ask("status")["running"] < searches:
            time.sleep(0.02)

    def throughput(self, op: str, choices: list[dict[str, Any]], count: int, window: int) -> float:
        """Send ``count`` requests whose arguments are those of ``choices`` in turn, with ``window`` in flight; there
        must be no partials. Returns the replies a second. Raises `DaemonError` if the last reply is no final.
        """
        bodies = [
            codec.encode({"v": constants.VERSION, "id": number, "op": op, "args": choices[number % len(choices)]})
            for number in range(count)
        ]
        socket = self.socket
        began = time.perf_counter()
        for body in bodies[:window]:
            socket.send(body)
        for number in range(count):
            last = socket.recv()
            if number + window < count:
                socket.send(bodies[number + window])
        seconds = time.perf_counter() - began
        if codec.decode(last)["type"] != "final":
            raise DaemonError("internal", f"the last reply to {op} was no final")
        return count / seconds

    def first_reply(self, op: str, args: dict[str, Any]) -> float:
        """Send a request and return the seconds to its first reply of any kind. Later replies to it are not read."""
        began = time.perf_counter()
        number = self.send(op, args)
        while self._reply()["id"] != number:
            pass
        return time.perf_counter() - began

    def cancelled(self) -> float:
        """Cancel the request that was sent last. Returns the seconds until its final or error."""
        number = self._last
        began = time.perf_counter()
        self.send("cancel", {"target": number})
        self._final(number)
        return time.perf_counter() - began
