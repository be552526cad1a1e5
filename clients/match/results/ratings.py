"""Ratings of more than two programs: the maximum-likelihood Elo numbers for the results of all games.

The model is that of `statistics.expected_score`, a draw half a win and half a loss. The errors are those of sums over
clusters of results (see `statistics`), so that repeated games do not reduce them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .statistics import DEVIATIONS, Cluster, expected_score

_SLOPE = math.log(10) / 400
_STEPS = 200
_ENOUGH = 1e-9


class Pairing(NamedTuple):
    """The results of program ``first`` against program ``second``, seen from ``first``."""

    first: int
    second: int
    clusters: Sequence[Cluster]


class Ratings(NamedTuple):
    """Elo numbers with mean 0 and their 95 % errors.

    If a program, or a group of programs, has won or lost everything against all others, the likelihood has no maximum:
    each pairing then counts one drawn game more, and ``bounded`` is true. There are no ratings unless chains of games
    connect all programs.
    """

    elo: list[float]
    error: list[float]
    bounded: bool


def ratings(programs: int, pairings: Sequence[Pairing]) -> Ratings | None:
    """Return the ratings of ``programs`` programs; None if their games do not connect them all."""
    played = [pairing for pairing in pairings if any(pairing.clusters)]
    games = {(p.first, p.second): (_points(p), _games(p)) for p in played}
    if programs < 2 or not _connected(programs, list(games)):
        return None
    wins = [pair for pair, (points, _) in games.items() if points > 0]
    losses = [(second, first) for (first, second), (points, count) in games.items() if points < count]
    bounded = not _strongly_connected(programs, wins + losses)
    extra = 1.0 if bounded else 0.0
    elo = [0.0] * programs
    for _ in range(_STEPS):
        gradient, information = [0.0] * programs, [[0.0] * programs for _ in range(programs)]
        for (first, second), (points, count) in games.items():
            expected = expected_score(elo[first] - elo[second])
            rest = _SLOPE * (points + extra / 2 - (count + extra) * expected)
            gradient[first] += rest
            gradient[second] -= rest
            _add(information, first, second, _SLOPE**2 * (count + extra) * expected * (1 - expected))
        step = _solve(information, gradient)
        # Newton's step, cut where the likelihood is far from its parabola.
        cut = min(1.0, 200 / max(1e-300, *map(abs, step)))
        elo = [rating + cut * change for rating, change in zip(elo, step, strict=True)]
        if max(map(abs, step)) < _ENOUGH:
            break
    return Ratings(elo, _errors(programs, played, elo, extra), bounded)


def _points(pairing: Pairing) -> float:
    return sum(2 * weight * point for cluster in pairing.clusters for point, weight in cluster)


def _games(pairing: Pairing) -> float:
    return sum(2 * weight for cluster in pairing.clusters for _, weight in cluster)


def _errors(programs: int, played: list[Pairing], elo: list[float], extra: float) -> list[float]:
    """Return the 95 % error of each program's rating.

    It comes from the covariance of the estimate: the inverse of the information matrix, times a matrix of the squares
    of what each cluster of games scored above or below its expectation, times the inverse again.
    """
    information = [[0.0] * programs for _ in range(programs)]
    squares = [[0.0] * programs for _ in range(programs)]
    for first, second, clusters in played:
        expected = expected_score(elo[first] - elo[second])
        kept = [cluster for cluster in clusters if cluster]
        games = sum(2 * weight for cluster in kept for _, weight in cluster)
        rests = [sum(2 * weight * (point - expected) for point, weight in cluster) for cluster in kept]
        # As in `statistics.elo`: where all went alike, as if one cluster had been half a point a pair away.
        spread = max(sum(rest**2 for rest in rests), (0.25 * games / len(kept)) ** 2)
        _add(information, first, second, _SLOPE**2 * (games + extra) * expected * (1 - expected))
        _add(squares, first, second, _SLOPE**2 * spread)
    inverse = [_solve(information, [(at == row) - 1 / programs for at in range(programs)]) for row in range(programs)]
    return [
        DEVIATIONS
        * math.sqrt(max(0.0, sum(row[a] * squares[a][b] * row[b] for a in range(programs) for b in range(programs))))
        for row in inverse
    ]


def _add(matrix: list[list[float]], first: int, second: int, value: float) -> None:
    matrix[first][first] += value
    matrix[second][second] += value
    matrix[first][second] -= value
    matrix[second][first] -= value


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return the solution whose mean is 0; every row of the matrix has the sum 0, so that it leaves the mean open."""
    size = len(matrix)
    scale = max(max(row) for row in matrix) or 1.0
    rows = [[value + scale / size for value in row] + [right[at]] for at, row in enumerate(matrix)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(size):
            if other != at and rows[other][at]:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [value - factor * top for value, top in zip(rows[other], rows[at], strict=True)]
    found = [rows[at][size] / rows[at][at] for at in range(size)]
    mean = sum(found) / size
    return [value - mean for value in found]


def _reached(programs: int, edges: list[tuple[int, int]]) -> int:
    """Return the number of programs connected with program 0 by games."""
    seen = {0}
    waiting = [0]
    while waiting:
        at = waiting.pop()
        for a, b in edges:
            if a == at and b not in seen:
                seen.add(b)
                waiting.append(b)
    return len(seen)


def _connected(programs: int, edges: list[tuple[int, int]]) -> bool:
    return _reached(programs, edges + [(b, a) for a, b in edges]) == programs


def _strongly_connected(programs: int, edges: list[tuple[int, int]]) -> bool:
    return _reached(programs, edges) == _reached(programs, [(b, a) for a, b in edges]) == programs
