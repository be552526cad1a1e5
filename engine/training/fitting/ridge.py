"""Linear weights from labelled positions: ridge least squares by preconditioned conjugate gradient.

For every ply p the weights w[p] minimise

    sum over rows of strength * (label - sum of weights)**2  +  ridge * |w[p]|**2  +  tie * |w[p] - neighbours|**2

where `neighbours` is the mean of the weights of plies p-1 and p+1. So frequent configurations follow their own ply and
rare ones borrow from near plies. The plies are solved one after the other, from the last to the first and back, each by
conjugate gradient preconditioned with the diagonal (Jacobi). All sums run in a fixed order, so that the same data,
options and number of threads give the same weights.

With a score curve (`curves`) the label is compared with the curve's value of the sum. A ply is then solved in rounds
(Gauss and Newton): each fits the linear approximation of the curve at the sums of the round before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.patterns import EDAX_INSTANCES, INSTANCES, PACKED_SIZE
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training.labelling.boards import Boards
from desdaemon.engine.training.store import StageProgress

from . import curves, features

UNITS = 128
"""Number of units of a stored weight in a disc."""

_LARGEST = 32000


class Rows(NamedTuple):
    """The rows of one ply: boards, labels in discs for the side to move, and their relative strengths."""

    players: Boards
    opponents: Boards
    labels: NDArray[np.float32]
    strengths: NDArray[np.float32]


class RidgeOptions(NamedTuple):
    """The options of a linear fit."""

    ridge: float = 1.0
    """Strength of the pull towards 0, in rows."""
    tie: float = 200.0
    """Strength of the pull towards the neighbouring plies, in rows."""
    sweeps: int = 2
    """Number of passes over the plies: from the last to the first, back, and so on."""
    iterations: int = 25
    """Most steps of conjugate gradient for each ply and pass, all rounds together."""
    tolerance: float = 2e-3
    """A round of a ply is done when its preconditioned residual has shrunk to this fraction of its first value."""
    threads: int = 1
    wide: bool = True
    """Fit the weights of the wide classes too, not only those of Edax's."""
    curve: float | None = None
    """The score curve, a number of discs (`curves.scores`); None for the straight line."""
    rounds: int = 3
    """Number of linear fits for each ply and pass if there is a curve."""


def solve(
    indices: features.Indices,
    labels: NDArray[np.float32],
    strengths: NDArray[np.float32],
    begin: features.Weights,
    prior: features.Weights,
    tie: float,
    options: RidgeOptions,
) -> tuple[features.Weights, int]:
    """Fit the weights of one ply, in discs, and return them and the number of steps taken. The fit starts from
    ``begin``. The weights are pulled towards ``prior`` as ``tie`` rows would pull them, and towards 0 as
    ``options.ridge`` rows would.
    """
    weights, taken = begin.astype(np.float32, copy=True), 0
    rounds = 1 if options.curve is None else options.rounds
    for k in range(rounds):
        sums = features.predict(indices, weights, options.threads)
        slopes = curves.slopes(sums, options.curve)
        errors = strengths * slopes * (labels - curves.scores(sums, options.curve))
        part = options._replace(iterations=options.iterations * (k + 1) // rounds - options.iterations * k // rounds)
        taken += _improve(weights, indices, errors, strengths * slopes * slopes, prior, tie, part)
    return weights, taken


def _improve(
    weights: features.Weights,
    indices: features.Indices,
    errors: NDArray[np.float32],
    strengths: NDArray[np.float32],
    prior: features.Weights,
    tie: float,
    options: RidgeOptions,
) -> int:
    """Change ``weights`` in place, so that the rows' sums grow by about ``errors`` / ``strengths``, and the weights are
    pulled as by `solve`. Return the steps taken, at most ``options.iterations``.
    """
    threads = options.threads
    pull = np.float32(options.ridge + tie)
    residual = features.scatter(indices, errors, len(weights), threads)
    residual += np.float32(tie) * prior - pull * weights
    diagonal = features.diagonal(indices, strengths, len(weights), threads)
    inverse = np.asarray(1 / (diagonal + pull), np.float32)
    conditioned = np.asarray(inverse * residual, np.float32)
    direction = conditioned.copy()
    size = first = float(np.dot(residual.astype(np.float64), conditioned))
    step = 0
    while step < options.iterations and size > options.tolerance**2 * first:
        product = features.normal(indices, strengths, direction, threads) + pull * direction
        length = np.float32(size / float(np.dot(direction.astype(np.float64), product)))
        weights += length * direction
        residual -= length * product
        conditioned = np.asarray(inverse * residual, np.float32)
        following = float(np.dot(residual.astype(np.float64), conditioned))
        direction = np.asarray(conditioned + np.float32(following / size) * direction, np.float32)
        size = following
        step += 1
    return step


def errors_of(predicted: NDArray[np.float32], labels: NDArray[np.float32]) -> tuple[float, float, float]:
    """Return root mean square, mean absolute and mean error (predicted - label) in discs; predictions count within
    -64..64.
    """
    difference = np.clip(predicted, -64, 64).astype(np.float64) - labels
    return (
        float(np.sqrt((difference**2).mean())),
        float(np.abs(difference).mean()),
        float(difference.mean()),
    )


def fit(
    rows_of: Callable[[int], Rows],
    options: RidgeOptions,
    *,
    start: features.Weights | None = None,
    first: int = 0,
    last: int = PLIES - 1,
    said: StageProgress | None = None,
) -> features.Weights:
    """Fit plies first..last and return float32 weights (61, PACKED_SIZE) in discs; others are as in ``start`` or 0.

    rows_of(ply) returns the training rows of a ply; it is called for each ply in each pass. ``said`` reports progress.
    """
    weights = np.zeros((PLIES, PACKED_SIZE), np.float32) if start is None else start.copy()
    solved = np.zeros(PLIES, np.bool_)
    if start is not None:
        solved[:first] = solved[last + 1 :] = True
    for sweep in range(options.sweeps):
        down = sweep % 2 == 0
        for ply in range(last, first - 1, -1) if down else range(first, last + 1):
            rows = rows_of(ply)
            near = [q for q in (ply - 1, ply + 1) if 0 <= q < PLIES and solved[q]]
            prior = np.zeros(PACKED_SIZE, np.float32)
            for other in near:
                prior += weights[other] / np.float32(len(near))
            begin = np.asarray(weights[ply] if solved[ply] or start is not None else prior, np.float32)
            instances = len(INSTANCES) if options.wide else EDAX_INSTANCES
            indices = features.index(rows.players, rows.opponents, options.threads, instances)
            tie = options.tie if near else 0.0
            weights[ply], steps = solve(indices, rows.labels, rows.strengths, begin, prior, tie, options)
            solved[ply] = True
            if said:
                said.now_and_then(f"pass {sweep + 1} ply {ply}: {len(rows.labels)} rows, {steps} steps")
    return weights


def pack(weights: features.Weights) -> bytes:
    """Return weights in discs as the packed int16 table of a weights file, rounded and limited to 250 discs."""
    units = np.clip(np.rint(weights * UNITS), -_LARGEST, _LARGEST)
    return units.astype("<i2").tobytes()


def unpack(packed: bytes) -> features.Weights:
    """Return the packed table of a weights file as float32 weights (61, PACKED_SIZE) in discs."""
    return np.frombuffer(packed, "<i2").reshape(PLIES, PACKED_SIZE).astype(np.float32) / np.float32(UNITS)
