"""Ratings of more than two programs: the Elo numbers that make all results most likely.

The model is `statistics.expected_score`, a draw half a win and half a loss. Errors are those of sums over clusters of
results (see `statistics`), so that repeated games do not reduce them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from desdaemon.clients.programs.statistics import DEVIATIONS, Cluster

_SLOPE = math.log(10) / 400
_STEPS = 200
_ENOUGH = 1e-9


class Pairing(NamedTuple):
    """The results of program ``first`` against ``second``, for ``first``."""

    first: int
    second: int
    clusters: Sequence[Cluster]


class Ratings(NamedTuple):
    """Elo numbers with mean 0, and their 95 % errors.

    If some programs have won, or lost, all games against the rest, the likeliest Elo would be infinite. Then a drawn
    game is added to each pairing, and ``bounded`` is true.
    """

    elo: list[float]
    error: list[float]
    bounded: bool


def ratings(programs: int, pairings: Sequence[Pairing]) -> Ratings | None:
    """Return the ratings of ``programs`` programs. Returns None for fewer than two programs, and if chains of games do
    not connect them all.

    The covariance of the ratings is the inverse of the information matrix, times the matrix of squared sums over
    clusters of (points minus expected points), times the inverse again.
    """
    import numpy as np

    played = [pairing for pairing in pairings if any(pairing.clusters)]
    pairs = [(pairing.first, pairing.second) for pairing in played]
    if programs < 2 or not _reach_all(programs, [*pairs, *((second, first) for first, second in pairs)]):
        return None
    clusters = [[cluster for cluster in pairing.clusters if cluster] for pairing in played]
    points = np.array([sum(2 * weight * point for cluster in each for point, weight in cluster) for each in clusters])
    games = np.array([sum(2 * weight for cluster in each for _, weight in cluster) for each in clusters])
    wins = [pair for pair, won in zip(pairs, points > 0, strict=True) if won]
    losses = [(second, first) for (first, second), lost in zip(pairs, points < games, strict=True) if lost]
    beaten = wins + losses
    bounded = not (_reach_all(programs, beaten) and _reach_all(programs, [(b, a) for a, b in beaten]))
    extra = 1.0 if bounded else 0.0
    # A row for each pairing: its product with the ratings is their difference.
    differences = np.zeros((len(pairs), programs))
    for row, (first, second) in enumerate(pairs):
        differences[row, first], differences[row, second] = 1, -1
    elo = np.zeros(programs)
    for _ in range(_STEPS):
        expected = 1 / (1 + 10 ** (-(differences @ elo) / 400))
        gradient = differences.T @ (_SLOPE * (points + extra / 2 - (games + extra) * expected))
        information = differences.T * (_SLOPE**2 * (games + extra) * expected * (1 - expected)) @ differences
        # The shortest solution, as of `lstsq`, has the mean 0.
        step = np.linalg.lstsq(information, gradient)[0]
        # A step of Newton's method, shortened where the likelihood is far from a parabola.
        largest = float(np.abs(step).max())
        elo += step * min(1.0, 200 / max(1e-300, largest))
        if largest < _ENOUGH:
            break
    spreads = []
    for each, count, score in zip(clusters, games, expected, strict=True):
        rests = sum(sum(2 * weight * (point - score) for point, weight in cluster) ** 2 for cluster in each)
        # Equal results of few clusters do not show that the next will be equal: the least spread is that of clusters
        # of which one differs from the others by half a point a pair, as in `statistics.elo`.
        spreads.append(max(rests, (0.25 * count / len(each)) ** 2))
    inverse = np.linalg.pinv(information)
    squares = differences.T * (_SLOPE**2 * np.array(spreads)) @ differences
    error = DEVIATIONS * np.sqrt(np.maximum(0.0, np.diag(inverse @ squares @ inverse)))
    return Ratings(elo.tolist(), error.tolist(), bounded)


def _reach_all(programs: int, edges: Sequence[tuple[int, int]]) -> bool:
    """Return whether chains of ``edges`` (from, to) lead from program 0 to every other one."""
    reached = {0}
    for _ in range(programs):
        reached |= {to for start, to in edges if start in reached}
    return len(reached) == programs
