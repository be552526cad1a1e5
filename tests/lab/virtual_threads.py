"""`python tests/lab virtual_threads`: what many threads are worth, on any machine.

The threads are virtual ones (`virtual_turns`). Their counts show how many nodes a search by many threads visits and how
long the threads wait for each other, but nothing about memory, clocks and caches.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from virtual_turns import TURN, Turns

from desdaemon.engine.bench.problems import contradicts, random_problems, read_problems
from desdaemon.engine.bench.threads import HASH_BITS, OneSearch, spread
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.system.terminal import ProgressLine

# Searches


def measure(
    weights: Weights,
    problems: Sequence[Problem],
    limits: Callable[[int], Limits],
    threads: Sequence[int],
    quantum: int = TURN,
) -> Iterator[str]:
    """Search ``problems`` within ``limits`` of their empties by one thread, then by each number of virtual threads.

    Yields a line for each number, with the part of the threads' time in which they waited.
    """
    alone: list[OneSearch] = []
    for number in (1, *threads):
        turns = Turns(number, quantum) if number > 1 else None
        searcher = Searcher(threads=number, hash_bits=HASH_BITS, weights=weights, waiting=turns)
        searches, idle = [], 0
        for problem in problems:
            searcher.clear()
            player, opponent, _ = problem.position
            result = searcher.search(player, opponent, limits(problem.position.empties))
            # The leader is there from the beginning to the end.
            length = searcher.shares[0] + (turns.idle[0] if turns is not None else 0)
            idle += max(0, number * length - result.nodes)
            searches.append(
                OneSearch(length, result.nodes, max(searcher.shares), contradicts(result.lines[0], problem))
            )
        alone = alone or searches
        all_threads = spread(number, searches, alone)
        yield f"{number} threads, {all_threads.nodes} nodes: {all_threads}, idle {idle / number / all_threads.time:.1%}"


# Games


_OPENING_EMPTIES = 50
"""Games begin after random moves, twice from each position, with either colour."""

_TO_THE_END = Limits(60)

_Player = Callable[[int, int], int]
"""The move of the side whose discs come first, a pass where it has none."""


class Outcome(NamedTuple):
    """Of the games of several threads: the share of the points, its standard error, and discs more a game."""

    games: int
    nodes: int
    """All that both sides visited."""
    share: float
    error: float
    discs: float

    def __str__(self) -> str:
        share = f"{100 * self.share:.1f} +- {100 * self.error:.1f} % of the points"
        return f"{self.games} games, {share}, {self.discs:+.2f} discs a game"


def play(
    weights: Weights,
    threads: int,
    nodes: int,
    games: int,
    seed: int = 1,
    progress: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """``games`` games, an even number, of ``threads`` virtual threads against one, ``nodes`` of virtual time a move.

    The same arguments give the same games. ``progress`` is called after each two.
    """
    many, one = _Virtual(weights, threads, nodes), _Alone(weights, nodes)
    shares: list[float] = []
    discs: list[int] = []
    outcome = Outcome(0, 0, 0.5, 0.0, 0.0)
    for opening in random_problems(games // 2, _OPENING_EMPTIES, seed):
        board = opening.position[:2]
        for side in (many, one):
            side.searcher.clear()
        first = _game(*board, many.move, one.move)
        for side in (many, one):
            side.searcher.clear()
        second = -_game(*board, one.move, many.move)
        discs += (first, second)
        shares.append(statistics.fmean(0.5 * ((score > 0) - (score < 0)) + 0.5 for score in (first, second)))
        error = statistics.stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else 0.0
        visited = many.nodes + one.nodes
        outcome = Outcome(len(discs), visited, statistics.fmean(shares), error, statistics.fmean(discs))
        if progress is not None:
            progress(outcome)
    return outcome


class _Alone:
    """One thread, which searches so many nodes for a move."""

    def __init__(self, weights: Weights, nodes: int) -> None:
        self.searcher = Searcher(weights=weights)
        self.nodes = 0
        self._limits = _TO_THE_END._replace(nodes=nodes)

    def move(self, player: int, opponent: int) -> int:
        result = self.searcher.search(player, opponent, self._limits)
        self.nodes += result.nodes
        return result.lines[0].move


class _Virtual:
    """Virtual threads, which search until their clocks show so many nodes."""

    def __init__(self, weights: Weights, threads: int, nodes: int) -> None:
        self._turns = Turns(threads)
        self.searcher = Searcher(threads=threads, weights=weights, waiting=self._turns)
        self.nodes = 0
        self._time = nodes

    def move(self, player: int, opponent: int) -> int:
        control = Control()
        self._turns.limit(self._time, control)
        result = self.searcher.search(player, opponent, _TO_THE_END, control=control)
        self.nodes += result.nodes
        return result.lines[0].move


def _game(player: int, opponent: int, mover: _Player, other: _Player) -> int:
    """The final score of the side to move."""
    sign = 1
    while not rules.is_over(player, opponent):
        player, opponent = rules.play(player, opponent, mover(player, opponent))
        mover, other, sign = other, mover, -sign
    return sign * rules.final_score(player, opponent)


def main(arguments: list[str]) -> int:
    """Print a line for each number of threads; returns the exit status."""
    parser = Parser("lab virtual_threads", description=__doc__)
    parser.add_argument("threads", type=int, nargs="+", metavar="N", help="numbers of threads")
    parser.add_argument("--problems", type=Path, metavar="FOLDER", help="folder of OBF files")
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    parser.add_argument("--level", type=int, default=21, help="level of the selective searches (21)")
    parser.add_argument("--places", type=int, nargs="*", default=(), metavar="N", help="positions for these, from 0")
    parser.add_argument("--turn", type=int, default=TURN, metavar="N", help=f"nodes of a thread's turn ({TURN})")
    parser.add_argument("--games", type=int, default=0, metavar="N", help="play N games against one thread instead")
    parser.add_argument("--nodes", type=int, default=100_000, metavar="N", help="virtual time of a move there (100000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the games (1)")
    named = parser.parse_args(arguments)
    weights = Weights.load(named.eval_file)
    if named.games:
        line = ProgressLine()
        for number in named.threads:
            outcome = play(
                weights, number, named.nodes, named.games, named.seed, lambda outcome: line.show(str(outcome))
            )
            line.clear()
            sys.stdout.write(f"{number} virtual threads against one: {outcome}\n")
        return 0
    for title, problems, limits in _searches(named):
        sys.stdout.write(f"{title}, {len(problems)} positions\n")
        for row in measure(weights, problems, limits, named.threads, named.turn):
            sys.stdout.write(f"  {row}\n")
            sys.stdout.flush()
    return 0


def _searches(named: argparse.Namespace) -> Iterator[tuple[str, list[Problem], Callable[[int], Limits]]]:
    exact, late = random_problems(5, 20, 1), random_problems(8, 34, 1)
    if named.problems:
        exact = read_problems(named.problems / "fforum-40-59.obf", 0, 5)
        late = read_problems(named.problems / "fforum-60-79.obf", 0, 20)
    yield "exact", exact, Limits
    chosen = [late[place] for place in named.places] if named.places else late
    yield f"level {named.level}", chosen, lambda empties: level_limits(named.level, empties)
