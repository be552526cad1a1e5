"""Verification of a large book's mapped file: blocks are compared with their checksums before their first use.

Verifying a file of many gigabytes takes too long at opening. So `snapshot.read` gives the table a `Blocks`, and every
reader or writer of mapped memory, kernels and numpy alike, first verifies the blocks it uses (`kernels/blocks.py`); the
store's checker thread verifies the others in the background. A block that does not match is filled with zeros in
memory, so that nothing of it is used, and from then on the book refuses changes.
"""

from __future__ import annotations

import mmap
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.chunks import Bytes, address
from desdaemon.book.errors import Damaged
from desdaemon.book.exports import kernels
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.protocol.system import platform

_SLICE = 1 << 20
"""Number of bytes that `Blocks.check_some` verifies at a time."""


@cache
def crc_tables() -> npt.NDArray[np.uint32]:
    """Return uint32 (8, 256): entry (k, byte) is what a byte followed by k zero bytes adds to a CRC-32."""
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = tables[k - 1] >> 8 ^ tables[0, tables[k - 1] & 0xFF]
    return tables


class Blocks:
    """The state of verification of a mapped file's blocks.

    Any thread may call `check` and the kernels at any time. A damaged block is filled with zeros in memory; the first
    is noted (`damage`).
    """

    def __init__(
        self,
        path: Path,
        mapping: mmap.mmap,
        first: int,
        records_end: int,
        results: tuple[int, int],
        end: int,
        block: int,
        sums: npt.NDArray[np.uint32],
    ) -> None:
        """Blocks of ``block`` bytes lie in ``mapping`` from byte ``first`` to ``end``, with a checksum each in
        ``sums``. Records come first, up to byte ``records_end``; ``results`` is the range of bytes of the game results.

        Until the method `end` is called the system reads single pages as they are used, without read-ahead, which would
        read megabytes around each of the few pages that a first look-up needs.
        """
        self.path = path
        self._mapping = mapping
        self._first = first
        self._block = block
        self.size = end - first
        self._sums = np.ascontiguousarray(sums, np.uint32)
        self._states: Bytes = np.zeros(len(sums), np.uint8)
        self._tables = crc_tables()
        at = address(np.frombuffer(mapping, np.uint8))
        platform.read_single_pages(mapping, True)
        self._words: npt.NDArray[np.uint64] = np.zeros(layout.GUARD_WORDS, np.uint64)
        for place, value in {
            layout.GUARD_FIRST: at + first,
            layout.GUARD_END: at + end,
            layout.GUARD_SHIFT: block.bit_length() - 1,
            layout.GUARD_STATES: address(self._states),
            layout.GUARD_SUMS: address(self._sums),
            layout.GUARD_TABLES: address(self._tables),
            layout.GUARD_RECORDS_END: at + records_end,
            layout.GUARD_RESULTS: at + results[0],
            layout.GUARD_RESULTS_END: at + results[1],
        }.items():
            self._words[place // layout.WORD] = value
        self.at = address(self._words)
        """Address of the guard, for the kernels."""

    @property
    def left(self) -> int:
        """Number of blocks that are not verified yet."""
        return int(np.count_nonzero(self._states == layout.UNCHECKED))

    def __len__(self) -> int:
        return len(self._states)

    @property
    def damage(self) -> Damaged | None:
        """The error of the block that was first found to be damaged; None if there is none."""
        number = int(self._words[layout.GUARD_DAMAGED // layout.WORD])
        if not number:
            return None
        at = self._first + (number - 1) * self._block
        return Damaged(
            self.path,
            at,
            f"block {number - 1} ({self._block >> 10} KiB) does not match its checksum, or has impossible numbers: "
            "nothing of it is used, and the book cannot change; book salvage takes what is whole",
        )

    def check(self, at: int, size: int) -> None:
        """Verify the blocks that cover the ``size`` bytes (at least 1) of memory from the address ``at`` on.

        Raises `Damaged` if any block verified so far is damaged.
        """
        if size >= mmap.PAGESIZE:
            start = at - int(self._words[layout.GUARD_FIRST // layout.WORD])
            platform.read_soon(self._mapping, self._first + start, size)
        kernels().check_range(self.at, at, size)
        damage = self.damage
        if damage is not None:
            raise damage

    def note_damage(self, at: int) -> None:
        """Note the block of the address ``at`` as damaged, unless another was noted before."""
        kernels().note_damage(self.at, at)

    def end(self) -> None:
        """Let the system read ahead again, because everything is verified."""
        platform.read_single_pages(self._mapping, False)

    def check_some(self, start: int) -> int:
        """Verify the next part of the file, from byte ``start`` behind the header on; return the byte where the part
        ends, `size` at the end of the file. Raises nothing: see `damage`.
        """
        end = min(self.size, start + _SLICE)
        platform.read_soon(self._mapping, self._first + start, end - start)
        kernels().check_range(self.at, int(self._words[layout.GUARD_FIRST // layout.WORD]) + start, end - start)
        return end

    def check_all(self, progress: ProgressCallback = no_progress) -> None:
        """Verify all blocks. Raises `Damaged` if one is damaged."""
        done = 0
        while done < self.size:
            done = self.check_some(done)
            progress("check", done, self.size)
        damage = self.damage
        if damage is not None:
            raise damage
