"""Ratings of players, a number for each year in which they played, from the results of dated games.

They are the most likely ones given the results and two assumptions: ratings of players lie about a mean, so that few
games leave a player near it, and a player's rating of one year lies near that of the year before (R. Coulom,
"Whole-History Rating", Computers and Games 2008). A difference of 400 means ten times as many points.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

MEAN = 1500.0
_SPREAD = 300.0
"""Standard deviation of the players' ratings of their first year."""
_DRIFT = 50.0
"""Standard deviation of the change in a year."""
_ELO = np.log(10) / 400
_PASSES = 60
_DAMPING = 0.5
"""Opponents move in the same pass, so that whole steps would overshoot."""

Numbers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


class Ratings:
    """The ratings of players by year: ``values[k]`` is that of ``players[k]`` in ``years[k]``, sorted by player, then
    by year.
    """

    def __init__(self, players: Numbers, years: Numbers, values: Floats) -> None:
        self.players, self.years, self.values = players, years, values
        self._keys = _key(players, years)

    def of(self, players: Numbers, years: Numbers) -> Floats:
        """Return for each k the rating of ``players[k]`` in ``years[k]`` or the last year before; NaN without one."""
        place = np.searchsorted(self._keys, _key(players, years), side="right") - 1
        known = (place >= 0) & (self.players[place] == players)
        return np.where(known, self.values[place], np.nan)


def _key(players: Any, years: Any) -> Any:
    return np.asarray(players, np.int64) * 10_000 + years


def rate(first: Numbers, second: Numbers, years: Numbers, points: Floats) -> Ratings:
    """Return the ratings from games: ``first[k]`` had ``points[k]`` (0 to 1) against ``second[k]`` in ``years[k]``."""
    keys, inverse = np.unique(np.concatenate([_key(first, years), _key(second, years)]), return_inverse=True)
    players, when = np.divmod(keys, 10_000)
    own, other = inverse[: len(first)], inverse[len(first) :]
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = players[1:] != players[:-1]
    # The precision of the step from the year before; each step ties two neighbours in the arrays.
    ties = np.zeros(len(keys))
    ties[1:] = np.where(begins[1:], 0, 1 / (_DRIFT**2 * np.maximum(1, when[1:] - when[:-1])))
    anchors = np.where(begins, 1 / _SPREAD**2, 0)
    after = np.append(ties[1:], 0.0)
    values: Floats = np.full(len(keys), MEAN)
    for _ in range(_PASSES):
        expected = 1 / (1 + np.exp(_ELO * (values[other] - values[own])))
        surprise = _ELO * (points - expected)
        pull = (np.bincount(own, surprise, len(keys)) - np.bincount(other, surprise, len(keys))).astype(np.float64)
        weight = _ELO**2 * expected * (1 - expected)
        bend = np.bincount(own, weight, len(keys)) + np.bincount(other, weight, len(keys))
        change = np.append(0.0, np.diff(values)) * ties
        pull = pull + anchors * (MEAN - values) - change + np.append(change[1:], 0.0)
        values += _DAMPING * _tridiagonal(bend + anchors + ties + after, -ties, pull)
    return Ratings(players, when, values)


def _tridiagonal(diagonal: Floats, beside: Floats, right: Floats) -> Floats:
    """Return the solution of a symmetric tridiagonal system of equations with the right-hand side ``right``.
    ``beside[k]`` is the element in row k and column k - 1 of the matrix; ``beside[0]`` is not used.
    """
    pivots, sums, ties = diagonal.tolist(), right.tolist(), beside.tolist()
    for k in range(1, len(pivots)):
        factor = ties[k] / pivots[k - 1]
        pivots[k] -= factor * ties[k]
        sums[k] -= factor * sums[k - 1]
    for k in range(len(pivots) - 1, -1, -1):
        if k + 1 < len(pivots):
            sums[k] -= ties[k + 1] * sums[k + 1]
        sums[k] /= pivots[k]
    return np.array(sums)
