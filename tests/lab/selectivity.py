"""`python tests/lab selectivity`: how often a search at each confidence level scores within a disc of the full search
(minutes).
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity

from .positions import play_positions, simple_positions

EMPTIES = (14, 15, 16, 17, 18)
"""Numbers of empty squares of the positions that are searched to the end."""

EARLY = (28, 34, 40, 46)
"""Numbers of empty squares of the positions that are searched to `DEPTH` plies."""

DEPTH = 10
_CLOSE_TO = 30


class SelectivityAccuracy(NamedTuple):
    """Of ``positions`` searched at ``selectivity``, how many scored within one disc of the full search, and the cost.

    ``seconds`` are of processor time.
    """

    selectivity: Selectivity
    positions: int
    right: int
    nodes: int
    seconds: float


def measure_late(weights: Weights, number: int = 400, seed: int = 1) -> list[SelectivityAccuracy]:
    """Search ``number`` positions of each of `EMPTIES` to the end at every selectivity, each from an empty table."""
    searcher = Searcher(hash_bits=18, weights=weights)
    found = [
        (*position, empties) for empties in EMPTIES for position in play_positions(searcher, number, empties, seed)
    ]
    return _shares(searcher, found)


def measure_early(weights: Weights, number: int = 600, seed: int = 1) -> list[SelectivityAccuracy]:
    """As `measure_late`, with `DEPTH` plies and `EARLY` empties, where the evaluation lies within 30 discs of 0.

    The positions are of simple play: but for that condition, the same for all weights.
    """
    searcher = Searcher(hash_bits=18, weights=weights)
    found = [
        (player, opponent, DEPTH)
        for empties in EARLY
        for player, opponent in simple_positions(number, empties, seed)
        if abs(searcher.evaluate(player, opponent)) <= _CLOSE_TO
    ]
    return _shares(searcher, found)


def _shares(searcher: Searcher, positions: list[tuple[int, int, int]]) -> list[SelectivityAccuracy]:
    right = dict.fromkeys(SELECTIVITIES, 0)
    nodes = dict.fromkeys(SELECTIVITIES, 0)
    seconds = dict.fromkeys(SELECTIVITIES, 0.0)
    for player, opponent, depth in positions:
        exact = None
        for selectivity in reversed(SELECTIVITIES):
            searcher.clear()
            begun = time.process_time()
            result = searcher.search(player, opponent, Limits(depth, selectivity))
            seconds[selectivity] += time.process_time() - begun
            score = result.lines[0].score
            exact = score if exact is None else exact
            right[selectivity] += abs(score - exact) <= 1
            nodes[selectivity] += result.nodes
    total = len(positions)
    return [SelectivityAccuracy(each, total, right[each], nodes[each], seconds[each]) for each in SELECTIVITIES]


def main(arguments: list[str]) -> int:
    """Print a line for each selectivity; returns the exit status."""
    parser = Parser(prog="python tests/lab selectivity", description=__doc__)
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    weights = Weights.load(parser.parse_args(arguments).eval_file)
    for title, shares in (("to the end", measure_late(weights)), (f"{DEPTH} plies", measure_early(weights))):
        for share in shares:
            sys.stdout.write(
                f"{share.selectivity} % {title}, {share.positions} positions: "
                f"{100 * share.right / share.positions:.2f} % right, {share.seconds:.1f} s, {share.nodes} nodes\n"
            )
    return 0
