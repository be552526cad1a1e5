"""The sequential test: against an implementation of its own, and in simulated matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from desdaemon.clients.match import match as command
from desdaemon.clients.match.results.report import sequential_text
from desdaemon.clients.programs import statistics
from desdaemon.protocol.errors import BadInput

POINTS = np.array([0, 0.25, 0.5, 0.75, 1])


def test_the_finding_of_a_test_is_told() -> None:
    bounds = (-2.94, 2.94)
    test, text = statistics.Sequential, "between -2.94 and +2.94:"
    assert sequential_text(test(3.0, *bounds, 1), (0, 10)) == f"SPRT +3.00 {text} H1 accepted (+10 Elo)"
    assert sequential_text(test(-3.0, *bounds, 0), (0, 10)) == f"SPRT -3.00 {text} H0 accepted (+0 Elo)"
    assert sequential_text(test(0.5, *bounds, -1), (0, 10)) == f"SPRT +0.50 {text} undecided"


def ratio(pairs: Sequence[int], elo0: float, elo1: float) -> float:
    clusters = [[(point, 1.0)] for point, count in zip(POINTS.tolist(), pairs, strict=True) for _ in range(count)]
    return statistics.sequential(statistics.sample(clusters), elo0, elo1).ratio


def checked(counts: np.ndarray[Any, Any], score0: float, score1: float) -> float:
    """The logarithm of the likelihood ratio of two scores, by an implementation of its own: Newton's method for the
    tilt of each, from the middle of the interval in which all chances are positive, halving the step where it leaves
    that. Of five results those that have not come count a millionth.
    """
    likelihoods = np.zeros(2)
    for number, mean in enumerate((score0, score1)):
        tilt, step = 0.0, 1.0
        while abs(step) > 1e-9:
            slope = curve = 0.0
            for result in range(5):
                count, away = max(counts[result], 1e-6), result / 4 - mean
                slope += count * away / (1 + tilt * away)
                curve += count * (away / (1 + tilt * away)) ** 2
            step = slope / curve
            while 1 - (tilt + step) * mean <= 0 or 1 + (tilt + step) * (1 - mean) <= 0:
                step /= 2
            tilt += step
        for result in range(5):
            likelihoods[number] -= max(counts[result], 1e-6) * math.log(1 + tilt * (result / 4 - mean))
    return float(likelihoods[1] - likelihoods[0])


def test_the_ratio_is_the_exact_pentanomial_one() -> None:
    assert ratio([0, 1, 3, 3, 7], -20, 20) == pytest.approx(1.6118, abs=1e-4)
    assert ratio([7, 3, 3, 1, 0], -20, 20) == pytest.approx(-1.6118, abs=1e-4)
    assert ratio([0] * 5, -20, 20) == 0


def test_a_row_of_equal_results_is_decided() -> None:
    """The likeliest distributions then have losses that have not come."""
    scores = statistics.expected_score(20), statistics.expected_score(-20)
    assert ratio([0, 0, 0, 0, 9], -20, 20) == pytest.approx(9 * math.log(scores[0] / scores[1]))
    assert ratio([9, 0, 0, 0, 0], -20, 20) == pytest.approx(-9 * math.log(scores[0] / scores[1]))
    assert ratio([0, 0, 9, 0, 0], -20, 20) == pytest.approx(0, abs=1e-9)


def test_differences_of_thousands_of_elo_are_decided() -> None:
    """The score that belongs to one is 1 or 0, rounded."""
    found = statistics.sequential(statistics.sample([[(1.0, 1.0), (0.5, 1.0)]]), *command._sprt("0,10000"))
    assert (found.ratio < found.lower, found.accepted) == (True, 0)
    found = statistics.sequential(statistics.sample([[(0.0, 1.0), (0.5, 1.0)]] * 3), *command._sprt("-10000,-9000"))
    assert found.accepted in (-1, 1)


@given(st.lists(st.integers(0, 40), min_size=5, max_size=5), st.floats(-100, 90), st.floats(1, 100))
def test_the_ratio_is_as_another_implementation_has_it(pairs: list[int], elo0: float, wider: float) -> None:
    if any(pairs):
        scores = (statistics.expected_score(elo) for elo in (elo0, elo0 + wider))
        expected = checked(np.array(pairs, float), *scores)
        assert ratio(pairs, elo0, elo0 + wider) == pytest.approx(expected, abs=2e-3, rel=1e-3)


def test_the_risks_are_those_that_are_asked_for() -> None:
    assert command._sprt("0,10") == (0, 10)
    assert command._sprt("-5, 0, 0.01, 0.1") == (-5, 0, 0.01, 0.1)
    found = statistics.sequential(statistics.sample([]), *command._sprt("0,10,0.01,0.1"))
    assert (found.lower, found.upper) == (pytest.approx(math.log(0.1 / 0.99)), pytest.approx(math.log(0.9 / 0.01)))
    for wrong in ("0", "10,0", "0,10,0.05", "0,10,0,0.05", "0,10,0.5,0.05", "0,10,0.05,x", "0,1,0.1,0.1,0.1"):
        with pytest.raises(BadInput, match="--sprt"):
            command._sprt(wrong)


def pair_chances(elo: float, draws: float, bias: float) -> np.ndarray[Any, Any]:
    """The chances of a pair's scores: of openings that are worth ``bias`` Elo to one side, and so many draws."""
    games = []
    for difference in (elo + bias, elo - bias):
        score = statistics.expected_score(difference)
        drawn = min(draws, 2 * score, 2 - 2 * score)
        games.append([1 - score - drawn / 2, drawn, score - drawn / 2])
    return np.convolve(games[0], games[1])


MATCHES = 20_000


def decided(
    chances: np.ndarray[Any, Any], scores: tuple[float, float], risks: tuple[float, float], seed: int
) -> tuple[float, float]:
    """The shares of simulated matches that accept the first and the second hypothesis."""
    likelihood_ratio = njit(checked)

    @njit
    def play(lower: float, upper: float) -> tuple[int, int]:
        np.random.seed(seed)
        accepted = [0, 0]
        for _ in range(MATCHES):
            counts, found = np.zeros(5), 0.0
            while lower < found < upper:
                counts[np.searchsorted(sums, np.random.random(), side="right")] += 1
                found = likelihood_ratio(counts, *scores)
            accepted[int(found > 0)] += 1
        return accepted[0], accepted[1]

    sums = np.append(np.cumsum(chances)[:4], 1.0)
    first, second = play(math.log(risks[1] / (1 - risks[0])), math.log((1 - risks[1]) / risks[0]))
    return first / MATCHES, second / MATCHES


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "bias"), [(0.1, 0.0), (0.1, 100.0), (0.6, 0.0)])
@pytest.mark.parametrize("risks", [(0.05, 0.05), (0.02, 0.1)])
def test_wrong_decisions_are_as_rare_as_promised(draws: float, bias: float, risks: tuple[float, float]) -> None:
    """At each hypothesis, within a standard error: 0.15 % where 5 % are promised, 0.1 % where 2, 0.2 % where 10.

    They are rarer: a match ends beyond the bounds, which are Wald's, not on them.
    """
    chances = [pair_chances(elo, draws, bias) for elo in (-20, 20)]
    scores = float(chances[0] @ POINTS), float(chances[1] @ POINTS)
    wrong = decided(chances[0], scores, risks, 1)[1], decided(chances[1], scores, risks, 2)[0]
    for share, risk in zip(wrong, risks, strict=True):
        assert share <= risk + math.sqrt(risk * (1 - risk) / MATCHES)
