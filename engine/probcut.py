"""The error model of ProbCut: the error of shallow searches as predictions of deep ones, and its table for the kernels.

ProbCut: Michael Buro, "ProbCut: an effective selective extension of the alpha-beta algorithm", ICCA Journal 18 (1995).
"""

from __future__ import annotations

import json
import math
from array import array
from typing import Any, NamedTuple

from desdaemon.protocol.othello.selectivity import SelectivityIndex

from .layout import PROBCUT_DEPTHS, PROBCUT_FACTORS, PROBCUT_ONE_BITS, PROBCUT_ROW, PROBCUT_UNIT_BITS

CONFIDENCE = (1.3, 1.6, 2.5, 3.5, 4.5)
"""Margin before the end, in standard errors, by selectivity index.

A cut whose reduced search just reaches the margin is wrong with the probability of one tail of the normal distribution:
0.6, 1.1, 1.65, 2.05 and 2.35 would do for 73 to 99 %. Matches at equal time favour wider margins, and whole searches
must be right as often as their percentage says (docs/notes/selectivity.md).
"""

CONFIDENCE_TO_THE_END = (0.95, 1.15, 1.7, 2.25, 2.75)
"""Margin of searches to the end of the game, in standard errors, by selectivity index."""

_UNIT = 1 << PROBCUT_UNIT_BITS
_ONE = 1 << PROBCUT_ONE_BITS


class ErrorModel(NamedTuple):
    """The standard error, in discs, of a search of ``shallow`` plies that predicts the score of a search of ``depth``
    plies. If the deep search ends before the game does, it is

    scale * (depth - shallow)^gap_exponent * (depth_offset + shallow)^-depth_exponent * exp(-empties_rate * empties).

    If the deep search goes to the end of the game, the error is ``sigma_to_end``, whatever the empties: with more
    empties a single reduced search errs less, but a tree has more of these searches. The reduced search then also
    scores ``bias_odd`` or ``bias_even`` discs higher on average, by the parity of the empties, because the evaluation
    does not know the value of the last move.
    """

    scale: float = 106.0
    gap_exponent: float = 0.273
    depth_offset: float = 12.0
    depth_exponent: float = 1.226
    empties_rate: float = 0.0184
    sigma_to_end: float = 5.5
    bias_odd: float = -2.2
    bias_even: float = -0.9

    def to_record(self) -> dict[str, float]:
        """Return the model as the entry ``probcut`` of a weights file's record."""
        return dict(zip(_RECORD_KEYS, self, strict=True))

    def sigma(self, empties: int, depth: int, shallow: int) -> float:
        """Return the standard error, in discs, of a search of ``shallow`` plies (0: the evaluation) that predicts the
        score of a search of ``depth`` plies. ``shallow`` must be less than ``depth``.

        If the deep search goes to the end, the error is `sigma_to_end`. But for the evaluation (0 plies) the formula of
        the class holds even then.
        """
        if depth >= empties and shallow:
            return self.sigma_to_end
        far = math.pow(depth - shallow, self.gap_exponent) * math.pow(self.depth_offset + shallow, -self.depth_exponent)
        return self.scale * far * math.exp(-self.empties_rate * empties)

    def bias(self, empties: int, depth: int) -> float:
        """Return by how many discs, on average, the reduced search scores higher than the search of ``depth`` plies
        that it replaces. It is 0 if the deep search ends before the game does.
        """
        if depth < empties:
            return 0.0
        return self.bias_odd if empties % 2 else self.bias_even


_RECORD_KEYS = ("size", "gap", "start", "decay", "calm", "end", "odd", "even")
"""The names of the fields in the record of a weights file, in their order."""

_FIELDS = dict(zip(_RECORD_KEYS, ErrorModel._fields, strict=True))

DEFAULT = ErrorModel()
"""The model for weights whose file has none: close to that of the weights v6 (docs/notes/selectivity.md)."""


class Cut(NamedTuple):
    """The condition of a cut at a node, in discs rounded as the compiled search rounds them.

    The reduced search, of ``shallow`` plies, must score at least ``above`` discs over the window's upper end for a fail
    high, or ``below`` discs under its lower end for a fail low. The reduced search is tried only if the evaluation
    misses that end of the window by at most ``rough`` discs.
    """

    above: int
    below: int
    rough: int
    shallow: int


def stand_in(empties: int, depth: int) -> int:
    """Return the depth in plies of the reduced search that may replace a search of ``depth`` plies: about half of it.
    ``depth`` must be at least 3.

    If the replaced search ends before the game does, both depths are odd or both even, because the scores of odd and of
    even depths differ. A search to the end (``depth`` is ``empties`` or more) is replaced by one of even depth, which
    costs a third of the next odd depth and is hardly less reliable.
    """
    if depth >= empties:
        return max(2, (depth - 1) // 4 * 2)
    return (depth // 4) * 2 + depth % 2 or depth - 2


def table(errors: ErrorModel) -> array[int]:
    """Return the table that the kernels read at `PROBCUT_TABLE`, signed 16-bit numbers. Keep it while they read it.

    The table begins with `PROBCUT_DEPTHS` rows by depth, for searches that end before the game does. A row has the
    error of the reduced search on a full board, the error of the evaluation, the bias of the reduced search (all in
    1/128 disc), and the plies of the reduced search. Then as many rows for searches to the end, whose errors are those
    of `ErrorModel.sigma`. Then `PROBCUT_FACTORS` margins by selectivity index, in 1/128 of a standard error, and as
    many for searches to the end. Last, by empties, the factors of errors before the end, in 1/4096.

    Raises ArithmeticError or ValueError if a number does not fit 16 bits.
    """
    values = array("h", bytes(2 * PROBCUT_ROW * 3))
    far = errors._replace(empties_rate=0.0)
    for to_the_end, scale in ((False, far), (True, errors)):
        for depth in range(3, PROBCUT_DEPTHS):
            empties = depth if to_the_end else PROBCUT_DEPTHS
            shallow = stand_in(empties, depth)
            discs = scale.sigma(empties, depth, shallow), scale.sigma(empties, depth, 0), scale.bias(empties, depth)
            values.extend([*(round(_UNIT * value) for value in discs), shallow])
        if not to_the_end:
            values.extend([0] * PROBCUT_ROW * 3)
    for factors in (CONFIDENCE, CONFIDENCE_TO_THE_END):
        values.extend([*(round(_UNIT * factor) for factor in factors), *[0] * (PROBCUT_FACTORS - len(factors))])
    values.extend(round(_ONE * math.exp(-errors.empties_rate * empties)) for empties in range(PROBCUT_DEPTHS))
    return values


def cut(words: array[int], empties: int, depth: int, selectivity: SelectivityIndex) -> Cut:
    """Return the condition of a cut at a node of ``depth`` plies, as the compiled search reads it from ``words``, made
    by `table`. ``depth`` is at least 3 and at most ``empties``.
    """
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
    """Return the error model in the entry ``fields`` of a weights file's record; missing values are those of `DEFAULT`.

    Raises ValueError, with the reason, if ``fields`` is no object, has other names or values that are no numbers, or
    gives errors that `table` cannot hold.
    """
    if not isinstance(fields, dict) or not set(fields) <= set(_RECORD_KEYS):
        raise ValueError(f"the record's probcut is not an object of {', '.join(_RECORD_KEYS)}")
    for name, value in fields.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError(f"the record's probcut has {name} {json.dumps(value)[:40]}, expected a number")
    errors = DEFAULT._replace(**{_FIELDS[name]: value for name, value in fields.items()})
    try:
        table(errors)
    except (ArithmeticError, ValueError):
        raise ValueError("the record's probcut gives errors that are no numbers of discs up to 255") from None
    return errors
