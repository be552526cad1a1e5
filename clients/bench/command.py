"""`desdaemon bench server`: the latency and throughput of a daemon for many clients while both cores search.

It starts a daemon of its own, in folders of its own, and measures with plain sockets on the same machine, so that
client and daemon share its processors. ``--minutes`` adds a mixed load with the memory at intervals.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import zmq

from desdaemon.clients.arguments import Parser
from desdaemon.clients.errors import DaemonError
from desdaemon.protocol.system import logs

from .daemon import BenchDaemon, BenchPeer, ended_by_signals, random_line
from .figures import MeasuredFigure, percentile
from .load import mixed_load
from .sharing import holds, lone, many, rates, shares, waits

_CLIENTS = 200
_IDLE = 1_000
_SETTLE_S = 1.0


def command_line() -> Parser:
    """The command line."""
    parser = Parser("desdaemon bench server", description="Measure a daemon under load from many clients.")
    parser.add_argument("--minutes", type=float, default=0.0, help="length of a mixed load that watches the memory")
    parser.add_argument(
        "--only",
        choices=sorted(MEASUREMENTS),
        metavar="NAME",
        action="append",
        help=f"measure only this; repeatable: {' '.join(sorted(MEASUREMENTS))}",
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="search threads of the daemon")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests, to see whether it works")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    return parser


def main(arguments: list[str]) -> int:
    """Measure and print a table; returns the exit status: 0, 1 when an aim was missed or the daemon failed."""
    named = command_line().parse_args(arguments)
    try:
        with ended_by_signals():
            figures, samples = _measure(named)
    except DaemonError as error:
        logs.message(str(error), "desdaemon bench server", level="error")
        return 1
    if named.json:
        content = {"machine": machine(), "figures": [figure._asdict() for figure in figures], "memory": samples}
        sys.stdout.write(json.dumps(content) + "\n")
    else:
        sys.stdout.write(table(figures, samples))
    return int(not all(figure.reached for figure in figures))


def _measure(named: argparse.Namespace) -> tuple[list[MeasuredFigure], list[tuple[float, float]]]:
    figures: list[MeasuredFigure] = []
    for name, measure in MEASUREMENTS.items():
        if name in (named.only or MEASUREMENTS):
            with tempfile.TemporaryDirectory() as folder, BenchDaemon(Path(folder), named.threads) as daemon:
                figures += measure(daemon, 10 if named.quick else 1)
                if not named.json:
                    logs.echo(f"{name}: done")
    samples: list[tuple[float, float]] = []
    if named.minutes:
        with tempfile.TemporaryDirectory() as folder, BenchDaemon(Path(folder), named.threads) as daemon:
            load = asyncio.run(mixed_load(daemon, 60 * named.minutes))
            samples = load.samples
            figures.append(MeasuredFigure("mixed load, growth of memory", load.growth_mb, "MB", 32, note=load.summary))
            figures.append(MeasuredFigure("mixed load, ping p99", load.ping_p99_ms, "ms"))
    return figures, samples


def machine() -> dict[str, str | int]:
    """The machine and the programs that matter."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "processor": processor,
        "processors": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "zeromq": zmq.zmq_version(),
    }


def table(
    figures: list[MeasuredFigure],
    samples: list[tuple[float, float]],
    heading: str = "measured with all search threads busy",
) -> str:
    """The figures for people."""
    about = machine()
    width = max(44, *(len(figure.name) + 1 for figure in figures))
    lines = [
        f"{about['processor']}, {about['processors']} processors, {about['system']}, Python {about['python']}, "
        f"ZeroMQ {about['zeromq']}",
        "",
        f"{heading:<{width}}{'figure':>12} {'aim':>16}",
    ]
    for figure in figures:
        aim = "" if figure.aim is None else f"{'>=' if figure.at_least else '<='} {figure.aim:g} {figure.unit}"
        missed = "" if figure.reached else "  missed"
        lines.append(
            f"{figure.name:<{width}}{figure.value:>9.2f} {figure.unit:<8}{aim:>10}{missed}  {figure.note}".rstrip()
        )
    if samples:
        lines += ["", "minutes   memory MB", *(f"{seconds / 60:7.1f}   {mb:11.1f}" for seconds, mb in samples)]
    return "\n".join(lines) + "\n"


def _ping(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    figures = []
    with BenchPeer(daemon.ipc) as load:
        load.keep_busy(daemon.threads)
        for name, endpoint in (("ipc", daemon.ipc), ("tcp", daemon.tcp)):
            with BenchPeer(endpoint) as peer:
                times = [1000 * peer.timed("ping") for _ in range(5_000 // divisor)]
            figures.append(MeasuredFigure(f"ping p50, {name}", percentile(times, 50), "ms", 0.3))
            figures.append(MeasuredFigure(f"ping p99, {name}", percentile(times, 99), "ms", 5))
    return figures


def _book(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    with BenchPeer(daemon.ipc) as admin:
        lines = [random_line(random.Random(seed), 8) for seed in range(40)]
        for line in lines:
            admin.ask("book.store", {"moves": line})
        found = [line[:cut] for line in lines for cut in range(0, len(line) + 1, 2)]
        admin.keep_busy(daemon.threads)
        with BenchPeer(daemon.ipc) as peer:
            window = max(1, daemon.in_flight - 2)
            rate = peer.throughput("book.get", [{"moves": line} for line in found], 100_000 // divisor, window)
            one = statistics.median(peer.timed("book.get", {"moves": found[5]}) for _ in range(2_000 // divisor))
    return [
        MeasuredFigure("book.get, in flight on one connection", rate, "/s", 25_000, True, f"{window} in flight"),
        MeasuredFigure("book.get, one after another, p50", 1000 * one, "ms"),
    ]


def _fairness(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    count = _CLIENTS // divisor
    with BenchPeer(daemon.ipc) as greedy:
        # A client that has asked for much already must not keep the others waiting.
        for seed in range(daemon.in_flight - 2):
            greedy.send("analyze", {"moves": random_line(random.Random(seed), 12), "level": 12, "book": "ignore"})
        peers = [BenchPeer(daemon.ipc, greedy.context) for _ in range(count)]
        for number, peer in enumerate(peers):
            peer.begin("analyze", {"moves": random_line(random.Random(10**6 + number), 14), "level": 12})
        waits = BenchPeer.finish_all(peers)
        for peer in peers:
            peer.close()
    mean = statistics.mean(waits)
    note = f"mean {mean:.2f} s, longest {max(waits):.2f} s"
    return [MeasuredFigure(f"{count} clients, longest wait / mean", max(waits) / mean, "times", 3, note=note)]


def _idle(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    count = _IDLE // divisor
    with BenchPeer(daemon.ipc) as first:
        first.timed("ping")
        daemon.settle(_SETTLE_S)
        before = daemon.memory_mb
        peers = [BenchPeer(daemon.ipc, first.context) for _ in range(count)]
        for peer in peers:
            peer.timed("hello")
        daemon.settle(_SETTLE_S)
        growth = daemon.memory_mb - before
        for peer in peers:
            peer.close()
    return [MeasuredFigure(f"{count} idle clients", growth, "MB", 50 / divisor)]


def _partials(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    firsts, cancels = [], []
    with BenchPeer(daemon.ipc) as admin, BenchPeer(daemon.ipc) as peer:
        # Book searches have all the slots, so that each analysis has to interrupt one.
        learn = {"depth": 40, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 16}
        admin.send("book.learn", learn)
        daemon.until_running(peer, daemon.threads)
        for seed in range(200 // divisor):
            args = {"moves": random_line(random.Random(seed), 10), "level": 60, "book": "ignore", "partial_ms": 5}
            firsts.append(1000 * peer.first_reply("analyze", args))
            cancels.append(1000 * peer.cancelled())
    return [
        MeasuredFigure("first partial, a book job running, p50", percentile(firsts, 50), "ms", 30),
        MeasuredFigure("first partial, a book job running, max", max(firsts), "ms"),
        MeasuredFigure("cancelling an analysis, p50", percentile(cancels, 50), "ms", 50),
        MeasuredFigure("cancelling an analysis, max", max(cancels), "ms", 50),
    ]


def _end(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    with BenchPeer(daemon.ipc) as peer:
        peer.send("book.learn", {"depth": 40, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 12})
        peer.keep_busy(daemon.threads)
        seconds = daemon.end()
    return [MeasuredFigure("SIGTERM under load", seconds, "s", 5, note=f"exit status {daemon.process.returncode}")]


MEASUREMENTS: dict[str, Callable[[BenchDaemon, int], list[MeasuredFigure]]] = {
    "ping": _ping,
    "book": _book,
    "many": many,
    "rates": rates,
    "waits": waits,
    "lone": lone,
    "shares": shares,
    "holds": holds,
    "fairness": _fairness,
    "idle": _idle,
    "partials": _partials,
    "end": _end,
}
