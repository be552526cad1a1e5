"""How long a search to the end of the game will take, told before it begins.

The nodes are guessed from the empty squares and the legal moves, by a fit over the exact searches of 172 positions:
fforum 20 to 59, hard positions with 20 and 25 empty squares, and positions of tournament games with 16 to 24, by one
thread with empty tables. 85 % took between a third of the guess and three times as many, but 13 of the 20 from fforum
40 on; where one side loses all its discs it is far fewer. The speed is measured on this machine, in less than a tenth
of a second of a processor.
"""

from __future__ import annotations

import time
from functools import cache

from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.notation import Position, parse_board

FACTOR = 3
"""How many times longer or shorter than the guess a search may well be."""

_SAMPLE = "-OOO------OOOO--XXXOOXXX-XOOOXX-XXXXOOOOOXXOOOO---OXOO---OOOO--- X"
_SAMPLE_LIMITS = Limits(20, nodes=500_000, time_ms=500)
_LONG = 0.8
"""The speed of a search of minutes, relative to that of the sample, for which the caches are large enough."""
_MOST_S = 1000 * 86_400


def nodes_to_solve(position: Position) -> float:
    """Return a guess of the nodes of the search to the end, without any result in the tables."""
    return float(2 ** (1.1 + 0.92 * position.empties + 0.13 * position.moves.bit_count()))


@cache
def nodes_a_second() -> float:
    """Return the nodes that one thread of this machine searches in a second of a long search; measured once.

    By time of the processor: what else the machine does now may be over soon.
    """
    searcher, sample = Searcher(hash_bits=16), parse_board(_SAMPLE)
    begun = time.thread_time()
    nodes = searcher.search(sample.player, sample.opponent, _SAMPLE_LIMITS).nodes
    return max(1.0, _LONG * nodes / max(0.001, time.thread_time() - begun))


def told(seconds: float) -> str:
    """Return a guess in words: ``about 40 s (13 s to 2 min)``."""
    if seconds > _MOST_S:
        return "more than 1000 days"
    return f"about {_rounded(seconds)} ({_rounded(seconds / FACTOR)} to {_rounded(seconds * FACTOR)})"


def _rounded(seconds: float) -> str:
    """Return a time in the largest unit of which it has two or more; from twenty on a multiple of five."""
    units = ((86_400, "days"), (3600, "h"), (60, "min"))
    size, unit = next((pair for pair in units if seconds >= 2 * pair[0]), (1, "s"))
    amount = seconds / size
    step = 5 if amount >= 20 else 1
    return f"{max(1, step * round(amount / step))} {unit}"
