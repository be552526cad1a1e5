"""`python tests/lab serving`: a daemon with contended search threads: waits, shares by key, the longest turn of the
loop, idle clients, its end.
"""

from __future__ import annotations

import random
import statistics
import time

import zmq

from desdaemon.clients.bench.daemon import BenchDaemon, BenchPeer, random_line
from desdaemon.clients.bench.server import MeasuredFigure, percentile, run
from desdaemon.clients.errors import DaemonError, from_reply
from desdaemon.protocol.system import platform
from desdaemon.protocol.wire import codec

_CLIENTS = 200
_IDLE = 1_000
_REPLY_S, _END_S = 600, 30
_SETTLE_S = 1.0
_BUSY = 50
_CONNECTIONS = 40
_SHARING_S = 40
_HOLDS_PLIES = 10
_LONE = 2
_HASH_BITS = 21
"""Of the daemon's tables."""


def waits(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Fifty clients search without end; new ones ask a question of level 3 each."""
    with BenchPeer(daemon.ipc) as admin:
        busy = [BenchPeer(daemon.ipc, admin.context) for _ in range(_BUSY)]
        for seed, peer in enumerate(busy):
            peer.send("analyze", {"moves": random_line(random.Random(-1 - seed), 10), "level": 60, "book": "ignore"})
        daemon.until_running(admin, daemon.threads)
        time.sleep(5 / divisor)
        times = []
        for seed in range(400 // divisor):
            with BenchPeer(daemon.ipc) as new:
                args = {"moves": random_line(random.Random(10**7 + seed), 14), "level": 3, "book": "ignore"}
                times.append(1000 * new.timed("analyze", args))
        for peer in busy:
            peer.close()
    name = f"{_BUSY} endless searches, a new client's level 3"
    return [
        MeasuredFigure(f"{name}, p50", percentile(times, 50), "ms"),
        MeasuredFigure(f"{name}, p95", percentile(times, 95), "ms", 100),
        MeasuredFigure(f"{name}, max", max(times), "ms"),
    ]


def lone(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """One client analyses and nobody else wants anything, so that all threads search for it; then others ask."""
    level = 27 if divisor == 1 else 16
    threads = ["-n", str(daemon.threads), "-hash-table-size", str(_HASH_BITS)]

    def dialogue(line: str, level: int) -> float:
        began = time.perf_counter()
        daemon.beside("-level", str(level), *threads, lines=f"play {line}\nhint 1\nquit\n")
        return time.perf_counter() - began

    served = alone = 0.0
    times = []
    with BenchPeer(daemon.ipc) as peer:
        for seed in range(_LONE):
            line = random_line(random.Random(20 + seed), 14)
            alone += dialogue(line, level) - dialogue(line, 1)
            served += peer.timed("analyze", {"moves": line, "level": level, "book": "ignore"})
        peer.send("analyze", {"moves": random_line(random.Random(1), 10), "level": 60, "book": "ignore"})
        time.sleep(5 / divisor)
        for seed in range(400 // divisor):
            with BenchPeer(daemon.ipc) as new:
                args = {"moves": random_line(random.Random(10**7 + seed), 14), "level": 3, "book": "ignore"}
                times.append(1000 * new.timed("analyze", args))
    name = f"{daemon.threads} threads at one search, a new client's level 3"
    note = f"{served:.1f} s and {alone:.1f} s, {_LONE} positions"
    return [
        MeasuredFigure(
            f"analyze of level {level}, a dialogue with -n {daemon.threads}", served / alone, "times", 1.1, note=note
        ),
        MeasuredFigure(f"{name}, p50", percentile(times, 50), "ms"),
        MeasuredFigure(f"{name}, p95", percentile(times, 95), "ms", 10),
        MeasuredFigure(f"{name}, max", max(times), "ms"),
    ]


def shares(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """One connection over ipc and forty over TCP, which are two keys, ask as much as they may."""
    with BenchPeer(daemon.ipc) as one:
        many = [BenchPeer(daemon.tcp, one.context) for _ in range(_CONNECTIONS)]
        dice = random.Random(5)
        for peer in [one, *many]:
            for _ in range(daemon.in_flight - 2):
                peer.send("analyze", {"moves": random_line(dice, 12), "level": 40, "book": "ignore"})
        time.sleep(2)
        before = _seconds(one)
        time.sleep(_SHARING_S / divisor)
        after = _seconds(one)
        for peer in many:
            peer.close()
    had = [after[key] - before[key] for key in ("ipc", "tcp")]
    mean = sum(had) / 2
    note = f"{had[0]:.1f} s and {had[1]:.1f} s of threads"
    apart = 100 * abs(had[0] - had[1]) / 2 / mean
    return [MeasuredFigure(f"keys with 1 and {_CONNECTIONS} connections, off the mean by", apart, "%", 10, note=note)]


def _seconds(admin: BenchPeer) -> dict[str, float]:
    return {found["key"]: found["seconds"] for found in admin.ask("status")["accounts"]}


def holds(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Requests that are large in every way, and how long the loop that owns the sockets was busy with one of them.

    The book holds all positions to ply 10, 3.47 million, and a job works on all of it meanwhile.
    """
    line = random_line(random.Random(1), 50)
    with BenchPeer(daemon.ipc) as peer, BenchPeer(daemon.ipc) as editor:
        positions = editor.ask("book.enumerate", {"plies": _HOLDS_PLIES - 2 * (divisor > 1)})["positions"]
        editor.send("book.stats")
        for op, args in (
            ("analyze", {f"unknown {number}": 0 for number in range(4096)}),
            ("analyze", {"moves": line, "plies": list(range(51)), "level": 1}),
            ("analyze", {"positions": [{"moves": line[: 2 * (number % 51)]} for number in range(1000)], "level": 3}),
            ("analyze.batch", {"items": [{"moves": line}] * 4096, "level": 0}),
            ("book.get", {"positions": [{"moves": line[: 2 * (number % 51)]} for number in range(1000)]}),
            ("book.info", {}),
            ("text", {"line": "#" * 65_000}),
            ("metrics", {}),
        ):
            for _ in range(10 // divisor + 1):
                peer.timed(op, args)
        loop = peer.ask("status")["loop"]
    note = f"longest request: {loop['longest_request']} {loop['longest_request_ms']:.1f} ms; {positions} positions"
    return [MeasuredFigure("longest hold of the loop", loop["longest_turn_ms"], "ms", 20, note=note)]


def fairness(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    count = _CLIENTS // divisor
    with BenchPeer(daemon.ipc) as greedy:
        # A client that has asked for much already must not keep the others waiting.
        for seed in range(daemon.in_flight - 2):
            greedy.send("analyze", {"moves": random_line(random.Random(seed), 12), "level": 12, "book": "ignore"})
        peers = [BenchPeer(daemon.ipc, greedy.context) for _ in range(count)]
        began: dict[zmq.Socket[bytes], float] = {}
        for number, peer in enumerate(peers):
            peer.send("analyze", {"moves": random_line(random.Random(10**6 + number), 14), "level": 12})
            began[peer.socket] = time.perf_counter()
        seconds = _waited(began)
        for peer in peers:
            peer.close()
    mean = statistics.mean(seconds)
    note = f"mean {mean:.2f} s, longest {max(seconds):.2f} s"
    return [MeasuredFigure(f"{count} clients, longest wait / mean", max(seconds) / mean, "times", 3, note=note)]


def _waited(began: dict[zmq.Socket[bytes], float]) -> list[float]:
    """Wait for the finals of requests that have ``began``, one on each socket. Returns the seconds that each took."""
    poller = zmq.Poller()
    for socket in began:
        poller.register(socket, zmq.POLLIN)
    seconds: list[float] = []
    while len(seconds) < len(began):
        ready = poller.poll(1000 * _REPLY_S)
        if not ready:
            raise DaemonError("timed_out", f"{len(began) - len(seconds)} clients have no reply after {_REPLY_S} s")
        for socket, _ in ready:
            reply = codec.decode(socket.recv())
            if reply["type"] == "error":
                raise from_reply(reply["error"])
            if reply["type"] == "final":
                seconds.append(time.perf_counter() - began[socket])
                poller.unregister(socket)
    return seconds


def _memory_mb(daemon: BenchDaemon) -> float:
    """Return the daemon's own resident memory, MiB, without files that it shares with other processes."""
    return platform.own_bytes(daemon.process.pid) / (1 << 20)


def idle(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    count = _IDLE // divisor
    # Each of a thousand connections takes a descriptor in the daemon and two in this process.
    platform.raise_open_files()
    with BenchPeer(daemon.ipc) as first:
        first.timed("ping")
        time.sleep(_SETTLE_S)
        before = _memory_mb(daemon)
        peers = [BenchPeer(daemon.ipc, first.context) for _ in range(count)]
        for peer in peers:
            peer.timed("hello")
        time.sleep(_SETTLE_S)
        growth = _memory_mb(daemon) - before
        for peer in peers:
            peer.close()
    return [MeasuredFigure(f"{count} idle clients", growth, "MB", 50 / divisor)]


def end(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    with BenchPeer(daemon.ipc) as peer:
        peer.send("book.learn", {"depth": 40, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 12})
        peer.keep_busy(daemon.threads)
        began = time.perf_counter()
        daemon.process.terminate()
        daemon.process.wait(_END_S)
        seconds = time.perf_counter() - began
    return [MeasuredFigure("SIGTERM under load", seconds, "s", 5, note=f"exit status {daemon.process.returncode}")]


def main(arguments: list[str]) -> int:
    """Measure and print a table; see `run`."""
    return run("lab serving", _MEASUREMENTS, arguments)


_MEASUREMENTS = {
    "waits": waits,
    "lone": lone,
    "shares": shares,
    "holds": holds,
    "fairness": fairness,
    "idle": idle,
    "end": end,
}
