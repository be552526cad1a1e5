"""`desdaemon bench server`: latency and throughput of a daemon under load.

The daemon is started in folders of its own and measured by plain sockets on the same machine; client and daemon share
the machine's processors.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import zmq

from desdaemon.clients.arguments import Parser, whole
from desdaemon.clients.errors import DaemonError
from desdaemon.clients.programs.process_groups import StoppedBySignals, interrupt
from desdaemon.protocol.system import folders, logs

from .daemon import BenchDaemon, BenchPeer, random_line

_BATCH = 100
_LISTS = 8
"""Lists of positions in flight at a time."""


class MeasuredFigure(NamedTuple):
    """A measured figure. ``aim`` is an upper bound, with ``at_least`` a lower one; None means that there is no aim."""

    name: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure meets its aim; true without an aim."""
        if self.aim is None:
            return True
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def percentile(values: list[float], percent: float) -> float:
    """Return the ``percent``-th percentile of ``values``, itself one of them. There must be a value."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


Measure = Callable[[BenchDaemon, int], list[MeasuredFigure]]
"""Measures figures of a daemon; numbers of requests are divided by the second argument."""


def command_line(program: str = "desdaemon bench server", measurements: Mapping[str, Measure] | None = None) -> Parser:
    """Return the parser of the command line of ``program``, with the names of ``measurements`` (None:
    `MEASUREMENTS`).
    """
    names = sorted(measurements or MEASUREMENTS)
    parser = Parser(program, description="Measure a daemon under load from many clients.")
    parser.add_argument(
        "--only",
        choices=names,
        metavar="NAME",
        action="append",
        help=f"measure only this; repeatable: {' '.join(names)}",
    )
    parser.add_argument(
        "--threads", type=whole(1, 256), default=os.cpu_count() or 1, help="search threads of the daemon"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests, to see whether it works")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    return parser


def main(arguments: list[str]) -> int:
    """Measure a daemon and print a table or JSON. Returns 0, or 1 for a missed aim or a failed daemon."""
    return run("desdaemon bench server", MEASUREMENTS, arguments)


def run(program: str, measurements: Mapping[str, Measure], arguments: list[str]) -> int:
    """Run the measurements that the command line names, by default all, each with a new daemon, and print the figures.
    Error messages begin with ``program``. Returns 0, or 1 for a missed aim or a failed daemon.
    """
    named = command_line(program, measurements).parse_args(arguments)
    figures: list[MeasuredFigure] = []
    try:
        with StoppedBySignals(interrupt) as signals:
            for name in named.only or measurements:
                with folders.passing("bench") as folder, BenchDaemon(Path(folder), named.threads) as daemon:
                    figures += measurements[name](daemon, 10 if named.quick else 1)
                if not named.json:
                    logs.echo(f"{name}: done")
    except KeyboardInterrupt:
        return 128 + signals.number
    except DaemonError as error:
        logs.message(str(error), program, level="error")
        return 1
    if named.json:
        content = {"machine": machine(), "figures": [figure._asdict() for figure in figures]}
        sys.stdout.write(json.dumps(content) + "\n")
    else:
        sys.stdout.write(table(figures))
    return int(not all(figure.reached for figure in figures))


def machine() -> dict[str, str | int]:
    """Return a description of the machine and the programs."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
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


def table(figures: list[MeasuredFigure], heading: str = "measured with all search threads busy") -> str:
    """Return the figures as a table for people, below a line about the machine; ``heading`` heads the first column."""
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
        positions = [line[:cut] for line in lines for cut in range(0, len(line) + 1, 2)]
        admin.keep_busy(daemon.threads)
        with BenchPeer(daemon.ipc) as peer:
            window = max(1, daemon.in_flight - 2)
            rate = peer.throughput("book.get", [{"moves": line} for line in positions], 100_000 // divisor, window)
            one = statistics.median(peer.timed("book.get", {"moves": positions[5]}) for _ in range(2_000 // divisor))
    return [
        MeasuredFigure("book.get, in flight on one connection", rate, "/s", 25_000, True, f"{window} in flight"),
        MeasuredFigure("book.get, one after another, p50", 1000 * one, "ms"),
    ]


def _partials(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    firsts, cancels = [], []
    with BenchPeer(daemon.ipc) as admin, BenchPeer(daemon.ipc) as peer:
        # Searches for the book have all slots, so that each analysis must interrupt one.
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


def _batches(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Measure four clients that look up positions of the book in lists; ``divisor`` divides the number of requests."""
    with BenchPeer(daemon.ipc) as admin:
        lines = [random_line(random.Random(seed), 12) for seed in range(1500)]
        for line in lines[:40]:
            admin.ask("book.store", {"moves": line})
        items = [{"moves": line[:cut]} for line in lines for cut in range(2, len(line) + 1, 2)]
        batches = [{"positions": items[first : first + _BATCH]} for first in range(0, len(items), _BATCH)]
        admin.throughput("book.get", batches, len(batches), 8)
        times: list[float] = []

        def ask() -> None:
            with BenchPeer(daemon.ipc) as peer:
                times.append(_BATCH * peer.throughput("book.get", batches, 4_000 // divisor, 8))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [
        MeasuredFigure("book.get, 4 clients, batches of 100", sum(times), "/s", 60_000, True, f"{len(items)} positions")
    ]


def _rates(daemon: BenchDaemon, divisor: int) -> list[MeasuredFigure]:
    """Measure analyses of different positions at level 5, in lists and singly, and the engine without a daemon;
    ``divisor`` divides the number of positions.
    """
    (row,) = json.loads(daemon.beside("bench", "short", "--json"))["rows"]
    alone = int(row["note"].split()[0]) / float(row["seconds"])
    dice = random.Random(7)
    positions = sorted({random_line(dice, dice.randrange(8, 20)) for _ in range(60_000 // divisor)})
    limits = {"level": 5, "book": "ignore"}
    # A few of the lines lead to the same position, or to a mirror image.
    singles, listed = positions[::3], [line for number, line in enumerate(positions) if number % 3]
    lists = [
        {"positions": [{"moves": line} for line in listed[first : first + _BATCH]], **limits}
        for first in range(0, len(listed), _BATCH)
    ]
    with BenchPeer(daemon.ipc) as peer:
        together = peer.throughput("analyze", lists, len(lists), _LISTS) * len(listed) / len(lists)
        rate = peer.throughput(
            "analyze", [{"moves": line, **limits} for line in singles], len(singles), daemon.in_flight - 2
        )
    name = "analyze of level 5"
    both = alone * daemon.threads
    return [
        MeasuredFigure(f"{name}, lists of {_BATCH} distinct positions", together, "/s"),
        MeasuredFigure(f"{name}, a position a request", rate, "/s"),
        MeasuredFigure(f"{name}, the engine alone on a thread", alone, "/s"),
        MeasuredFigure(
            f"{name}, lists, part of engine x {daemon.threads} threads", 100 * together / both, "%", 80, at_least=True
        ),
        MeasuredFigure(f"{name}, requests, part of the same", 100 * rate / both, "%"),
    ]


MEASUREMENTS: dict[str, Measure] = {
    "ping": _ping,
    "book": _book,
    "batches": _batches,
    "rates": _rates,
    "partials": _partials,
}
