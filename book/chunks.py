"""Arrays as the kernels see them: where they lie, and the chunks that rows are in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .record import COUNTS, FLAGS_KEPT

CHUNK_BITS = 14
CHUNK_ROWS = 1 << CHUNK_BITS

Words = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Records = npt.NDArray[Any]


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's data begins."""
    return int(array.ctypes.data)


def by_chunk(rows: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """Chunks by number, which of ``rows`` are in each, and their places there."""
    if not len(rows):
        return
    order = np.argsort(rows, kind="stable")
    numbers, starts = np.unique(rows[order] >> CHUNK_BITS, return_index=True)
    for number, here in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, here, rows[here] & CHUNK_ROWS - 1


def without_counts(records: Records) -> Records:
    """The records, changed in place, without path counts and the flags that mean something in their table alone."""
    for name in COUNTS:
        records[name] = 0
    records["flags"] &= FLAGS_KEPT
    return records
