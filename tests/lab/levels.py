"""`python tests/lab levels`: the nodes of levels 12, 16, 18 and 20 on 180 positions that are the same for all weights.

No level reads them to the end. The sum is that of the largest trees; the geometric mean beside it, of which no position
decides, tells best whether a change makes trees smaller. One thread, processor time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator

from desdaemon.engine.bench.bench import HEAD, Measurement
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import level_limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system.terminal import ProgressLine

from .positions import simple_positions


def measure(weights: Weights) -> Iterator[Measurement]:
    """A measurement of each level."""
    positions = [position for empties in (36, 40, 44) for position in simple_positions(60, empties, 1)]
    searcher, line = Searcher(hash_bits=21, weights=weights), ProgressLine()
    for level in (12, 16, 18, 20):
        nodes: list[int] = []
        begun = time.process_time()
        for player, opponent in positions:
            line.show(f"level {level}: {len(nodes)} of {len(positions)} positions")
            searcher.clear()
            limits = level_limits(level, 64 - (player | opponent).bit_count())
            nodes.append(searcher.search(player, opponent, limits).nodes)
        line.clear()
        yield Measurement(
            f"level {level}, {len(positions)} positions",
            time.process_time() - begun,
            sum(nodes),
            f"geometric mean {statistics.geometric_mean(nodes):,.0f} nodes",
        )


def main(arguments: list[str]) -> int:
    """Print the measurements; returns the exit status."""
    parser = Parser(prog="python tests/lab levels", description=__doc__)
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    options = parser.parse_args(arguments)
    sys.stdout.write(f"{HEAD}\n")
    for row in measure(Weights.load(options.eval_file)):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    return 0
