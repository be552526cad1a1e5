"""The score curve, which maps the sum of the weights to a score, as tables for the kernels.

A curve is a number A in discs, or None. The score of the sum s is A tanh(s / A) discs, or s itself without a curve. The
kernels read two tables by the absolute value of the sum; the score has the sum's sign. The search reads whole discs,
rounded and at most 63: a byte for each eighth of a disc. The unrounded evaluation reads scores of 16 bits, in 128ths of
a disc, at the eighths' borders, and interpolates. For sums beyond 128 discs, the tables' end, the search reads the
first table's last entry, and the unrounded evaluation continues the second table's last segment.
"""

from __future__ import annotations

import math
import struct
from array import array
from functools import cache

from desdaemon.engine.layout import CURVE_STEP_BITS, CURVE_STEPS

_STEP = 1 << CURVE_STEP_BITS
"""Width of a step in 128ths of a disc."""


def score(total: float, curve: float | None) -> float:
    """Return the score in discs for ``total``, a sum of weights in discs: ``curve`` * tanh(total / ``curve``), or
    ``total`` itself if ``curve`` is None.
    """
    return total if curve is None else curve * math.tanh(total / curve)


@cache
def table(curve: float | None) -> array[int]:
    """Return the two tables that the kernels read for a curve (`score`), one after the other, as an array of bytes. All
    callers share the array: do not change it.
    """
    # A step has the rounded score of the sum in its middle.
    middles = (score((_STEP * k + (_STEP - 1) / 2) / 128, curve) for k in range(CURVE_STEPS))
    discs = bytes(min(63, math.floor(middle + 0.5)) for middle in middles)
    borders = (round(128 * score(_STEP * k / 128, curve)) for k in range(CURVE_STEPS + 1))
    return array("B", discs + struct.pack(f"={CURVE_STEPS + 1}h", *borders))
