"""`desdaemon bench threads`: how much faster several threads search than one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import geometric_mean
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.obf import Problem

from .problems import contradicts

HASH_BITS = 22


class Spread(NamedTuple):
    """Figures of searches of several positions by ``threads`` threads, each search from an empty table.

    ``time`` and ``nodes`` are totals, the time in seconds; ``speedup`` is one thread's time divided by the time of
    these threads, the geometric mean over the positions. ``extra`` is the number of nodes beyond one thread's, divided
    by one thread's; ``longest`` is the busiest thread's share of all nodes; ``wrong`` counts contradicted scores.
    """

    threads: int
    time: float
    nodes: int
    speedup: float
    extra: float
    longest: float
    wrong: int

    def __str__(self) -> str:
        wrong = f", {self.wrong} WRONG" if self.wrong else ""
        return (
            f"speed-up {self.speedup:.2f}, nodes {100 * self.extra:+.1f} %, "
            f"longest thread {100 * self.longest:.1f} %{wrong}"
        )


class OneSearch(NamedTuple):
    """A search: its time in seconds (of a simulated search in any unit, but the same for all that are compared), its
    nodes, the number of nodes of the busiest thread (``longest``), and whether its score was wrong.
    """

    time: float
    nodes: int
    longest: int
    wrong: bool


def spread(threads: int, searches: Sequence[OneSearch], alone: Sequence[OneSearch]) -> Spread:
    """Return the figures of ``searches`` compared with ``alone``, the searches of the same positions by one thread."""
    nodes = sum(search.nodes for search in searches)
    return Spread(
        threads,
        sum(search.time for search in searches),
        nodes,
        geometric_mean(one.time / search.time for one, search in zip(alone, searches, strict=True)),
        nodes / sum(one.nodes for one in alone) - 1,
        sum(search.longest for search in searches) / nodes,
        sum(search.wrong for search in searches),
    )


def measure(
    weights: Weights, problems: Sequence[Problem], limits: Callable[[int], Limits], threads: Sequence[int]
) -> Iterator[Spread]:
    """Search ``problems`` within ``limits(empties)`` by one thread, then by each number in ``threads``; yield the
    figures of each.
    """
    alone: list[OneSearch] = []
    for number in (1, *threads):
        searcher = Searcher(threads=number, hash_bits=HASH_BITS, weights=weights)
        # Untimed, twice: the system provides memory at the first write, and the first `clear` gives it back.
        for _ in range(2):
            _search(searcher, problems[0], limits)
        searches = [_search(searcher, problem, limits) for problem in problems]
        alone = alone or searches
        yield spread(number, searches, alone)


def _search(searcher: Searcher, problem: Problem, limits: Callable[[int], Limits]) -> OneSearch:
    searcher.clear()
    player, opponent, _ = problem.position
    begun = time.perf_counter()
    result = searcher.search(player, opponent, limits(problem.position.empties))
    seconds = time.perf_counter() - begun
    return OneSearch(seconds, result.nodes, max(searcher.shares), contradicts(result.lines[0], problem))
