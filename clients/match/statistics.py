"""What a match says about two players: Elo with its error, and the sequential test (SPRT) of two hypotheses.

Games come in pairs, an opening played with both colours; what the opening gives one side it gives the other a game
later. The spread is therefore that of the pairs' scores ("pentanomial": 0, 1/2, 1, 3/2 or 2 points), as in the
generalised sequential ratio test of Van den Bergh, "The GSPRT approximation" (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
_DEVIATIONS = 1.959964
"""Standard deviations on either side of the mean that hold 95 % of a normal distribution."""

_DOUBT = 1.0
"""Pairs that the spread of a sequential test is taken to have more than were seen, all five results alike among them.
A few results that happen to be alike would otherwise look certain; they now decide about as soon as single games do."""

Counts = tuple[int, int, int, int, int]
"""Pairs with 0, 1/2, 1, 3/2 and 2 points for the first player."""


class Elo(NamedTuple):
    """A difference of rating, from the first player's side, between ``low`` and ``high`` with 95 % confidence.

    All three may be infinite. ``superiority`` is the probability that the first player is the stronger.
    """

    difference: float
    low: float
    high: float
    superiority: float


class Sequential(NamedTuple):
    """Where a sequential test stands: ``accepted`` is 0 or 1, the hypothesis it has decided for, or -1 for neither."""

    ratio: float
    lower: float
    upper: float
    accepted: int


def expected_score(elo: float) -> float:
    """The points a game, 0 to 1, of a player that is ``elo`` stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """The rating difference that makes a score of 0 to 1 expected."""
    if score <= 0 or score >= 1:
        return math.copysign(math.inf, score - 0.5)
    return 400 * math.log10(score / (1 - score))


def elo(pairs: Counts, singles: Sequence[float] = ()) -> Elo | None:
    """The rating difference after those pairs and games without a partner; None before the first game.

    Where one side has won everything the other end is that score which would have led there once in 40 times.
    """
    points, weights = _sample(pairs, singles)
    total = sum(weights)
    if not total:
        return None
    mean = sum(weight * point for point, weight in zip(points, weights, strict=True)) / total
    variance = sum(weight * (point - mean) ** 2 for point, weight in zip(points, weights, strict=True)) / total
    # Where all pairs went alike the next may not: as if one of them had been half a point away.
    variance = max(variance, 0.25**2 / total)
    games = round(2 * sum(pairs)) + len(singles)
    if mean in (0.0, 1.0):
        edge = ((1 - CONFIDENCE) / 2) ** (1 / games)
        low, high = (edge, 1.0) if mean else (0.0, 1 - edge)
        return Elo(elo_of(mean), elo_of(low), elo_of(high), 1 - 0.5**games if mean else 0.5**games)
    error = math.sqrt(variance / total)
    superiority = 0.5 * (1 + math.erf((mean - 0.5) / (error * math.sqrt(2))))
    return Elo(elo_of(mean), elo_of(mean - _DEVIATIONS * error), elo_of(mean + _DEVIATIONS * error), superiority)


def _sample(pairs: Counts, singles: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points a game and how many pairs' worth of them there are."""
    points = [0.0, 0.25, 0.5, 0.75, 1.0, *singles]
    return points, [*map(float, pairs), *([0.5] * len(singles))]


def sequential(pairs: Counts, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> Sequential:
    """The test of "``elo0`` stronger" against "``elo1`` stronger", wrong with probabilities ``alpha`` and ``beta``.

    The logarithm of the likelihood ratio is the normal approximation: with n pairs of mean score m and variance v a
    pair, n (s1 - s0) (2 m - s0 - s1) / (2 v).
    """
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    if not sum(pairs):
        return Sequential(0.0, lower, upper, -1)
    total = sum(pairs)
    mean = sum(count * at / 4 for at, count in enumerate(pairs)) / total
    variance = sum((count + _DOUBT / 5) * (at / 4 - mean) ** 2 for at, count in enumerate(pairs)) / (total + _DOUBT)
    score0, score1 = expected_score(elo0), expected_score(elo1)
    ratio = total * (score1 - score0) * (2 * mean - score0 - score1) / (2 * variance)
    return Sequential(ratio, lower, upper, 1 if ratio >= upper else 0 if ratio <= lower else -1)
