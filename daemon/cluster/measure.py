"""`desdaemon bench cluster`: what a cluster costs, beside threads of this process; and how far one owner goes.

Searches of random positions are done by threads of this process, and by as many workers of one thread each, with a
scheduler and an owner of their own on this machine; then tasks without any search show what a task costs by itself.
With ``--simulate`` the workers wait as long as searches took, instead of searching, so that there can be many more
slots than processors: scheduler, owner and messages are the real ones.
"""

from __future__ import annotations

import heapq
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

from . import tasks as remote
from .connection import CONNECTIONS, workers_of
from .identity import identity
from .pool import POSITIONS, ClusterSearches
from .window import Search, WorkerAnswer

_JOIN_S = 300.0
_MEASURED = 200
_MOST_SIMULATED = 200_000
_EMPTY_TASKS = 1000


class ClusterFigure(NamedTuple):
    """A run: what searched, searches, the tasks in which they went to workers, seconds, and the seconds of processor
    time that owner and scheduler took in them."""

    what: str
    searches: int
    tasks: int
    seconds: float
    owner_s: float
    scheduler_s: float = 0.0

    @property
    def rate(self) -> float:
        """Searches a second."""
        return self.searches / self.seconds

    def __str__(self) -> str:
        line = f"{self.what:58} {self.searches:7} searches {self.seconds:8.2f} s {self.rate:9.1f}/s"
        if not self.tasks:
            return line
        line = f"{line}   {self.tasks} tasks"
        for name, spent in (("owner", self.owner_s), ("scheduler", self.scheduler_s)):
            if spent:
                line += f", {name} {1000 * spent / self.tasks:.2f} ms a task, {spent / self.seconds:.0%} busy"
        return line


def positions(count: int, level: int) -> list[Search]:
    """Searches of random positions with 30 to 48 empties, always the same ones."""
    kinds = [random_problems(count // 10 + 1, empties, empties) for empties in range(30, 50, 2)]
    found = [kind[number].position for number in range(count // 10 + 1) for kind in kinds]
    return [Search(position.player, position.opponent, level) for position in found[:count]]


def by_threads(searches: Sequence[Search], threads: int) -> tuple[ClusterFigure, list[tuple[int, int] | None]]:
    """The answers of threads of this process."""
    run = Searches(weights=Weights.load())

    def search(each: Search) -> tuple[int, int] | None:
        return run(each.player, each.opponent, each.level, each.excluded)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(search, searches[: 2 * threads]))
        begun = time.perf_counter()
        answers = list(pool.map(search, searches))
        return ClusterFigure(f"{threads} threads", len(searches), 0, time.perf_counter() - begun, 0.0), answers


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
    tasks, begun, spent, scheduler = cluster.tasks, time.perf_counter(), time.process_time(), scheduler_seconds()
    found = [None if answer is None else (answer.move, answer.score) for answer in cluster.answers(wanted)]
    seconds, owner_s = time.perf_counter() - begun, time.process_time() - spent
    scheduler_s = scheduler_seconds() - scheduler
    return ClusterFigure(what, len(wanted), cluster.tasks - tasks, seconds, owner_s, scheduler_s), found


def scheduler_seconds() -> float:
    """The processor time so far of the scheduler, the first process that was started."""
    import psutil

    first = min(psutil.Process().children(), key=lambda child: child.create_time())
    times = first.cpu_times()
    return float(times.user + times.system)


def empty_tasks(file: str, count: int) -> ClusterFigure:
    """Tasks without a search, all given at once: what scheduler, worker and owner have to do for each."""
    client, own = CONNECTIONS.client(file, ""), identity(Weights.load())
    begun, spent = time.perf_counter(), time.process_time()
    given = [
        client.submit(
            remote.search_batch, tuple(own), "bench", HASH_BITS, (), key=f"desdaemon-bench-{number}",
            resources={own.resource: 1},
        )
        for number in range(count)
    ]  # fmt: skip
    client.gather(given)
    seconds, owner_s = time.perf_counter() - begun, time.process_time() - spent
    return ClusterFigure(f"empty tasks: {1000 * seconds / count:.2f} ms each", 0, count, seconds, owner_s)


def _not_here(search: Search) -> WorkerAnswer | None:
    raise AssertionError(f"{search} should have been searched by a worker")


def compare(level: int, count: int, workers: int) -> Iterator[ClusterFigure]:
    """Threads, then as many workers of one thread each; raises ValueError where their answers differ."""
    searches = positions(count, level)
    threads, expected = by_threads(searches, workers)
    yield threads._replace(what=f"level {level}, {threads.what}")
    with processes(workers, 1) as file:
        cluster, found = by_cluster(f"level {level}, {workers} workers", file, searches, _not_here)
        empty = empty_tasks(file, _EMPTY_TASKS)
    if found != expected:
        raise ValueError("the workers' answers are not those of the threads")
    yield cluster._replace(what=f"{cluster.what}: {cluster.rate / threads.rate:.0%}")
    yield empty


def search_times(level: int) -> list[float]:
    """The ms that searches of a level take here, on one thread."""
    run = Searches(weights=Weights.load())
    found = []
    for each in positions(_MEASURED, level):
        begun = time.perf_counter()
        run(each.player, each.opponent, each.level, 0)
        found.append(1000 * (time.perf_counter() - begun))
    return found


def simulate(slots: int, node: int, seconds: float, times: Sequence[float]) -> ClusterFigure:
    """So many slots, ``node`` of them in a worker, that wait: each search takes one of ``times`` (ms), drawn by lot.

    There are as many searches as keep all slots busy for ``seconds``, within a limit. Towards the end slots wait for
    the longest searches: the figure tells what share of the time they were busy, and what it is in a schedule in
    which scheduler, owner and messages cost nothing and searches begin in their order.
    """
    dice = random.Random(slots)
    mean = sum(times) / len(times)
    count = min(_MOST_SIMULATED, int(slots * seconds * 1000 / mean))
    # The board tells a waiting worker how long to wait, in microseconds.
    searches = [Search(int(dice.choice(times) * 1000), number << 32, 12) for number in range(count)]
    nodes = max(1, slots // node)
    with processes(nodes, slots // nodes, "--pretend") as file:
        figure, _ = by_cluster(f"{slots} slots, {mean:.0f} ms a search", file, searches, _not_here)
    shared_s = sum(search.player for search in searches) / 1e6 / slots
    busy, possible = shared_s / figure.seconds, shared_s / _scheduled_s(searches, slots)
    return figure._replace(what=f"{figure.what}: {busy:.0%} busy, {possible:.0%} without costs")


def _scheduled_s(searches: Sequence[Search], slots: int) -> float:
    """The seconds that simulated searches take where a slot begins the next one as soon as it is free, at no cost."""
    ends = [0] * slots
    for search in searches:
        heapq.heapreplace(ends, ends[0] + search.player)
    return max(ends) / 1e6


def command_line() -> Parser:
    """The command line."""
    parser = Parser(prog="desdaemon bench cluster", description=__doc__)
    parser.add_argument("--workers", type=whole(1, 256), default=2, metavar="N", help="threads, and workers (2)")
    parser.add_argument(
        "--levels", default="8,12", metavar="L,L", help="levels of the searches (8,12); to simulate, the last"
    )
    parser.add_argument("--searches", type=whole(40, 10**6), default=4000, metavar="N", help="how many (4000)")
    parser.add_argument("--simulate", default="", metavar="N,N", help="instead: so many slots that only wait")
    parser.add_argument("--node", type=whole(1, 256), default=16, metavar="N", help="of these in a worker (16)")
    parser.add_argument("--seconds", type=float, default=20.0, help="what a simulation would take at best (20)")
    parser.add_argument("--ms", type=float, default=0.0, help="searches that are simulated are scaled to this mean")
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
        levels = list(map(int, options.levels.split(",")))
        if options.simulate:
            times = search_times(levels[-1])
            scale = options.ms * len(times) / sum(times) if options.ms else 1.0
            for slots in map(int, options.simulate.split(",")):
                show(simulate(slots, options.node, options.seconds, [scale * ms for ms in times]))
        else:
            for level in levels:
                for figure in compare(level, options.searches, options.workers):
                    show(figure)
    except (OSError, ValueError) as error:
        message(str(error), "desdaemon bench cluster")
        return 1
    return 0
