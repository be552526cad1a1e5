"""Tuning by simultaneous perturbation stochastic approximation (SPSA), as Fishtest and OpenBench do it.

In iteration k of N all parameters are changed at once by c_k, each up or down by lot (d = 1 or -1); the programs with
``value + c_k d`` and ``value - c_k d`` play a pair of games, whose result is the first one's wins minus its losses:

    value += a_k / c_k * d * result        c_k = c / k^0.101        a_k = a / (N/10 + k)^0.602

The exponents and N/10 are those of J. C. Spall, "Implementation of the simultaneous perturbation algorithm for
stochastic optimization", IEEE Transactions on Aerospace and Electronic Systems 34 (1998). As in OpenBench, c and a
follow from the last iteration: c_N is a twentieth of the parameter's range, but at least 1/2, and a_N is R c_N^2.
OpenBench's R is 0.002 for some 20,000 iterations; here it is 40/N, at most 0.2.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from desdaemon.clients.programs.statistics import DEVIATIONS

_ALPHA, _GAMMA = 0.602, 0.101


class TunedOption(NamedTuple):
    """An option whose values are whole numbers: the range in which it is tuned, ends included, and the first value."""

    name: str
    low: int
    high: int
    start: int


class Trial(NamedTuple):
    """The values of the two programs that play a pair of games, in the order of the options."""

    plus: tuple[int, ...]
    minus: tuple[int, ...]


class Tuning:
    """The state of an SPSA tuning: ``values`` holds the options' current values. Iterations count from 1.

    Iterations' results may come in any order, but another order may give other values. The same seed and the same
    results in the same order give the same values.
    """

    def __init__(self, parameters: Sequence[TunedOption], iterations: int, seed: int) -> None:
        self.parameters = parameters
        self.values = [float(one.start) for one in parameters]
        self._iterations = iterations
        self._seed = seed
        self._squares = [0.0] * len(parameters)

    def trial(self, iteration: int) -> Trial:
        """Return the values of the two programs for an iteration's games, rounded up or down by a lot that both share,
        and kept within the options' ranges.
        """
        lots = random.Random(f"{self._seed} {iteration} rounding")
        plus: list[int] = []
        minus: list[int] = []
        changes = self._changes(iteration)
        for one, value, change in zip(self.parameters, self.values, changes, strict=True):
            lot = lots.random()
            for side, side_value in ((plus, value + change), (minus, value - change)):
                side.append(max(one.low, min(one.high, math.floor(side_value + lot))))
        return Trial(tuple(plus), tuple(minus))

    def update(self, iteration: int, result: float) -> None:
        """Move ``values``, within their ranges, by an iteration's ``result``: wins of `Trial.plus` minus its losses."""
        last = self._iterations
        rate = min(0.2, 40 / last) * ((last / 10 + last) / (last / 10 + iteration)) ** _ALPHA
        for at, (one, change) in enumerate(zip(self.parameters, self._changes(iteration), strict=True)):
            # a_k / c_k d: c_N is squared in a_k, and d is the sign of the change.
            step = rate * self._last_change(one) ** 2 / change * result
            self._squares[at] += step**2
            self.values[at] = max(one.low, min(one.high, self.values[at] + step))

    @property
    def errors(self) -> list[float]:
        """For each option, the distance from its start that chance alone exceeds in one of 20 tunings.

        1.96 times the root of the sum of the squared steps: the deviation of a walk of these steps, each up or down by
        lot. An option that ended nearer to its start may not matter at all.
        """
        return [DEVIATIONS * math.sqrt(squares) for squares in self._squares]

    def _changes(self, iteration: int) -> list[float]:
        """Return the signed amount by which an iteration changes each parameter: c_k d in the module's formula. The
        signs are drawn from the seed, so every call for an iteration returns the same.
        """
        lots = random.Random(f"{self._seed} {iteration}")
        wider = (self._iterations / iteration) ** _GAMMA
        return [math.copysign(self._last_change(one) * wider, lots.random() - 0.5) for one in self.parameters]

    def _last_change(self, one: TunedOption) -> float:
        """Return how much the last iteration changes an option, without a sign: c_N in the module's text."""
        return max(0.5, (one.high - one.low) / 20)
