"""The metadata of weights that a search needs: the score curve, and the error model of ProbCut.

Both are entries of the weights file's record, with defaults if absent or null. In the cache folder they stand before
the expanded weights, as JSON padded with zero bytes.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from desdaemon.engine.probcut import ErrorModel, model_of

LEAST_CURVE, GREATEST_CURVE = 30, 1000

BYTES = 4096
"""Size of the metadata in the cache folder, in bytes."""


class WeightsMetadata(NamedTuple):
    """The score curve and the error model that belong to one set of weights."""

    curve: float | None = None
    """The score of a sum of weights, s discs, is curve * tanh(s / curve) discs; None stands for a score of s."""
    probcut: ErrorModel | None = None
    """The error model of shallow searches with these weights; None stands for `probcut.DEFAULT`."""


def of_record(record: dict[str, Any]) -> WeightsMetadata:
    """Return the metadata in a weights file's record. Raises ValueError, with the reason, for unusable values."""
    curve, errors = record.get("curve"), record.get("probcut")
    if curve is not None:
        number = isinstance(curve, int | float) and not isinstance(curve, bool)
        # A comparison with NaN is false.
        if not number or not LEAST_CURVE <= curve <= GREATEST_CURVE:
            expected = f"a number of discs from {LEAST_CURVE} to {GREATEST_CURVE}, or null"
            raise ValueError(f"the record's curve is {json.dumps(curve)[:40]}, expected {expected}")
        curve = float(curve)
    return WeightsMetadata(curve, None if errors is None else model_of(errors))


def to_record(metadata: WeightsMetadata) -> dict[str, Any]:
    """Return the record's entries for the metadata that are not None."""
    entries: dict[str, Any] = {} if metadata.curve is None else {"curve": metadata.curve}
    return entries if metadata.probcut is None else {**entries, "probcut": metadata.probcut.to_record()}


def packed(metadata: WeightsMetadata) -> bytes:
    """Return the metadata as `BYTES` bytes for the cache folder."""
    return json.dumps(to_record(metadata)).encode().ljust(BYTES, b"\0")


def unpacked(content: bytes) -> WeightsMetadata:
    """Return the metadata in ``content``, which `packed` made. Raises ValueError for anything else."""
    record = json.loads(content.rstrip(b"\0"))
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return of_record(record)
