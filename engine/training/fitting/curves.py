"""The score curve in a fit: from sums of weights to scores, and its slope.

Exact scores do not grow in proportion to the sum: the board has 64 discs, and a position whose sum is 70 discs is won
by some 56. With a curve A in discs the score of the sum s is A tanh(s / A)
(`desdaemon.engine.evaluation.weights_metadata`); a curve of None is the straight line.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

LEAST_SLOPE = np.float32(0.15)
"""Least slope in a fit: on flatter parts of the curve a step would leave the range of its linear approximation."""


def scores(sums: Floats, curve: float | None) -> Floats:
    """Return the scores of ``sums`` of weights, ``curve`` * tanh(sum / ``curve``), all in discs; they may exceed 64.
    Without a curve (None) they are the sums.
    """
    if curve is None:
        return sums
    return np.asarray(np.float32(curve) * np.tanh(sums / np.float32(curve)), np.float32)


def slopes(sums: Floats, curve: float | None) -> Floats:
    """Return the slope of the score curve at each of ``sums``, in discs of score per disc of sum, at least
    `LEAST_SLOPE`; 1 without a curve.
    """
    if curve is None:
        return np.ones_like(sums)
    return np.asarray(np.maximum(1 - np.tanh(sums / np.float32(curve)) ** 2, LEAST_SLOPE), np.float32)
