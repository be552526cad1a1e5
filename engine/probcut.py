"""How well a shallow search foretells a deep one: the table that ProbCut works with."""

from __future__ import annotations

import json
import math
from array import array
from typing import Any, NamedTuple

from desdaemon.protocol.othello.selectivity import SelectivityIndex

from .layout import PROBCUT_DEPTHS, PROBCUT_FACTORS, PROBCUT_ONE_BITS, PROBCUT_ROW, PROBCUT_UNIT_BITS

CONFIDENCE = (1.3, 1.6, 2.05, 2.6, 3.1)
"""Standard errors of the margin before the end, by selectivity index.

A cut whose stand-in only just reaches what is asked is wrong as often as one tail of the errors says: 0.6, 1.1, 1.65,
2.05 and 2.35 would do for 73 to 99 %. Matches at equal time want wider margins than that, and so do whole searches,
which have to come out right as often as their percentage says (docs/performance.md).
"""

CONFIDENCE_TO_THE_END = (0.95, 1.15, 1.7, 2.25, 2.75)
"""The same for searches to the end of the game."""

_UNIT = 1 << PROBCUT_UNIT_BITS
_ONE = 1 << PROBCUT_ONE_BITS


class ErrorModel(NamedTuple):
    """sigma(empties, depth, shallow) in discs:

    size * (depth - shallow)^gap * (start + shallow)^-decay * exp(-calm * empties).

    The error of a search that stands for one to the end is `end`, whatever the empties: a single one errs less where
    there are more, but then there are more of them. Besides, such a search misses the score by `odd` or `even` discs
    on average, as the empties are: the evaluation does not know all that the last move is worth.
    """

    size: float = 106.0
    gap: float = 0.273
    start: float = 12.0
    decay: float = 1.226
    calm: float = 0.0184
    end: float = 5.5
    odd: float = -2.2
    even: float = -0.9

    def sigma(self, empties: int, depth: int, shallow: int) -> float:
        """The standard error, in discs, of a search of ``shallow`` plies (0: the evaluation) for one of ``depth``."""
        if depth >= empties and shallow:
            return self.end
        far = math.pow(depth - shallow, self.gap) * math.pow(self.start + shallow, -self.decay)
        return self.size * far * math.exp(-self.calm * empties)

    def bias(self, empties: int, depth: int) -> float:
        """Discs by which the stand-in for a search of ``depth`` plies comes out too high on average."""
        if depth < empties:
            return 0.0
        return self.odd if empties % 2 else self.even


DEFAULT = ErrorModel()
"""For weights whose file tells no model: about the one fitted to the weights v6 (docs/training.md)."""


class Cut(NamedTuple):
    """What ProbCut asks of a node before it cuts, in discs, as the compiled search rounds it.

    The stand-in, of ``shallow`` plies, has to reach the bound and ``above`` discs more for a fail high, or stay
    ``below`` discs under it for a fail low; it is tried where the evaluation is not ``rough`` discs on the other side.
    """

    above: int
    below: int
    rough: int
    shallow: int


def stand_in(empties: int, depth: int) -> int:
    """Plies of the search that stands for one of ``depth``, about half.

    Of the same parity before the end, because evaluations of unlike parity differ; to the end an even number, which
    costs a third of the odd one above it and is hardly less sure.
    """
    if depth >= empties:
        return max(2, (depth - 1) // 4 * 2)
    return (depth // 4) * 2 + depth % 2 or depth - 2


def table(errors: ErrorModel) -> array[int]:
    """For the kernels: signed 16-bit numbers.

    PROBCUT_DEPTHS rows for searches that end before the game does, by depth: the error of the stand-in with no square
    empty, the error of the static evaluation and the bias of the stand-in, all in discs times 128, and the depth of the
    stand-in in plies; as many rows for searches to the end, with the errors as they are. Then PROBCUT_FACTORS standard
    errors of the margin by selectivity, times 128, and as many to the end; then, by empties, what the errors before the
    end are multiplied with, times 4096.
    """
    values = array("h", bytes(2 * PROBCUT_ROW * 3))
    far = errors._replace(calm=0.0)
    for to_the_end, at in ((False, far), (True, errors)):
        for depth in range(3, PROBCUT_DEPTHS):
            empties = depth if to_the_end else PROBCUT_DEPTHS
            shallow = stand_in(empties, depth)
            discs = at.sigma(empties, depth, shallow), at.sigma(empties, depth, 0), at.bias(empties, depth)
            values.extend([*(round(_UNIT * value) for value in discs), shallow])
        if not to_the_end:
            values.extend([0] * PROBCUT_ROW * 3)
    for factors in (CONFIDENCE, CONFIDENCE_TO_THE_END):
        values.extend([*(round(_UNIT * factor) for factor in factors), *[0] * (PROBCUT_FACTORS - len(factors))])
    values.extend(round(_ONE * math.exp(-errors.calm * empties)) for empties in range(PROBCUT_DEPTHS))
    return values


def cut(words: array[int], empties: int, depth: int, selectivity: SelectivityIndex) -> Cut:
    """What the compiled search takes from the table ``words`` for a node."""
    row, factors = PROBCUT_ROW * depth, 2 * PROBCUT_ROW * PROBCUT_DEPTHS
    if depth == empties:
        row += PROBCUT_ROW * PROBCUT_DEPTHS
        confidence = words[factors + PROBCUT_FACTORS + selectivity]
    else:
        confidence = (words[factors + selectivity] * words[factors + 2 * PROBCUT_FACTORS + empties]) >> PROBCUT_ONE_BITS
    margin = (words[row] * confidence) >> PROBCUT_UNIT_BITS
    rough = (words[row + 1] * confidence + _UNIT * _UNIT - 1) >> (2 * PROBCUT_UNIT_BITS)
    bias, shallow = words[row + 2], words[row + 3]
    half = _UNIT // 2
    above, below = (margin + bias + half) >> PROBCUT_UNIT_BITS, (margin - bias + half) >> PROBCUT_UNIT_BITS
    return Cut(above, below, rough, shallow)


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
    except (ArithmeticError, ValueError):
        raise ValueError("the record's probcut gives errors that are no numbers of discs up to 255") from None
    return errors
