"""Arrays as kernels read them: addresses of data, and the chunks that hold the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .layout import CHUNK_BITS
from .record import COUNTS, FLAGS_KEPT

CHUNK_ROWS = 1 << CHUNK_BITS

Words: TypeAlias = npt.NDArray[np.uint64]
Rows: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Records: TypeAlias = npt.NDArray[Any]


class State(NamedTuple):
    """The parts of a table that are written to a file.

    These are the number of rows, the chunks of records, the index's segments and their descriptors, the wide path
    counts, uint64 (n, 4), and the chunks of game results.
    """

    rows: int
    chunks: list[Records]
    segments: list[Bytes]
    descriptors: Words
    wide: Words
    results: list[Records]


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of an array's data. It is valid only while the array exists."""
    return int(array.ctypes.data)


def addresses(chunks: list[Records]) -> Words:
    """Return the address of each of ``chunks``, of which there must be at least one. All but the last must lie one
    after another in memory.
    """
    places: Words = np.arange(len(chunks), dtype=np.uint64) * np.uint64(chunks[0].nbytes) + np.uint64(
        address(chunks[0])
    )
    places[-1] = address(chunks[-1])
    return places


SlotCount = TypeVar("SlotCount", int, npt.NDArray[np.int64])


def segment_bytes(capacity: SlotCount) -> SlotCount:
    """Return the bytes of an index segment of ``capacity`` slots: tags padded to a multiple of 8, then 32-bit rows."""
    return (capacity + 7) // 8 * 8 + 4 * capacity


def by_chunk(rows: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield three values for each chunk that holds some of ``rows``.

    They are the chunk's number, the indices in ``rows`` of the rows that it holds, and their places in the chunk.
    """
    if not len(rows):
        return
    order = np.argsort(rows, kind="stable")
    numbers, starts = np.unique(rows[order] >> CHUNK_BITS, return_index=True)
    for number, here in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, here, rows[here] & CHUNK_ROWS - 1


def without_counts(records: Records) -> Records:
    """Clear, in place, the path counts of ``records`` and the flags that mean nothing in another table.

    Returns ``records``.
    """
    for name in COUNTS:
        records[name] = 0
    records["flags"] &= FLAGS_KEPT
    return records
