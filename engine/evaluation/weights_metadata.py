"""What a weights file says about its weights besides them: the score curve, and the error model of ProbCut.

Both are entries of the file's record, absent or null where the weights have none of their own. The engine gets them
with the weights, also from the cache folder, where they follow the expanded weights as JSON padded with zero bytes.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from desdaemon.engine.probcut import ErrorModel, model_of

LEAST_CURVE, GREATEST_CURVE = 30, 1000

BYTES = 4096
"""Room of the traits after the expanded weights."""


class Traits(NamedTuple):
    """Of one set of weights."""

    curve: float | None = None
    """A sum of weights s (discs) means a score of curve * tanh(s / curve) discs; None: of s itself."""
    probcut: ErrorModel | None = None
    """How far shallow searches with these weights err; None: as the model that comes with the program says."""


def of_record(record: dict[str, Any]) -> Traits:
    """The traits in a weights file's record; ValueError with the reason for values that can't be used."""
    curve, errors = record.get("curve"), record.get("probcut")
    if curve is not None:
        number = isinstance(curve, int | float) and not isinstance(curve, bool)
        # A comparison with NaN is false.
        if not number or not LEAST_CURVE <= curve <= GREATEST_CURVE:
            expected = f"a number of discs from {LEAST_CURVE} to {GREATEST_CURVE}, or null"
            raise ValueError(f"the record's curve is {json.dumps(curve)[:40]}, expected {expected}")
        curve = float(curve)
    return Traits(curve, None if errors is None else model_of(errors))


def to_record(traits: Traits) -> dict[str, Any]:
    """The entries of a record that say the same, none for what is None."""
    told: dict[str, Any] = {} if traits.curve is None else {"curve": traits.curve}
    return told if traits.probcut is None else {**told, "probcut": traits.probcut._asdict()}


def packed(traits: Traits) -> bytes:
    """For the cache folder: BYTES bytes."""
    return json.dumps(to_record(traits)).encode().ljust(BYTES, b"\0")


def unpacked(content: bytes) -> Traits:
    """What `packed` was given; ValueError when it is something else."""
    record = json.loads(content.rstrip(b"\0"))
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return of_record(record)
