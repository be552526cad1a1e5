"""How well a shallow search foretells a deep one: the table of standard errors that ProbCut works with."""

from __future__ import annotations

import json
import math
from array import array
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

SHIPPED = Path(__file__).resolve().parent / "data" / "probcut.json"

DEPTHS = 64
"""Columns of the table, by depth in plies."""


class ErrorModel(NamedTuple):
    """sigma(empties, depth, shallow) in discs:

    floor + start * exp(-decay * shallow) + gap * (depth - shallow) + late * max(0, turn - empties).

    Besides, searches that stand for one to the end miss the score by `odd` or `even` discs on average, as the empties
    are: the evaluation does not know all that the last move is worth.
    """

    floor: float = 1.5
    start: float = 2.2
    decay: float = 0.25
    gap: float = 0.12
    late: float = 0.035
    turn: float = 44.0
    odd: float = -1.3
    even: float = 0.2

    def sigma(self, empties: int, depth: int, shallow: int) -> float:
        """The standard error, in discs, of a search of ``shallow`` plies for one of ``depth``."""
        near_end = self.late * max(0.0, self.turn - empties)
        return self.floor + self.start * math.exp(-self.decay * shallow) + self.gap * (depth - shallow) + near_end

    def bias(self, empties: int, depth: int) -> float:
        """Discs by which the stand-in for a search of ``depth`` plies comes out too high on average."""
        if depth < empties:
            return 0.0
        return self.odd if empties % 2 else self.even


def stand_in(empties: int, depth: int) -> int:
    """Plies of the search that stands for one of ``depth``, about half.

    Of the same parity before the end, because evaluations of unlike parity differ; to the end an even number, which
    costs a third of the odd one above it and is hardly less sure.
    """
    if depth >= empties:
        return max(2, (depth - 1) // 4 * 2)
    return (depth // 4) * 2 + depth % 2 or depth - 2


@cache
def model() -> ErrorModel:
    """The model fitted to the shipped weights."""
    try:
        return ErrorModel(**json.loads(SHIPPED.read_text())["model"])
    except FileNotFoundError:
        return ErrorModel()


def table(errors: ErrorModel) -> array[int]:
    """For the kernels: signed 16-bit numbers, discs times 128.

    DEPTHS rows for searches that end before the game does, by depth: the error of the stand-in, the error of the static
    evaluation, the bias of the stand-in, and the depth of the stand-in in plies; as many rows for searches to the end;
    then, by empties, what either error grows by near the end.
    """
    values = array("h", bytes(2 * 4 * 3))
    far = errors._replace(late=0.0)
    for to_the_end in (False, True):
        for depth in range(3, DEPTHS):
            empties = depth if to_the_end else DEPTHS
            shallow = stand_in(empties, depth)
            discs = far.sigma(empties, depth, shallow), far.sigma(empties, depth, 0), far.bias(empties, depth)
            values.extend([*(round(128 * value) for value in discs), shallow])
        if not to_the_end:
            values.extend([0] * 4 * 3)
    values.extend(round(128 * errors.late * max(0.0, errors.turn - empties)) for empties in range(DEPTHS))
    return values


def model_of(fields: Any) -> ErrorModel:
    """The model with these fields, by name; ValueError with the reason for anything that can't be one."""
    if not isinstance(fields, dict) or not set(fields) <= set(ErrorModel._fields):
        raise ValueError(f"the record's probcut is not an object of {', '.join(ErrorModel._fields)}")
    for name, value in fields.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError(f"the record's probcut has {name} {json.dumps(value)[:40]}, expected a number")
    errors = ErrorModel(**fields)
    try:
        table(errors)
    except (OverflowError, ValueError):
        raise ValueError("the record's probcut gives errors that are no numbers of discs up to 255") from None
    return errors
