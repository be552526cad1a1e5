"""`python tests/lab stops`: how soon a search ends that is stopped, and a thread leaves that is sent away."""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.engine.bench.problems import random_problems
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.processors import processors

_POSITIONS = 12
_LEAST_S, _MOST_S = 0.05, 0.35
"""A search is stopped after a time between these, seconds."""


class _Kind(NamedTuple):
    """A kind of searches that would take minutes: the empties of positions, limits, and the number of lines."""

    name: str
    empties: int
    limits: Limits
    multipv: int = 1


_KINDS = (
    _Kind("exact", 30, Limits(60)),
    _Kind("exact, many empties", 40, Limits(60)),
    _Kind("selective", 44, Limits(36, Selectivity(73))),
    _Kind("selective, 4 lines", 44, Limits(34, Selectivity(73)), 4),
)


def measure(weights: Weights, threads: int) -> Iterator[tuple[str, list[float]]]:
    """Each kind of search by so many threads: its name, and the seconds from `Control.stop` to the end."""
    dice = random.Random(1)
    searcher = Searcher(threads=threads, weights=weights)
    for kind in _KINDS:
        delays: list[float] = []
        for problem in random_problems(_POSITIONS, kind.empties, 7):
            searcher.clear()
            control = Control()
            search = threading.Thread(
                target=searcher.search,
                args=(*problem.position[:2], kind.limits),
                kwargs={"control": control, "multipv": kind.multipv},
            )
            search.start()
            time.sleep(dice.uniform(_LEAST_S, _MOST_S))
            if search.is_alive():
                begun = time.perf_counter()
                control.stop()
                search.join()
                delays.append(time.perf_counter() - begun)
        yield kind.name, delays


def measure_leaving(weights: Weights) -> list[float]:
    """The seconds from `Team.dismiss` until a guest of a search of one thread has returned."""
    dice = random.Random(2)
    searcher = Searcher(guests=1, weights=weights)
    team = searcher.team
    assert team is not None
    delays: list[float] = []
    for kind in _KINDS:
        for problem in random_problems(3, kind.empties, 9):
            searcher.clear()
            control = Control()
            open_ = threading.Event()
            search = threading.Thread(
                target=searcher.search,
                args=(*problem.position[:2], kind.limits),
                kwargs={"control": control, "multipv": kind.multipv, "welcome": open_.set},
            )
            search.start()
            open_.wait()
            for _ in range(4):
                seat = team.join()
                if not seat:
                    break
                guest = threading.Thread(target=team.help, args=(seat,))
                guest.start()
                time.sleep(dice.uniform(0.01, 0.1))
                begun = time.perf_counter()
                team.dismiss(seat)
                guest.join()
                delays.append(time.perf_counter() - begun)
            control.stop()
            search.join()
    return delays


def main(arguments: list[str]) -> int:
    """Print a line for each kind of search and number of threads; returns the exit status."""
    Parser("lab stops", description="From a stop to the end of the search, wall time.").parse_args(arguments)
    weights = Weights.load()
    rows = [
        (f"{name}, {threads} threads", delays)
        for threads in sorted({1, processors(), 32})
        for name, delays in measure(weights, threads)
    ]
    for name, delays in [*rows, ("a thread that joined a search leaves it", measure_leaving(weights))]:
        milliseconds = [1000 * delay for delay in delays]
        sys.stdout.write(
            f"{name:44} median {statistics.median(milliseconds):.2f} ms of {len(delays)}, "
            f"greatest {max(milliseconds):.1f} ms\n"
        )
    return 0
