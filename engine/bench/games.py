"""Games of several virtual threads against one, both with the same virtual time for a move: what more threads are worth
in play, on any machine. Run by `desdaemon bench threads --games`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello import rules

from .problems import random_problems
from .virtual_threads import Turns

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
