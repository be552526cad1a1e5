"""`desdaemon bench threads`: the speed-up by several threads, real or virtual."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello.obf import Problem

from .problems import contradicts, random_problems
from .virtual_threads import Turns


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
    quantum: int = 2000,
) -> Iterator[Spread]:
    """The searches of ``problems`` within ``limits`` of their empties: by one thread, then by each of ``threads``."""
    alone: list[_One] = []
    for number in (1, *threads):
        waiting = Turns(number, quantum) if virtual and number > 1 else None
        searcher = Searcher(threads=number, hash_bits=bits, weights=weights, waiting=waiting)
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


_MOST_THREADS = 32
_FULL_WIDTH = Limits(10)
_STRESS_EMPTIES = (10, 11, 12, 13, 13, 14, 14, 14, 15, 15, 15, 16, 16, 17, 18, 19, 20)
"""Of positions for `stress`; those with 13 and more have nodes that are shared."""


class Stress(NamedTuple):
    """The result of `stress`."""

    solved: int
    wrong: int
    """Scores that are not those of one thread, or not proved."""
    stopped: int
    """Searches of the same positions that were stopped before."""
    entries: int
    """Proved entries of tables that were compared with solves."""
    wrong_entries: int
    full_width: int
    """Searches to a fixed depth without ProbCut that were compared with one thread's."""
    wrong_full_width: int
    nodes: int
    seconds: float


def stress(weights: Weights, number: int, seed: int = 1) -> Stress:
    """Solve ``number`` random positions by 2 to `_MOST_THREADS` threads with small tables, some of them stopped early.

    Every score is compared with that of one thread, and the exact entries of the table for positions of the next plies
    with solves of those. Now and then searches of a fixed depth without ProbCut are compared, too.
    """
    dice = random.Random(seed)
    alone = Searcher(hash_bits=18, weights=weights)
    judge = Searcher(hash_bits=18, weights=weights)
    searchers: dict[tuple[int, int], Searcher] = {}
    found = Stress(0, 0, 0, 0, 0, 0, 0, 0, 0.0)
    begun = time.perf_counter()
    while found.solved < number:
        empties = dice.choice(_STRESS_EMPTIES)
        limits = Limits(empties)
        for problem in random_problems(min(10, number - found.solved), empties, dice.getrandbits(30)):
            board = problem.position[:2]
            threads, bits = dice.choice((2, 2, 2, 4, 4, 8, 16, _MOST_THREADS)), dice.choice((10, 12, 14, 18))
            searcher = searchers.get((threads, bits))
            if searcher is None:
                searcher = searchers[threads, bits] = Searcher(threads=threads, hash_bits=bits, weights=weights)
            if dice.random() < 0.3:
                searcher.clear()
            stopped = 0
            if dice.random() < 0.2:
                control = Control()
                timer = threading.Timer(dice.random() * 0.01, control.stop)
                timer.start()
                searcher.search(*board, limits, control=control)
                timer.cancel()
                stopped = int(control.stopped)
            truth = alone.search(*board, limits).lines[0].score
            result = searcher.search(*board, limits)
            looked_up = _check_table(searcher, judge, problem, dice) if dice.random() < 0.1 else (0, 0)
            compared = _check_full_width(searcher, alone, dice) if dice.random() < 0.05 else None
            found = Stress(
                found.solved + 1,
                found.wrong + (result.lines[0].score != truth or not result.lines[0].exact),
                found.stopped + stopped,
                found.entries + looked_up[0],
                found.wrong_entries + looked_up[1],
                found.full_width + (compared is not None),
                found.wrong_full_width + (compared is False),
                found.nodes + result.nodes,
                time.perf_counter() - begun,
            )
    return found


def _check_full_width(searcher: Searcher, alone: Searcher, dice: random.Random) -> bool:
    """Whether both give a random position the same score at `_FULL_WIDTH` plies.

    A position has the same number of plies left wherever a search meets it, so that the score is one number. It is none
    with a table that knows deeper searches.
    """
    [problem] = random_problems(1, dice.randint(22, 36), dice.getrandbits(30))
    searcher.clear()
    alone.clear()
    board = problem.position[:2]
    scores = [each.search(*board, _FULL_WIDTH).lines[0].score for each in (searcher, alone)]
    return scores[0] == scores[1]


def _check_table(searcher: Searcher, judge: Searcher, problem: Problem, dice: random.Random) -> tuple[int, int]:
    """The number of exact table entries of positions up to four plies on, and of wrong ones among them."""
    engine = library.load(SPEC)
    board = problem.position[:2]
    symmetry = engine.board_canonical_symmetry(*board)
    root = tuple(engine.board_symmetric(discs, symmetry) for discs in board)
    found = wrong = 0
    for _ in range(60):
        player, opponent = root
        for _ in range(dice.randint(0, 4)):
            legal = engine.board_moves(player, opponent)
            if not legal:
                break
            square = dice.choice([square for square in range(64) if legal >> square & 1])
            flips = engine.board_flip(square, player, opponent)
            player, opponent = opponent ^ flips, player | flips | 1 << square
        bounds = searcher.proved(player, opponent)
        if bounds is None:
            continue
        found += 1
        score = judge.search(player, opponent, Limits(64)).lines[0].score
        wrong += not bounds[0] <= score <= bounds[1]
    return found, wrong
