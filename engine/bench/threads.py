"""`desdaemon bench threads`: the speed-up by several threads, real or virtual."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.obf import Problem

from .problems import contradicts
from .virtual_threads import TURN, Turns


class Spread(NamedTuple):
    """Searches of some positions by so many threads, from an empty table each.

    ``time`` is seconds of wall time, or nodes with virtual threads; ``speedup`` the geometric mean over the positions
    of one thread's time by this one, ``extra`` the share of nodes beyond one thread's, ``longest`` the share of all
    nodes that the thread with most of them visited, ``idle`` the part of the threads' time in which they waited.
    """

    threads: int
    time: float
    nodes: int
    speedup: float
    extra: float
    longest: float
    idle: float
    wrong: int


class _One(NamedTuple):
    """One search."""

    time: float
    nodes: int
    longest: int
    idle: float
    wrong: bool


def measure(
    weights: Weights,
    problems: Sequence[Problem],
    limits: Callable[[int], Limits],
    threads: Sequence[int],
    *,
    virtual: bool,
    bits: int = 22,
    quantum: int = TURN,
) -> Iterator[Spread]:
    """The searches of ``problems`` within ``limits`` of their empties: by one thread, then by each of ``threads``."""
    alone: list[_One] = []
    for number in (1, *threads):
        waiting = Turns(number, quantum) if virtual and number > 1 else None
        searcher = Searcher(threads=number, hash_bits=bits, weights=weights, waiting=waiting)
        if not virtual:
            # Untimed, twice: the system gives a searcher's memory page by page, and the first `clear` gives it back.
            for _ in range(2):
                _search(searcher, problems[0], limits, waiting, virtual=False)
        found = [_search(searcher, problem, limits, waiting, virtual=virtual) for problem in problems]
        alone = alone or found
        nodes = sum(one.nodes for one in found)
        total = sum(one.time for one in found)
        yield Spread(
            number,
            total,
            nodes,
            math.exp(sum(math.log(a.time / b.time) for a, b in zip(alone, found, strict=True)) / len(found)),
            nodes / sum(one.nodes for one in alone) - 1,
            sum(one.longest for one in found) / nodes,
            sum(one.idle for one in found) / (number * total),
            sum(one.wrong for one in found),
        )


def _search(
    searcher: Searcher, problem: Problem, limits: Callable[[int], Limits], waiting: Turns | None, *, virtual: bool
) -> _One:
    searcher.clear()
    player, opponent, _ = problem.position
    begun = time.perf_counter()
    result = searcher.search(player, opponent, limits(problem.position.empties))
    seconds = time.perf_counter() - begun
    shares = searcher.shares
    if not virtual:
        return _One(seconds, result.nodes, max(shares), 0.0, contradicts(result.lines[0], problem))
    # The leader is there from the beginning to the end.
    length = shares[0] + (waiting.idle[0] if waiting is not None else 0)
    idle = len(shares) * length - result.nodes
    return _One(length, result.nodes, max(shares), max(0, idle), contradicts(result.lines[0], problem))
