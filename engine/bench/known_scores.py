"""The errors of the scores and the moves of selective searches, against exact scores that problem files list.

Behind `desdaemon bench hard`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.selectivity import Selectivity

SEARCHES = tuple(Limits(depth, Selectivity(selectivity)) for depth, selectivity in ((15, 73), (18, 73), (20, 73)))
"""What is measured; a search whose plies reach the end is one to the end at that selectivity."""


@dataclass
class Errors:
    """The errors of searches within ``limits``, in discs, and what they took."""

    limits: Limits
    scores: list[int] = field(default_factory=list)
    """The sizes of the differences between the searches' scores and the best listed ones."""
    losses: list[int] = field(default_factory=list)
    """What the moves chosen lose against the best, of the problems that list them."""
    nodes: int = 0
    seconds: float = 0.0
    """Of processor time."""


def measure(weights: Weights, problems: Sequence[Problem], limits: Limits, hash_bits: int = 20) -> Iterator[Errors]:
    """Search each problem that lists a score from an empty table.

    Yields the same errors after each problem, with that problem's added. One thread.
    """
    searcher = Searcher(hash_bits=hash_bits, weights=weights)
    found = Errors(limits)
    for problem in problems:
        if problem.best is None:
            continue
        searcher.clear()
        player, opponent, _ = problem.position
        begun = time.process_time()
        result = searcher.search(player, opponent, limits)
        found.seconds += time.process_time() - begun
        found.nodes += result.nodes
        line = result.lines[0]
        found.scores.append(abs(line.score - problem.best))
        if line.move in problem.scores:
            found.losses.append(problem.best - problem.scores[line.move])
        yield found
