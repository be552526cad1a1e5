"""The losses by the moves of selective and of shallower searches, judged by exact scores.

Behind `desdaemon bench moves`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.rules import final_score
from desdaemon.protocol.othello.selectivity import Selectivity

from .problems import play_positions

EMPTIES = 22
"""Of the positions: so far from the end that 16 plies do not reach it, so near that an exact score takes a second."""

SEARCHES = tuple(
    Limits(depth, Selectivity(selectivity))
    for depth, selectivity in ((16, 73), (16, 87), (16, 95), (16, 99), (14, 73), (14, 95), (12, 73), (18, 73))
)
"""What is compared; the first, which is what level 16 does far from the end, with each of the others."""


@dataclass
class MoveLosses:
    """The losses, in discs, of the moves that a search within ``limits`` chooses."""

    limits: Limits
    losses: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """Of the positions where the first search has another move: what that loses."""
    other: list[int] = field(default_factory=list)
    """Of the same positions: what this one's loses."""
    nodes: int = 0
    seconds: float = 0.0
    """Of processor time."""


def mean(values: Sequence[int]) -> float:
    """Their mean; 0 of none."""
    return sum(values) / len(values) if values else 0.0


def standard_error(values: Sequence[int]) -> float:
    """The standard error of `mean`; 0 of none."""
    if not values:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values)) / len(values)


def measure(weights: Weights, number: int, seed: int, empties: int = EMPTIES) -> Iterator[list[MoveLosses]]:
    """Search ``number`` positions by each of `SEARCHES`, from an empty table each, and score the moves exactly.

    Yields the same losses after each position, with that position's added. One thread.
    """
    engine = library.load(SPEC)
    searcher, judge = Searcher(hash_bits=20, weights=weights), Searcher(hash_bits=22, weights=weights)
    found = [MoveLosses(limits) for limits in SEARCHES]
    for player, opponent in play_positions(searcher, number, empties, seed):
        moves = []
        for each in found:
            searcher.clear()
            begun = time.process_time()
            result = searcher.search(player, opponent, each.limits)
            each.seconds += time.process_time() - begun
            each.nodes += result.nodes
            moves.append(result.lines[0].move)
        best = judge.search(player, opponent, Limits(empties)).lines[0]
        loss = {best.move: 0}
        for move in moves:
            if move not in loss:
                flips = engine.board_flip(move, player, opponent)
                loss[move] = best.score - _score_after(judge, opponent ^ flips, player | flips | 1 << move)
        for each, move in zip(found, moves, strict=True):
            each.losses.append(loss[move])
            if move != moves[0]:
                each.first.append(loss[moves[0]])
                each.other.append(loss[move])
        yield found


def _score_after(judge: Searcher, player: int, opponent: int) -> int:
    """The exact score of the position that ``player`` is left with, from the other side."""
    lines = judge.search(player, opponent, Limits(64 - (player | opponent).bit_count())).lines
    return -(lines[0].score if lines else final_score(player, opponent))
