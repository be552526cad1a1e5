"""Negamax over the whole book: scores, bounds and path counts, computed from the leaves as Edax does.

A link always leads to a lower layer (`layer_of`): a move to fewer empty squares, a pass to a side that can move. So one
pass by rising layer is enough: when it comes to a position, the scores of its children are final. Positions that no
line from the initial position reaches are updated too; Edax leaves them as they were.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from desdaemon.book.memory.arena import ARENA
from desdaemon.engine.limits import endgame_steps
from desdaemon.protocol.system.executor import Executor

from .chunks import Bytes, Records, Rows, Words, address
from .layout import (
    LAYERS,
    LEVELS,
    MAX_LEVEL,
    NEGAMAX_CHANGED,
    NEGAMAX_FAULTS,
    NEGAMAX_FLAGS,
    NEGAMAX_TALLY,
    NEGAMAX_WORDS,
    NO_LEVEL,
    RULE_CHECK_ONLY,
    SQUARES,
    WORD,
)
from .options import BookOptions
from .passes import await_kernels, kernels
from .progress import ProgressCallback, WorkCancelled, no_progress, slices
from .table import BookTable, Filters

_SLICE = 1 << 15
_STEP = 1 << 8


@lru_cache(maxsize=8)
def _margins(midgame_error: int, endcut_error: int) -> npt.NDArray[np.int16]:
    table = np.zeros((LEVELS, SQUARES, 3), np.int16)
    for level in range(MAX_LEVEL + 1):
        row = table[level - NO_LEVEL]
        begin = 0
        for most, percent in endgame_steps(level):
            row[begin : most + 1] = (0, 0, 1) if percent == 100 else (-endcut_error, endcut_error, 0)
            begin = most + 1
        # With more empty squares the search is as deep as the level.
        for empties in (begin, begin + 1):
            bias = level % 2 - empties % 2
            row[empties::2] = (-midgame_error - bias, midgame_error - bias, 0)
    table[:-NO_LEVEL] = table[-NO_LEVEL]
    last = MAX_LEVEL - NO_LEVEL
    table[last + 1 :] = table[last]
    return table


def margins_of(options: BookOptions) -> npt.NDArray[np.int16]:
    """Return the margins of leaves as a table for the kernels, int16.

    First axis: level + 1; second axis: empty squares; third axis: what the lower and the upper bound add to the score,
    in discs, and 1 if the score is exact. A level below 0 counts as 0, above 60 as 60. Midgame margins are shifted by
    the parity of depth and empties.
    """
    return _margins(options.midgame_error, options.endcut_error)


class LayerOrder:
    """The rows of a table by rising layer (`layer_of`): from the end of the game to the opening.

    It is invalid as soon as a row is added or removed. ``filters`` are for look-ups in the table. The constructor
    verifies a mapped file and raises `Damaged` if the file is damaged.
    """

    def __init__(self, table: BookTable, progress: ProgressCallback = no_progress) -> None:
        await_kernels(progress)
        self.rows: npt.NDArray[np.uint32] = ARENA.array(len(table), np.uint32)
        self._begins: Words = np.zeros(LAYERS + 1, np.uint64)
        for start, end in slices(len(table), _SLICE, "order", progress):
            kernels().count_layers(table.context, start, end, address(self._begins))
        counts = self._begins[1:].reshape(SQUARES, 2).sum(1)
        self.filters: Filters = table.bare_filters(counts, progress)
        np.cumsum(self._begins, out=self._begins)
        places = self._begins.copy()
        for start, end in slices(len(table), _SLICE, "order", progress):
            rows, at = address(self.rows), address(places)
            kernels().place_rows(table.context, start, end, rows, at, self.filters.at)

    def __len__(self) -> int:
        return len(self.rows)

    def layers(self) -> list[tuple[int, int]]:
        """Return each layer as a range (start, end), end excluded, of places in ``rows``, from the end of the game on.
        No position depends on another of its layer.
        """
        begins = self._begins.tolist()
        return [(a, b) for a, b in itertools.pairwise(begins) if a < b]

    def downwards(self, stage: str, progress: ProgressCallback) -> Iterator[tuple[int, int]]:
        """Yield ranges (start, end), end excluded, of places in ``rows`` from the opening to the game's end. After
        each, ``progress`` is called with ``stage``.
        """
        for start, end in slices(len(self), _SLICE, stage, progress):
            yield len(self) - end, len(self) - start


def _block(tally: npt.NDArray[np.int64] | None = None) -> Words:
    """Return the words for the kernel `negamax_rows`, which adds counts to ``tally`` if it is given."""
    block: Words = np.zeros(NEGAMAX_WORDS, np.uint64)
    if tally is not None:
        block[NEGAMAX_TALLY // WORD] = address(tally)
    return block


Replaced = Callable[[npt.NDArray[np.int64], Records, Records], None]
"""Called after rows have changed, with the rows and their records before and after."""


class _Faults:
    """A buffer for the faults of leaves that `negamax_rows` finds, a byte for each of ``size`` places."""

    def __init__(self, size: int) -> None:
        self._kinds: Bytes = np.zeros(size, np.uint8)

    def begin(self, block: Words, start: int) -> None:
        """Set ``block`` so that `negamax_rows` writes faults into this buffer, from the place ``start`` on."""
        block[NEGAMAX_FAULTS // WORD] = address(self._kinds) - start

    def end(self, block: Words) -> None:
        """Set ``block`` so that `negamax_rows` records no faults."""
        block[NEGAMAX_FAULTS // WORD] = 0

    def collect(self) -> tuple[npt.NDArray[np.int64], Bytes]:
        """Return the places with a fault, counted from `begin`'s ``start``, and the faults' kinds; empty the buffer."""
        # numpy finds the true elements of a bool array many times faster than the bytes that are not 0.
        places = np.flatnonzero(self._kinds != 0)
        kinds = self._kinds[places]
        self._kinds.fill(0)
        return places, kinds


class FaultyRows:
    """The rows in which `negamax` finds faulty leaves; ``rows`` becomes None if there are more than ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.rows: set[int] | None = set()

    def add(self, rows: npt.NDArray[np.uint32]) -> None:
        """Add rows. If there are more than ``most``, ``rows`` becomes None for good."""
        if self.rows is None or len(self.rows) + len(rows) > self._most:
            self.rows = None
        else:
            self.rows.update(rows.tolist())


_Range = tuple[int, int]
_Each = Callable[[Callable[[int, int], int], list[_Range]], Iterable[int]]
"""Calls a function with each of some ranges; returns the results in order."""


@contextlib.contextmanager
def _pool(threads: int) -> Iterator[_Each]:
    """Return a context manager that yields a function of two arguments. It calls its first argument with each range in
    the second, on ``threads`` threads, and returns the results in order.
    """
    if threads == 1:
        yield lambda work, parts: [work(*part) for part in parts]
        return
    with Executor(threads) as pool:
        yield lambda work, parts: pool.map(work, *zip(*parts, strict=True))


def _parts(start: int, end: int, threads: int) -> list[_Range]:
    """Divide the numbers from ``start`` to ``end`` - 1 into ``threads`` ranges (start, end), end excluded, of about
    equal length.
    """
    return list(itertools.pairwise(start + (end - start) * k // threads for k in range(threads + 1)))


def negamax(
    table: BookTable,
    options: BookOptions,
    *,
    threads: int = 1,
    progress: ProgressCallback = no_progress,
    tally: npt.NDArray[np.int64] | None = None,
    faulty: FaultyRows | None = None,
) -> int:
    """Recompute all scores, bounds and counts. Scores set by hand stay; leaves that are now links are dropped.

    Counts are added to ``tally`` (`counts.Counts.tally`); ``faulty`` gets the rows with faulty leaves. Returns the
    number of rows whose score or bounds changed. After a cancellation positions near the opening are stale.
    """
    order = LayerOrder(table, progress)
    margins = margins_of(options)
    block = _block(tally)
    leaf_faults = _Faults(_SLICE * threads)
    places = address(margins), options.rule, order.filters.at, address(block)

    def run(start: int, end: int) -> int:
        return int(kernels().negamax_rows(table.context, address(order.rows), start, end, *places))

    def run_all(each: _Each, start: int, end: int) -> None:
        """Process a slice of a layer by all threads, growing the table of wide counts as needed."""
        parts = _parts(start, end, threads)
        while parts:
            parts = [(at, b) for at, (_, b) in zip(each(run, parts), parts, strict=True) if at < b]
            if parts:
                table.grow_wide()

    with _pool(threads) as each:
        for first, last in order.layers():
            for start in range(first, last, _SLICE * threads):
                end = min(last, start + _SLICE * threads)
                if faulty is not None:
                    leaf_faults.begin(block, start)
                run_all(each, start, end)
                if faulty is not None:
                    faulty.add(order.rows[start + leaf_faults.collect()[0]])
                    if faulty.rows is None:
                        leaf_faults.end(block)
                        faulty = None
                progress("negamax", end, len(order))
    return int(block[NEGAMAX_CHANGED // WORD])


def check(
    table: BookTable, options: BookOptions, *, threads: int = 1, progress: ProgressCallback = no_progress
) -> tuple[int, Rows]:
    """Verify a table's scores and leaves without changing it.

    Returns the number of rows whose score, bounds or counts do not follow from leaf and children, and the faulty
    leaves: int64 (n, 2), row and kind, in order of rows.
    """
    margins, filters, block = margins_of(options), table.filters(progress), _block()
    leaf_faults = _Faults(_SLICE * threads)
    faults = [np.empty((0, 2), np.int64)]
    places = address(margins), options.rule | RULE_CHECK_ONLY, filters.at, address(block)

    def run(start: int, end: int) -> int:
        return int(kernels().negamax_rows(table.context, 0, start, end, *places))

    with _pool(threads) as each:
        for start, end in slices(len(table), _SLICE * threads, "check", progress):
            leaf_faults.begin(block, start)
            list(each(run, _parts(start, end, threads)))
            rows, kinds = leaf_faults.collect()
            faults.append(np.stack([start + rows, kinds.astype(np.int64)], 1))
    return int(block[NEGAMAX_CHANGED // WORD]), np.concatenate(faults)


def negamax_from(
    table: BookTable,
    options: BookOptions,
    touched: set[int],
    progress: ProgressCallback = no_progress,
    replaced: Replaced | None = None,
) -> int | None:
    """Do as `negamax` does if only the ``touched`` rows, and all that depend on them, are stale.

    Only changed rows and their ancestors are visited. Returns the number of rows whose score or bounds changed; None if
    a row has too many parents to list, so that `negamax` is needed. ``replaced`` gets the rows visited, a layer at a
    time, with their old and new records. After a cancellation ``touched`` has the rows from which to continue.
    """
    margins = margins_of(options)
    waiting: dict[int, set[int]] = {}
    heap: list[int] = []

    def wait(row: int) -> None:
        layer = layer_of(table, row)
        if layer not in waiting:
            waiting[layer] = set()
            heapq.heappush(heap, layer)
        waiting[layer].add(row)

    def wait_above(row: int) -> bool:
        parents = table.parents(row)
        for parent in parents or ():
            wait(parent)
        return parents is not None

    for done, row in enumerate(touched):
        wait(row)
        if not wait_above(row):
            return None
        if done % _STEP == 0:
            progress("negamax", 0, 0)
    filters = Filters()
    block = _block()
    visited = 0
    while heap:
        layer = heapq.heappop(heap)
        rows = np.array(sorted(waiting.pop(layer)), np.uint32)
        old_records = table.records(rows.astype(np.int64)) if replaced is not None else None
        changed: npt.NDArray[np.uint8] = np.zeros(len(rows), np.uint8)
        block[NEGAMAX_FLAGS // WORD] = address(changed)
        places = address(margins), options.rule, filters.at, address(block)
        done = 0
        while done < len(rows):
            done = int(kernels().negamax_rows(table.context_for(rows), address(rows), done, len(rows), *places))
            if done < len(rows):
                table.grow_wide()
        if replaced is not None and old_records is not None:
            replaced(rows.astype(np.int64), old_records, table.records(rows.astype(np.int64)))
        try:
            for row in rows[changed != 0].tolist():
                if not wait_above(row):
                    return None
                visited += 1
                if visited % _STEP == 0:
                    progress("negamax", visited, 0)
        except WorkCancelled:
            # A change makes the positions above stale, even those that were marked before.
            touched.update(rows.tolist(), *waiting.values())
            raise
    return int(block[NEGAMAX_CHANGED // WORD])


def layer_of(table: BookTable, row: int) -> int:
    """Return a row's layer: twice the empty squares, + 1 if the side to move must pass. It falls along every link."""
    entry = table.entry(row)
    passing = not table.moves(entry.player, entry.opponent) and table.moves(entry.opponent, entry.player) != 0
    return 2 * entry.empties + passing


def reach(
    table: BookTable, roots: dict[int, int], *, best_only: bool = False, progress: ProgressCallback = no_progress
) -> npt.NDArray[np.uint8]:
    """Return a byte of marks for each row, 0 if none of ``roots`` leads to it; ``roots`` maps rows to their marks.

    Without ``best_only`` children inherit all marks. With it, mark 1 means that on some way to the row the side to move
    in it has played only best moves, mark 2 that the other side has, 3 both. So 1 and 2 change places at each link.
    """
    table.need_all()
    marks: npt.NDArray[np.uint8] = np.zeros(len(table), np.uint8)
    for row, mark in roots.items():
        marks[row] |= mark
    order = LayerOrder(table, progress)
    places = address(order.rows), address(marks)
    for start, end in order.downwards("reach", progress):
        kernels().reach_rows(table.context, *places, start, end, int(best_only), order.filters.at)
    return marks
