"""The calibration of search labels: a correction that makes them equal to exact scores on average.

A search of some depth shrinks large scores, unevenly, and errs by the parity of its depth. For a ply and a label L in
discs the corrected label is

    c0 + c1 * L + c3 * L**3 / 64**2

Each coefficient is a straight line in the ply, so that few samples of each ply suffice. c0 has a line for each parity
of the depth and of the ply: the last move of the search, and the last of the game, are worth a disc each to the side
that makes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.training.store import TrainingError

LEAST_DEPTH = 3
"""Least depth, in plies, of searches whose labels are corrected."""

FEWEST = 100
"""Fewest samples for a fit."""

DOUBT = 100
"""Strength, in samples, of the pull of c0's four lines towards one number, as some parities may have few labels."""

Floats: TypeAlias = NDArray[np.float64]


class Samples(NamedTuple):
    """Plies, search depths, labels and better scores (``exact``) of positions; scores in discs for the mover."""

    plies: NDArray[np.int64]
    depths: NDArray[np.int64]
    labels: Floats
    exact: Floats

    def where(self, chosen: NDArray[np.bool_]) -> Samples:
        """Return the samples for which ``chosen`` is true."""
        return Samples(self.plies[chosen], self.depths[chosen], self.labels[chosen], self.exact[chosen])


class Coefficients(NamedTuple):
    """The coefficients of a ply: a label L, in discs, becomes c0 + linear * L + cubic * L**3 / 64**2, where c0 is
    ``odd`` or ``even`` by the parity of the depth of the search.
    """

    odd: float = 0.0
    even: float = 0.0
    linear: float = 1.0
    cubic: float = 0.0

    def corrected(self, labels: NDArray[Any], depths: NDArray[Any]) -> Floats:
        """Return the corrected labels of searches of ``depths`` plies, in discs, clamped to -64..64."""
        values = labels.astype(np.float64)
        moved = np.where(depths % 2 == 1, self.odd, self.even) + self.linear * values + self.cubic * values**3 / 4096
        return np.clip(moved, -64, 64)


Calibration = dict[int, Coefficients]
"""Coefficients by ply; labels of other plies are not corrected."""


def fit(samples: Samples, first: int, last: int) -> Calibration:
    """Return the coefficients of plies first..last, fitted by least squares to all samples together.

    Raises `TrainingError` for fewer than `FEWEST` samples.
    """
    if len(samples.labels) < FEWEST:
        raise TrainingError(
            f"{len(samples.labels)} positions with a label and an exact score, at least {FEWEST} needed"
        )
    middle = samples.plies.mean()

    def along(plies: NDArray[np.int64]) -> Floats:
        return np.asarray((plies - middle) / 10)

    def levels(plies: NDArray[np.int64], depth_odd: NDArray[Any]) -> Floats:
        """Return the columns of the design matrix for c0, a row for each of ``plies``; all but the last are pulled
        towards 0. ``depth_odd`` is 1 for a row with an odd search depth, else 0.
        """
        depth, ply = 2.0 * depth_odd - 1, 2.0 * (plies % 2) - 1
        kinds = depth, ply, depth * ply, np.ones(len(plies))
        return np.stack([*(kind * along(plies) for kind in kinds), *kinds], axis=-1)

    shapes = samples.labels, samples.labels**3 / 4096
    rows = np.stack([part for shape in shapes for part in (shape, shape * along(samples.plies))], axis=-1)
    rows = np.concatenate([levels(samples.plies, samples.depths % 2), rows], axis=-1)
    pulls = np.eye(7, rows.shape[1]) * DOUBT**0.5
    solved, *_ = np.linalg.lstsq(np.concatenate([rows, pulls]), np.append(samples.exact, np.zeros(7)), rcond=None)
    plies = np.arange(first, last + 1)
    odd, even = (levels(plies, np.full(len(plies), parity)) @ solved[:8] for parity in (1, 0))
    linear, cubic = (solved[k] + solved[k + 1] * along(plies) for k in (8, 10))
    table = np.stack([odd, even, linear, cubic], axis=-1).round(5).tolist()
    return {int(ply): Coefficients(*row) for ply, row in zip(plies, table, strict=True)}


def errors(samples: Samples, calibration: Calibration) -> list[dict[str, Any]]:
    """Return a dict for each ply and depth: ply, depth, number of samples, and the errors before and after the
    correction. The errors are lists: root mean square and mean of label minus exact score, in discs.

    ``calibration`` must have every ply of ``samples``.
    """
    rows = []
    for ply, depth in sorted({(int(p), int(d)) for p, d in zip(samples.plies, samples.depths, strict=True)}):
        part = samples.where((samples.plies == ply) & (samples.depths == depth))
        row: dict[str, Any] = {"ply": ply, "depth": depth, "samples": len(part.labels)}
        after = calibration[ply].corrected(part.labels, part.depths)
        for name, labels in (("before", part.labels), ("after", after)):
            difference = labels - part.exact
            row[name] = [round(float(np.sqrt((difference**2).mean())), 3), round(float(difference.mean()), 3)]
        rows.append(row)
    return rows


def read(path: Path) -> Calibration:
    """Return the coefficients in a file of stage `calibrate`. Raises OSError if it cannot be read, `TrainingError` for
    any other file.
    """
    try:
        read_fields = json.loads(path.read_text("utf-8"))["coefficients"]
        coefficients = {int(ply): Coefficients(**fields) for ply, fields in read_fields.items()}
        good = all(math.isfinite(value) for fields in coefficients.values() for value in fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TrainingError(f"{path}: not a file of stage `calibrate`: {error!r}") from None
    if not good or not coefficients:
        raise TrainingError(f"{path}: not a file of stage `calibrate`: the coefficients are no numbers")
    return coefficients


def read_all(paths: Sequence[Path]) -> Calibration:
    """Return the coefficients of several files, for each ply from the first that has it. Raises as `read` does."""
    found: Calibration = {}
    for path in reversed(paths):
        found |= read(path)
    return found
