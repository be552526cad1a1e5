"""How well a shallow search foretells a deep one: the table of standard errors that ProbCut works with."""

from __future__ import annotations

import json
import math
from array import array
from functools import cache
from pathlib import Path
from typing import NamedTuple

SHIPPED = Path(__file__).resolve().parent / "data" / "probcut.json"

DEPTHS = 64
"""Columns of the table, by depth in plies."""


class ErrorModel(NamedTuple):
    """sigma(empties, depth, shallow) in discs:

    floor + start * exp(-decay * shallow) + gap * (depth - shallow) + late * max(0, turn - empties).
    """

    floor: float = 1.5
    start: float = 2.2
    decay: float = 0.25
    gap: float = 0.12
    late: float = 0.035
    turn: float = 44.0

    def sigma(self, empties: int, depth: int, shallow: int) -> float:
        """The standard error, in discs, of a search of ``shallow`` plies for one of ``depth``."""
        near_end = self.late * max(0.0, self.turn - empties)
        return self.floor + self.start * math.exp(-self.decay * shallow) + self.gap * (depth - shallow) + near_end


def shallow_depth(depth: int) -> int:
    """Plies of the search that stands for one of ``depth``: about half, of the same parity."""
    return (depth // 4) * 2 + depth % 2 or depth - 2


@cache
def model() -> ErrorModel:
    """The model fitted to the shipped weights."""
    try:
        return ErrorModel(**json.loads(SHIPPED.read_text())["model"])
    except FileNotFoundError:
        return ErrorModel()


def table(errors: ErrorModel) -> array[int]:
    """For the kernels: pairs of unsigned 16-bit numbers [61 empties][DEPTHS], in 1/128 disc.

    The first of a pair is the error of the shallow search for that depth, the second that of the static evaluation.
    """
    # The terms of `ErrorModel.sigma` that depend on the depths alone are worked out once: this runs at every start.
    by_depth = [
        errors.sigma(60, depth, shallow) - errors.late * max(0.0, errors.turn - 60)
        for depth in range(DEPTHS)
        for shallow in (shallow_depth(depth) if depth > 2 else 0, 0)
    ]
    rows = array("H")
    for empties in range(61):
        near_end = errors.late * max(0.0, errors.turn - empties)
        rows.extend([min(65535, round(128 * (sigma + near_end))) for sigma in by_depth])
    return rows
