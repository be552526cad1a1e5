"""Statistics of two players' games: Elo with its error, and the sequential probability ratio test (SPRT).

An opening is played with both colours, so that its advantage cancels out; the variance is therefore that of the pairs'
scores ("pentanomial": 0, 1/2, 1, 3/2 or 2 points). Pairs that repeat each other, by their opening or their last moves,
depend on each other: they form clusters, and the variance is that of the clusters' sums.

The sequential test is the generalised one (GSPRT), exactly: each hypothesis has the distribution of the pairs' scores
that makes the results likeliest among all with the mean that it says (Van den Bergh, "A practical introduction to the
GSPRT", 2020). The bounds are Wald's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
DEVIATIONS = 1.959964
"""Standard deviations around the mean that hold 95 % of a normal distribution."""

_LEAST_MEAN = 1e-12

_HALVINGS = 60
"""Steps in which an interval of about 4 becomes as narrow as numbers allow."""

Cluster = Sequence[tuple[float, float]]
"""Results that depend on each other: points a game, 0 to 1, with a weight, 1 for a pair, 1/2 for a single game."""

Counts = tuple[int, int, int, int, int]
"""Numbers of pairs with 0, 1/2, 1, 3/2 and 2 points for the first player."""


class Elo(NamedTuple):
    """A rating difference for the first player, between ``low`` and ``high`` with 95 % confidence.

    All three may be infinite. ``superiority`` is the probability that the first player is stronger.
    """

    difference: float
    low: float
    high: float
    superiority: float


class Sequential(NamedTuple):
    """State of a sequential test: the logarithm of the likelihood ratio, and the bounds at which a hypothesis is
    accepted. ``accepted`` is 0 or 1 for ``elo0`` or ``elo1``, -1 while undecided.
    """

    ratio: float
    lower: float
    upper: float
    accepted: int


def expected_score(elo: float) -> float:
    """Return the points a game, 0 to 1, of a player that is ``elo`` stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """Return the rating difference at which a score of 0 to 1 is expected; infinite for 0 and 1."""
    if score <= 0 or score >= 1:
        return math.copysign(math.inf, score - 0.5)
    return 400 * math.log10(score / (1 - score))


class Sample(NamedTuple):
    """A summary of clustered results.

    ``weight`` is the sum of the results' weights, ``mean`` the points a game. ``squares`` is the sum over clusters of
    squared weighted deviations from the mean. ``clusters`` and ``results`` are the numbers of clusters and of results,
    ``means`` are the points a game of each cluster.
    """

    weight: float
    mean: float
    squares: float
    clusters: int
    results: int
    means: tuple[float, ...] = ()


def sample(clusters: Iterable[Cluster]) -> Sample:
    played_clusters = [list(cluster) for cluster in clusters if cluster]
    results = [result for cluster in played_clusters for result in cluster]
    weight = sum(weight for _, weight in results)
    if not weight:
        return Sample(0.0, 0.5, 0.0, 0, 0)
    mean = sum(weight * point for point, weight in results) / weight
    squares = sum(sum(weight * (point - mean) for point, weight in cluster) ** 2 for cluster in played_clusters)
    means = tuple(
        sum(weight * point for point, weight in cluster) / sum(weight for _, weight in cluster)
        for cluster in played_clusters
    )
    return Sample(weight, mean, squares, len(played_clusters), len(results), means)


def elo(results_so_far: Sample) -> Elo | None:
    """Return the rating difference after these results; None before the first.

    If one side has won everything, the interval's finite end belongs to the score with which such a run has a
    probability of 1 in 40.
    """
    weight, mean, squares, clusters, results, _ = results_so_far
    if not results:
        return None
    # If all clusters went alike the next may differ: the spread is as if one had differed by half a point a pair.
    squares = max(squares, (0.25 * weight / clusters) ** 2)
    games = 2 * weight * clusters / results
    if mean in (0.0, 1.0):
        edge = ((1 - CONFIDENCE) / 2) ** (1 / games)
        low, high = (edge, 1.0) if mean else (0.0, 1 - edge)
        return Elo(elo_of(mean), elo_of(low), elo_of(high), 1 - 0.5**games if mean else 0.5**games)
    error = math.sqrt(squares * clusters / max(1, clusters - 1)) / weight
    superiority = 0.5 * (1 + math.erf((mean - 0.5) / (error * math.sqrt(2))))
    return Elo(elo_of(mean), elo_of(mean - DEVIATIONS * error), elo_of(mean + DEVIATIONS * error), superiority)


def sequential(results_so_far: Sample, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> Sequential:
    """Return the state of a test of "``elo0`` stronger" against "``elo1`` stronger": ``alpha`` is the risk of accepting
    ``elo1`` where ``elo0`` is true, ``beta`` that of the opposite.

    The sample must be whole pairs; those of a cluster count as one with their mean.
    """
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    counts = Counter(results_so_far.means)
    ratio = _likelihood(counts, expected_score(elo1)) - _likelihood(counts, expected_score(elo0))
    return Sequential(ratio, lower, upper, 1 if ratio >= upper else 0 if ratio <= lower else -1)


def _likelihood(counts: Mapping[float, int], mean: float) -> float:
    """Return the logarithm of the greatest likelihood of results, 0 to 1, each so many times, under a distribution of
    that mean; less that without a condition.

    The distribution gives a result x, of n, count / (n (1 + t (x - mean))); t makes its mean right. Where no t does,
    results that have not come, 0 or 1, get the rest: t is at its end, where one of these has the density 0.
    """
    # A difference of thousands of Elo is a mean of 1 or 0, rounded.
    mean = min(max(mean, _LEAST_MEAN), 1 - _LEAST_MEAN)
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        if sum(count * (x - mean) / (1 + t * (x - mean)) for x, count in counts.items()) > 0:
            low = t
        else:
            high = t
    return -sum(count * math.log(1 + t * (x - mean)) for x, count in counts.items())
