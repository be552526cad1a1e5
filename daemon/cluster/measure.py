"""`desdaemon bench cluster`: what a cluster costs, beside threads of this process; and how far one owner goes.

Searches of random positions are done by threads of this process, and by as many workers of one thread each, with a
scheduler and an owner of their own on this machine. With ``--simulate`` the workers wait as long as searches took,
instead of searching, so that there can be many more slots than processors: scheduler, owner and messages are the real
ones.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from desdaemon.book.growth.engine_evaluator import HASH_BITS, Searches
from desdaemon.engine.bench.problems import random_problems
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.system.logs import message

from .connection import CONNECTIONS, workers_of
from .identity import identity
from .pool import POSITIONS, ClusterSearches
from .window import Search, WorkerAnswer

_JOIN_S = 300.0
_WORKER_SLOTS = 16
"""Slots of a simulated worker: a node has one process with a thread for each processor."""


class ClusterFigure(NamedTuple):
    """A run: what searched, searches, seconds, and the owner's seconds of processor time in them."""

    what: str
    searches: int
    seconds: float
    owner_s: float

    @property
    def rate(self) -> float:
        """Searches a second."""
        return self.searches / self.seconds

    def __str__(self) -> str:
        share = self.owner_s / self.seconds
        overhead = f"owner {1000 * self.owner_s / self.searches:.2f} ms a search, {share:.0%} of its time"
        return f"{self.what:34} {self.searches:7} searches {self.seconds:8.2f} s {self.rate:9.1f}/s   {overhead}"


def positions(count: int, level: int) -> list[Search]:
    """Searches of random positions with 30 to 48 empties, always the same ones."""
    kinds = [random_problems(count // 10 + 1, empties, empties) for empties in range(30, 50, 2)]
    found = [problem for each in zip(*kinds, strict=True) for problem in each]
    return [Search(problem.player, problem.opponent, level) for problem in found[:count]]


def by_threads(searches: Sequence[Search], threads: int) -> tuple[ClusterFigure, list[tuple[int, int] | None]]:
    """The answers of threads of this process."""
    run = Searches(weights=Weights.load())

    def search(each: Search) -> tuple[int, int] | None:
        return run(each.player, each.opponent, each.level, each.excluded)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(search, searches[: 2 * threads]))
        begun = time.perf_counter()
        answers = list(pool.map(search, searches))
        return ClusterFigure(f"{threads} threads", len(searches), time.perf_counter() - begun, 0.0), answers


@contextmanager
def processes(workers: int, threads: int, *options: str) -> Iterator[str]:
    """A scheduler and workers on this machine; the scheduler's file."""
    command = [sys.executable, "-P", "-m", "desdaemon", "cluster"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="desdaemon-cluster-")))
        file = str(folder / "scheduler.json")
        started = [[*command, "scheduler", "--listen", "tcp://127.0.0.1:0", "--scheduler-file", file]]
        started += [
            [*command, "worker", file, "--threads", str(threads), "--name", str(number), *options]
            for number in range(workers)
        ]
        log = stack.enter_context((folder / "log").open("wb"))
        until = time.monotonic() + _JOIN_S
        for words in started:
            child = stack.enter_context(subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log))
            stack.callback(child.terminate)
            while not Path(file).exists():
                if child.poll() is not None or time.monotonic() > until:
                    raise OSError("the scheduler did not start")
                time.sleep(0.05)
        client = CONNECTIONS.client(file, "")
        stack.callback(CONNECTIONS.close)
        while len(workers_of(client)) < workers:
            if time.monotonic() > until:
                raise OSError("the workers did not start")
            time.sleep(0.2)
        yield file


def by_cluster(
    what: str, file: str, searches: Iterable[Search], here: Callable[[Search], WorkerAnswer | None]
) -> tuple[ClusterFigure, list[tuple[int, int] | None]]:
    """The answers of the workers of a scheduler."""
    cluster = ClusterSearches(
        CONNECTIONS.client(file, ""), identity(Weights.load()), POSITIONS, here, hash_bits=HASH_BITS
    )
    # Connections are made and costs are known after the first searches.
    wanted = list(searches)
    for _ in cluster.answers(wanted[:40]):
        pass
    begun, spent = time.perf_counter(), time.process_time()
    found = [None if answer is None else (answer.move, answer.score) for answer in cluster.answers(wanted)]
    return ClusterFigure(what, len(wanted), time.perf_counter() - begun, time.process_time() - spent), found


def _not_here(search: Search) -> WorkerAnswer | None:
    raise AssertionError(f"{search} should have been searched by a worker")


def compare(level: int, count: int, workers: int) -> Iterator[ClusterFigure]:
    """Threads, then as many workers of one thread each; raises ValueError where their answers differ."""
    searches = positions(count, level)
    threads, expected = by_threads(searches, workers)
    yield threads._replace(what=f"level {level}, {threads.what}")
    with processes(workers, 1) as file:
        cluster, found = by_cluster(f"level {level}, {workers} workers", file, searches, _not_here)
    if found != expected:
        raise ValueError("the workers' answers are not those of the threads")
    yield cluster._replace(what=f"{cluster.what}: {cluster.rate / threads.rate:.0%}")


def simulate(slots: int, count: int, ms: float) -> ClusterFigure:
    """So many slots that wait: each search takes ``ms`` on average, drawn from an exponential distribution."""
    dice = random.Random(slots)
    # The board tells a waiting worker how long to wait, in microseconds.
    searches = [Search(int(dice.expovariate(1 / ms) * 1000), number << 32, 12) for number in range(count)]
    nodes = max(1, slots // _WORKER_SLOTS)
    with processes(nodes, slots // nodes, "--pretend") as file:
        figure, _ = by_cluster(f"{slots} slots that wait {ms:g} ms", file, searches, _not_here)
    ideal = sum(search.player for search in searches) / 1e6 / slots
    return figure._replace(what=f"{figure.what}: {ideal / figure.seconds:.0%} busy")


def command_line() -> Parser:
    """The command line."""
    parser = Parser(prog="desdaemon bench cluster", description=__doc__)
    parser.add_argument("--workers", type=whole(1, 256), default=2, metavar="N", help="threads, and workers (2)")
    parser.add_argument("--levels", default="8,12", metavar="L,L", help="levels of the searches (8,12)")
    parser.add_argument("--searches", type=whole(40, 10**6), default=4000, metavar="N", help="how many (4000)")
    parser.add_argument("--simulate", default="", metavar="N,N", help="instead: so many slots that only wait")
    parser.add_argument("--ms", type=float, default=1000.0, help="what a search takes that is simulated (1000)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the figures; returns the exit status."""
    options = command_line().parse_args(argv)

    def show(figure: ClusterFigure) -> None:
        line = json.dumps(figure._asdict()) if options.json else str(figure)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    try:
        if options.simulate:
            for slots in map(int, options.simulate.split(",")):
                show(simulate(slots, options.searches, options.ms))
        else:
            for level in map(int, options.levels.split(",")):
                for figure in compare(level, options.searches, options.workers):
                    show(figure)
    except (OSError, ValueError) as error:
        message(str(error), "desdaemon bench cluster")
        return 1
    return 0
