"""`python tests/lab virtual_threads`: what many threads are worth, on any machine.

Virtual threads are real threads of which one runs at a time, so that a search by many can be measured on any machine.

A thread runs until it is ahead of the others by a quantum of nodes; then the one furthest behind continues. Time is
counted in nodes: those that a thread has visited, and those that the others visited while it waited. The same search
gives the same counts each time, on any machine. They show how many nodes a search by many threads visits and how long
the threads wait for each other, but nothing about memory, clocks and caches.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from desdaemon.engine.bench.problems import contradicts, random_problems, read_problems
from desdaemon.engine.bench.threads import HASH_BITS, OneSearch, spread
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.layout import CHECK_AT, HOOK_SLEEP, HOOK_TURN, HOOK_WAKE, NODE_LIMIT
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.team import Context, Team, Waiting
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.system.terminal import ProgressLine

TURN = 2000
"""Nodes of a turn where nothing else is said."""

_LEADER = 0
_NO_LIMIT = (1 << 64) - 1


class Turns(Waiting):
    """The waiting of a team of ``threads`` virtual threads; ``quantum`` in nodes.

    The thread whose turn it is makes all calls; the others wait on their semaphores.
    """

    spins = 0

    def __init__(self, threads: int, quantum: int = TURN) -> None:
        self.quantum = quantum
        self.idle = [0] * threads
        """Nodes that others visited while each thread had nothing to do, in the last search."""
        self._turns = [threading.Semaphore(0) for _ in range(threads)]
        self._arrived = threading.Semaphore(0)
        self._begun = False
        self._ready: set[int] = set()
        self._contexts: Sequence[Context] = ()
        self._most = _NO_LIMIT
        self._control: Control | None = None

    def limit(self, nodes: int, control: Control) -> None:
        """Stop the search that ``control`` belongs to when a thread's clock shows ``nodes``."""
        self._most, self._control = nodes, control

    def begin(self, team: Team) -> None:
        self._contexts = team.contexts
        self.idle = [0] * len(self._turns)
        for _ in self._turns[1:]:
            self._arrived.acquire()
        self._ready = {_LEADER}
        self._begun = True

    def wait(self, reason: int, thread: int) -> None:
        if not self._begun:
            # The leader alone has no turns; a helper has come.
            if reason == HOOK_SLEEP:
                self._arrived.release()
                self._turns[thread].acquire()
        elif reason == HOOK_WAKE:
            now = self._clock(_LEADER)
            for helper in range(1, len(self._turns)):
                self.idle[helper] = now - self._contexts[helper].nodes
                self._ready.add(helper)
        else:
            if self._control is not None and self._clock(thread) >= self._most:
                self._control.stop()
            if reason != HOOK_TURN:
                self._ready.discard(thread)
            following = self._next()
            if following != thread:
                self._turns[following].release()
                self._turns[thread].acquire()
        if self._begun:
            self._allow(thread)

    def end(self) -> None:
        self._begun = False
        for turn in self._turns[1:]:
            turn.release()

    def _clock(self, thread: int) -> int:
        return self._contexts[thread].nodes + self.idle[thread]

    def _next(self) -> int:
        """The thread furthest behind; the leader when all helpers sleep, for it has waited for the last of them."""
        if not self._ready:
            latest = max(self._clock(thread) for thread in range(len(self._turns)))
            self.idle[_LEADER] = latest - self._contexts[_LEADER].nodes
            self._ready.add(_LEADER)
        return min(self._ready, key=lambda thread: (self._clock(thread), thread))

    def _allow(self, thread: int) -> None:
        """Let ``thread`` run until it is a quantum ahead of the others."""
        context = self._contexts[thread]
        others = [self._clock(other) for other in self._ready if other != thread]
        last = min(context[NODE_LIMIT], max(0, self._most - self.idle[thread]))
        if others:
            last = min(last, max(context.nodes, min(others) - self.idle[thread]) + self.quantum)
        context[CHECK_AT] = last


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
