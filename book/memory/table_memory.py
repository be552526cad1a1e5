"""The memory of a table: chunks of records, segments of the index, path counts of 64 bits, game results.

`book/table.py` stores positions in it. A chunk is ordinary memory, a part of a mapped file, or lies in the arena.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book import layout
from desdaemon.book.chunks import (
    CHUNK_ROWS,
    Bytes,
    Records,
    State,
    Words,
    address,
    addresses,
    segment_bytes,
)
from desdaemon.book.errors import Damaged
from desdaemon.book.exports import kernels
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import RECORD, RESULT
from desdaemon.protocol.system import platform

from .arena import ARENA, PIECE
from .blocks import Blocks
from .files import MappedFile

SEGMENTS = 1 << layout.SEGMENT_BITS
MIN_SLOTS = 16
MAX_ROWS = (1 << 32) - 1

_ALONE = 8
"""Number of a table's first chunks that are allocated one by one; later ones lie in pieces of the arena."""

_BLOCK = 1 << 22
"""Least size in bytes of an index that is put into large pages."""

_SHARE = 8
"""The index is left where it is if it is larger than the machine's memory divided by this."""

_STRAYS = SEGMENTS // 4
"""Number of segments outside the index's block above which all are gathered again."""

_TURN_S = 0.002
PAUSE_S = 50e-6

# Words of the context that the kernels know a table by.
CHUNKS, COUNT, _SEGMENTS, _WIDE, WIDE_COUNT, _WIDE_CAPACITY, ROW_CAPACITY, _FULL, _RESULTS, _GUARD = (
    offset // layout.WORD
    for offset in (
        layout.CHUNKS,
        layout.COUNT,
        layout.SEGMENTS,
        layout.WIDE_TABLE,
        layout.WIDE_COUNT,
        layout.WIDE_CAPACITY,
        layout.ROW_CAPACITY,
        layout.FULL,
        layout.RESULTS,
        layout.GUARD,
    )
)


class Segments(NamedTuple):
    """An index to be adopted: each segment's memory, its tags' address, its number of slots, and how many are used."""

    memory: list[Bytes]
    tags: npt.NDArray[np.int64]
    capacities: npt.NDArray[np.int64]
    used: npt.NDArray[np.int64]


class TableMemory:
    """The memory of a `BookTable`. One thread at a time may change it; ``lock`` guards insertions and removals."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.removals = 0
        """Odd while rows are removed and renumbered, increased before and after."""
        self.guard: Blocks | None = None
        """Verifies a mapped file; None if nothing is mapped or all of it is verified."""
        self._kernels = kernels()
        self._context: Words = np.zeros(layout.CONTEXT_WORDS, np.uint64)
        self._own_context_at = address(self._context)
        self.mapped_file: MappedFile | None = None
        """The mapped file that rows and index are parts of, if any."""
        self._nothing: TableMemory | None = None
        """An empty table, for the kernels once the file was cut."""
        self._chunks: list[Records] = []
        self._pointers: Words = np.zeros(64, np.uint64)
        self._segments: list[Bytes] = []
        self._descriptors: Words = np.zeros((SEGMENTS, layout.SEGMENT_BYTES // layout.WORD), np.uint64)
        self._wide: Words = np.zeros((64, 4), np.uint64)
        self._results: list[Records] = []
        self._result_pointers: Words = np.zeros(0, np.uint64)
        self._scratch: Words = np.zeros(160, np.uint64)
        self._local = threading.local()
        self._guards: list[Blocks] = []
        self._piece: Bytes = np.zeros(0, np.uint8)
        """Memory for the next chunks, possibly too little for one."""
        self._mapped = False
        """Whether chunks are parts of a mapped file."""
        self._strays = SEGMENTS
        """Number of segments outside the index's block."""
        size = segment_bytes(MIN_SLOTS)
        memory = np.zeros(SEGMENTS * size, np.uint8)
        self._segments += [memory[at : at + size] for at in range(0, len(memory), size)]
        self._describe_all(address(memory) + size * np.arange(SEGMENTS), np.uint64(MIN_SLOTS), np.uint64(0))
        self._context[CHUNKS] = address(self._pointers)
        self._context[_SEGMENTS] = address(self._descriptors)
        self._context[_WIDE] = address(self._wide)
        self._context[_WIDE_CAPACITY] = len(self._wide)

    # ------------------------------------------------------------------------------------------------ damage

    def watch(self, guard: Blocks | None) -> None:
        """Let ``guard`` verify the memory of a mapped file before its first use; None: all counts as verified."""
        old_guard, self.guard = self.guard, guard
        self._context[_GUARD] = guard.at if guard is not None else 0
        if guard is not None:
            # A kernel may still use the guard when it is not needed any more.
            self._guards.append(guard)
        elif old_guard is not None:
            old_guard.end()

    @property
    def damage(self) -> Damaged | None:
        """The error of a file that was cut, or of the damaged block that was found first since it was opened; None if
        there is none.
        """
        damage = self.mapped_file.damage if self.mapped_file is not None else None
        return self.guard.damage if damage is None and self.guard is not None else damage

    def sound(self) -> None:
        """Raise `Damaged` if a block of the mapped file is damaged.

        Then nothing may be changed, and no statement about all positions is possible.
        """
        damage = self.damage
        if damage is not None:
            raise damage

    def need_all(self) -> None:
        """Raise `ReadOnly` if not all positions are in memory. What goes over all of them calls it first."""

    def check_all(self, progress: ProgressCallback = no_progress) -> None:
        """Verify all mapped memory, so that later uses of it need no verification. Raises `Damaged`."""
        self.need_all()
        self.sound()
        if self.guard is not None:
            self.guard.check_all(progress)
            self.count_index()
            self.sound()

    def count_index(self) -> None:
        """Compare the number of used slots of each index segment with the one that the file states; note damage if they
        differ.

        If all agree, verification ends (`watch` with None), so all blocks must have been verified before.
        """
        guard = self.guard
        if guard is None:
            return
        for number, _ in self._turns(SEGMENTS, 1):
            capacity, used = self._descriptors[number, 2:].tolist()
            if np.count_nonzero(self._segments[number][:capacity]) != used:
                guard.note_damage(address(self._segments[number]))
        if guard.damage is None:
            self.watch(None)

    def _ensure(self, array: npt.NDArray[Any]) -> None:
        """Verify the memory of ``array`` before its use. Raises `Damaged` if a block verified so far is damaged, or the
        file was cut.
        """
        self._whole_file()
        if self.guard is not None and len(array):
            self.guard.check(address(array), array.nbytes)

    def _compare(self, array: npt.NDArray[Any]) -> None:
        """Check, before a look-up, the checksums of the file blocks that hold ``array``.

        A damaged block is filled with zeros, which the look-up then reads. Raises `Damaged` if the file was cut.
        """
        self._whole_file()
        if self.guard is not None and len(array):
            self._kernels.check_range(self.guard.at, address(array), array.nbytes)

    def _whole_file(self) -> None:
        """Raise `Damaged` if the mapped file was cut: then none of its memory may be touched."""
        if self.mapped_file is not None and (damage := self.mapped_file.damage) is not None:
            raise damage

    @property
    def _context_at(self) -> int:
        """The address of the table's context; that of an empty table once the mapped file was cut."""
        if self.mapped_file is None or self.mapped_file.damage is None:
            return self._own_context_at
        if self._nothing is None:
            self._nothing = TableMemory()
        return self._nothing._own_context_at

    def _chunk_of(self, number: int) -> Records:
        chunk = self._chunks[number]
        self._ensure(chunk)
        return chunk

    def _results_in(self, number: int) -> Records:
        results = self._results[number]
        self._ensure(results)
        return results

    # ------------------------------------------------------------------------------------------------ memory

    def _describe_all(self, tags: npt.NDArray[Any], capacities: Any, used: Any) -> None:
        """Write all segments' descriptors for the kernels: addresses of tags, capacities, numbers of used slots."""
        capacities = np.asarray(capacities, np.int64)
        self._descriptors[:, 0] = tags
        self._descriptors[:, 1] = tags + (capacities + 7) // 8 * 8
        self._descriptors[:, 2] = capacities
        self._descriptors[:, 3] = used

    def _adopt_chunk(self, chunk: Records) -> None:
        self._pointers = _appended(self._pointers, self._chunks, chunk)
        self._context[CHUNKS] = address(self._pointers)
        self._context[ROW_CAPACITY] = len(self._chunks) * CHUNK_ROWS
        if self._results:
            self._add_result_chunk()

    def _add_chunk(self) -> None:
        if len(self._chunks) * CHUNK_ROWS + CHUNK_ROWS > MAX_ROWS:
            raise MemoryError(f"a book holds at most {MAX_ROWS} positions")
        self._adopt_chunk(self._fresh_chunk())

    def _fresh_chunk(self, *, in_file: bool | None = None) -> Records:
        if len(self._chunks) < _ALONE and not in_file:
            return np.zeros(CHUNK_ROWS, RECORD)
        size = CHUNK_ROWS * RECORD.itemsize
        if len(self._piece) < size:
            self._piece = ARENA.piece(PIECE, in_file=in_file)
        chunk, self._piece = self._piece[:size].view(RECORD), self._piece[size:]
        return chunk

    def change_all(self, progress: ProgressCallback = no_progress) -> None:
        """Prepare for changes of many records.

        Each changed record of a mapped file takes ordinary memory; so if all records would exceed the arena's limit,
        they are copied to files, which the system can write out. Raises `WriteFailed` if there is no room for these.
        """
        if not self._mapped or not ARENA.beyond(len(self._chunks) * CHUNK_ROWS * RECORD.itemsize):
            return
        self._piece = self._piece[:0]
        for number in range(len(self._chunks)):
            copied = self._fresh_chunk(in_file=True)
            copied[:] = self._chunk_of(number)
            with self.lock:
                self._chunks[number] = copied
                self._pointers[number] = address(copied)
            progress("copy", number * CHUNK_ROWS, len(self))
        self._mapped = False

    def _index_block(self, capacities: npt.NDArray[np.int64]) -> list[Bytes] | None:
        """Return zeroed memory for segments of these capacities, side by side in large pages, which speed up look-ups.

        Returns None if the index has less than `_BLOCK` bytes, is beyond the arena's limit, or would take more than
        1/`_SHARE` of the machine's memory.
        """
        sizes = segment_bytes(capacities)
        ends = np.cumsum(-(-sizes // layout.WORD) * layout.WORD)
        total = int(ends[-1])
        if total < _BLOCK or ARENA.beyond(total) or total * _SHARE > platform.physical_bytes():
            return None
        block = ARENA.piece(total, in_file=False)
        starts = [0, *ends[:-1].tolist()]
        return [block[at : at + size] for at, size in zip(starts, sizes.tolist(), strict=True)]

    def gather_index(self) -> None:
        """Copy the segments of the index into one block, also those of a mapped file, because every pass over the table
        reads all of it.

        Does nothing if the block has most segments, while a file is being verified, or if `_index_block` returns None.
        """
        if self._strays <= _STRAYS or self.guard is not None or self.damage is not None:
            return
        block = self._index_block(self._descriptors[:, 2].astype(np.int64))
        if block is None:
            return
        for number, _ in self._turns(SEGMENTS, 1):
            memory = block[number]
            memory[:] = self._segments[number]
            tags, capacity = address(memory), int(self._descriptors[number, 2])
            self._descriptors[number, :2] = tags, tags + (capacity + 7) // 8 * 8
            self._segments[number] = memory
        self._strays = 0

    def _resize_segment(self, number: int, capacity: int, memory: Bytes | None = None) -> None:
        """Copy a segment into ``memory`` (zeroed; None: new memory); ``capacity`` is its new number of slots."""
        if memory is None:
            memory = np.zeros(segment_bytes(capacity), np.uint8)
            self._strays += 1
        tags = address(memory)
        rows = tags + (capacity + 7) // 8 * 8
        self._kernels.rehash_segment(self._context_at, number, tags, rows, capacity)
        self._segments[number] = memory

    def grow(self, reason: int) -> None:
        """Make room as the answer of the kernel `insert_row` asks: `SEGMENT_FULL` or `CHUNK_MISSING`.

        Raises MemoryError beyond `MAX_ROWS` positions, and `WriteFailed` if the arena has no room.
        """
        if reason == layout.SEGMENT_FULL:
            number = int(self._context[_FULL])
            capacity = int(self._descriptors[number, 2])
            self._resize_segment(number, capacity + max(8, capacity // 5))
        else:
            self._add_chunk()

    def reserve(self, count: int) -> None:
        """Make the index large enough for ``count`` positions in all."""
        # The numbers of positions in segments differ by about the square root of their mean.
        share = count / SEGMENTS
        slots = int((share + 3 * share**0.5) / 0.8) + 1
        capacities = np.maximum(self._descriptors[:, 2].astype(np.int64), slots)
        if (capacities == self._descriptors[:, 2].astype(np.int64)).all():
            return
        block = self._index_block(capacities)
        for number, _ in self._turns(SEGMENTS, 1):
            capacity = int(capacities[number])
            if block is not None or capacity > int(self._descriptors[number, 2]):
                self._resize_segment(number, capacity, block[number] if block is not None else None)
        if block is not None:
            self._strays = 0

    def _turns(self, count: int, step: int, *, backwards: bool = False) -> Iterator[tuple[int, int]]:
        """Yield ranges (start, end), end excluded, of at most ``step`` numbers below ``count``; with ``backwards`` the
        last comes first. The lock is held while the caller works on a range, and after every `_TURN_S` a pause lets
        other threads have it.
        """
        starts = range(0, count, step)
        begun = time.perf_counter()
        for start in reversed(starts) if backwards else starts:
            with self.lock:
                yield start, min(count, start + step)
            if time.perf_counter() - begun > _TURN_S:
                # The lock is not fair: without a pause this thread would hold it all the time.
                time.sleep(PAUSE_S)
                begun = time.perf_counter()

    def grow_wide(self) -> None:
        """Double the number of positions that can have counts of 2^32 and more."""
        capacity = len(self._wide)
        wide = np.zeros((2 * capacity, 4), np.uint64)
        wide[:capacity] = self._wide
        self._wide = wide
        self._context[_WIDE] = address(wide)
        self._context[_WIDE_CAPACITY] = len(wide)
        self._context[WIDE_COUNT] = min(int(self._context[WIDE_COUNT]), capacity)

    def state(self) -> State:
        """Return the parts of this table, not copied: nothing may change while they are used. Raises `Damaged`."""
        self.check_all()
        with self.lock:
            wide = self._wide[: min(int(self._context[WIDE_COUNT]), len(self._wide))]
            return State(len(self), self._chunks, self._segments, self._descriptors, wide, self._results)

    def adopt(
        self,
        count: int,
        chunks: list[Records],
        segments: Segments | None,
        wide: Words,
        results: list[Records],
    ) -> None:
        """Take over the parts of a table with ``count`` rows, as `state` returns them. Without chunks, segments or
        results it keeps its own.

        All chunks but the last, of records and of results, must lie one after another in memory.
        """
        if chunks:
            self._mapped = True
            self._chunks = chunks
            self._pointers = addresses(chunks)
            self._context[CHUNKS] = address(self._pointers)
            self._context[ROW_CAPACITY] = len(chunks) * CHUNK_ROWS
        if segments is not None:
            self._segments, self._strays = segments.memory, SEGMENTS
            self._describe_all(segments.tags, segments.capacities, segments.used)
        self._wide = np.zeros((max(64, 2 * len(wide)), 4), np.uint64)
        self._wide[: len(wide)] = wide
        self._context[_WIDE] = address(self._wide)
        self._context[_WIDE_CAPACITY] = len(self._wide)
        self._context[WIDE_COUNT] = len(wide)
        if results:
            self._results = results
            self._result_pointers = addresses(results)
            self._context[_RESULTS] = address(self._result_pointers)
        self._context[COUNT] = count

    def become(self, other: TableMemory) -> None:
        """Take over the content of ``other``, with its rows' numbers; ``other`` must not be used afterwards."""
        self.removals += 1
        with self.lock:
            for name in ("_chunks", "_pointers", "_segments", "_descriptors", "_wide", "_results", "_result_pointers"):
                setattr(self, name, getattr(other, name))
            self._strays, self.mapped_file = other._strays, other.mapped_file
            self._context[:] = other._context
            # Look-ups hold the lock: none uses what is dropped, and a former file need not stay mapped.
            self._guards.clear()
            self.watch(other.guard)
            self._piece, self._mapped = other._piece, other._mapped
        self.removals += 1

    @property
    def memory(self) -> int:
        """Bytes of memory, or of mapped files, in use."""
        with self.lock:
            arrays = [*self._chunks, *self._segments, *self._results, self._pointers, self._descriptors, self._wide]
            return sum(array.nbytes for array in arrays)

    @property
    def balance(self) -> tuple[int, int, int]:
        """The fewest, the mean and the most positions in a segment of the index."""
        used = self._descriptors[:, 3]
        return int(used.min()), round(float(used.mean())), int(used.max())

    def __len__(self) -> int:
        return int(self._context[COUNT])

    @property
    def context(self) -> int:
        """The address of the table's context (`layout`), for the kernels. Raises `Damaged` in a damaged file.

        In a pass over many positions, read it again for each part, to notice damage.
        """
        self.need_all()
        self.sound()
        return self._context_at

    @property
    def context_at_places(self) -> int:
        """The address of the table's context, for kernels that walk along lines from a position.

        It does not raise: in a damaged file, positions of damaged blocks are not found.
        """
        return self._context_at

    def _add_result_chunk(self) -> None:
        self._result_pointers = _appended(self._result_pointers, self._results, np.zeros(CHUNK_ROWS, RESULT))
        self._context[_RESULTS] = address(self._result_pointers)

    def _drop_results(self, chunks: int, rows: int) -> None:
        """Keep the results of the first ``chunks`` chunks, and clear those of removed rows there: a later position may
        take their place. Before the removal there were ``rows`` rows.
        """
        if not self._results:
            return
        del self._results[chunks:]
        if self._results:
            first = (chunks - 1) * CHUNK_ROWS
            self._results_in(chunks - 1)[len(self) - first : rows - first] = 0
        else:
            # The kernels would write to memory that is no longer there.
            self._context[_RESULTS] = 0

    @property
    def keeps_results(self) -> bool:
        """Whether game results were ever stored; then every position takes 24 bytes more."""
        return bool(self._results)

    def _keep_results(self) -> None:
        with self.lock:
            while len(self._results) < len(self._chunks):
                self._add_result_chunk()


def _appended(pointers: Words, chunks: list[Records], chunk: Records) -> Words:
    """Append ``chunk`` to ``chunks``, and its address to ``pointers``, those of ``chunks``. Returns the pointers, which
    are copied if they have no room left: look-ups may still read the old ones.
    """
    place = len(chunks)
    if place == len(pointers):
        pointers = np.concatenate([pointers, np.zeros(max(64, place), np.uint64)])
    chunks.append(chunk)
    pointers[place] = address(chunk)
    return pointers
