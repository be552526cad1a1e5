"""Ratings of more than two programs: the Elo numbers that make all results most likely.

The model is `statistics.expected_score`, a draw half a win and half a loss. Errors are those of sums over clusters of
results (see `statistics`), so that repeated games do not reduce them.
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
    """
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
        # A step of Newton's method, shortened where the likelihood is far from a parabola.
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
    """Return the 95 % error of each program's rating; ``extra`` drawn games are added to each pairing.

    The covariance is the inverse of the information matrix, times the matrix of squared sums over clusters of (points
    minus expected points), times the inverse again.
    """
    information = [[0.0] * programs for _ in range(programs)]
    squares = [[0.0] * programs for _ in range(programs)]
    for first, second, clusters in played:
        expected = expected_score(elo[first] - elo[second])
        played_clusters = [cluster for cluster in clusters if cluster]
        games = sum(2 * weight for cluster in played_clusters for _, weight in cluster)
        rests = [sum(2 * weight * (point - expected) for point, weight in cluster) for cluster in played_clusters]
        # If all clusters went alike, the spread is as if one had differed by half a point a pair, as in
        # `statistics.elo`.
        spread = max(sum(rest**2 for rest in rests), (0.25 * games / len(played_clusters)) ** 2)
        _add(information, first, second, _SLOPE**2 * (games + extra) * expected * (1 - expected))
        _add(squares, first, second, _SLOPE**2 * spread)
    inverse = [
        _solve(information, [(column == row) - 1 / programs for column in range(programs)]) for row in range(programs)
    ]
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
    """Return the vector with mean 0 whose product with ``matrix`` is ``right``. The matrix's rows sum to 0, so that
    without the mean the vector would be undetermined.
    """
    size = len(matrix)
    scale = max(max(row) for row in matrix) or 1.0
    rows = [[value + scale / size for value in row] + [right[column]] for column, row in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for other in range(size):
            if other != column and rows[other][column]:
                factor = rows[other][column] / rows[column][column]
                rows[other] = [value - factor * top for value, top in zip(rows[other], rows[column], strict=True)]
    solution = [rows[column][size] / rows[column][column] for column in range(size)]
    mean = sum(solution) / size
    return [value - mean for value in solution]


def _reached(programs: int, edges: list[tuple[int, int]]) -> int:
    """Return the number of programs that chains of ``edges`` (from, to) reach from program 0, itself included."""
    seen = {0}
    waiting = [0]
    while waiting:
        program = waiting.pop()
        for a, b in edges:
            if a == program and b not in seen:
                seen.add(b)
                waiting.append(b)
    return len(seen)


def _connected(programs: int, edges: list[tuple[int, int]]) -> bool:
    return _reached(programs, edges + [(b, a) for a, b in edges]) == programs


def _strongly_connected(programs: int, edges: list[tuple[int, int]]) -> bool:
    return _reached(programs, edges) == _reached(programs, [(b, a) for a, b in edges]) == programs
