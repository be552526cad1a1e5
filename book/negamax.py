"""Negamax over the whole book: scores, bounds and path counts from the leaves, as Edax computes them.

A move always leads to fewer empty squares and a pass to the same number with somebody to move, so one pass over the
positions in that order finds every child final. Positions that the opening does not reach are brought up to date
too (Edax leaves them as they were).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.engine.limits import level_limits

from .chunks import Records, address
from .compiled import kernels
from .options import Options
from .progress import Going, Stopped, silent, slices
from .record import MAX_LEVEL
from .storage.arena import ARENA
from .table import Table

_SLICE = 1 << 15
_STEP = 1 << 8
_LEVELS = 129
_TALLY = 133


class Bound(NamedTuple):
    """What a search at some level says with some number of empties: the margins of its score, and exactness."""

    lower: int
    upper: int
    exact: bool


def leaf_bound(level: int, empties: int, midgame_error: int, endcut_error: int) -> Bound:
    """The margins (discs, added to the score) of a leaf searched at ``level`` with ``empties`` squares left.

    A level below 0 counts as 0 and above 60 as 60. Midgame margins are shifted by the parity of depth and empties.
    """
    depth, percent = level_limits(min(max(level, 0), MAX_LEVEL), empties)[:2]
    if depth == empties:
        return Bound(0, 0, True) if percent == 100 else Bound(-endcut_error, endcut_error, False)
    bias = depth % 2 - empties % 2
    return Bound(-midgame_error - bias, midgame_error - bias, False)


@lru_cache(maxsize=8)
def _margins(midgame_error: int, endcut_error: int) -> npt.NDArray[np.int16]:
    table = np.zeros((_LEVELS, 65, 3), np.int16)
    for level in range(-1, MAX_LEVEL + 1):
        for empties in range(61):
            table[level + 1, empties] = leaf_bound(level, empties, midgame_error, endcut_error)
    table[MAX_LEVEL + 2 :] = table[MAX_LEVEL + 1]
    return table


def margins_of(options: Options) -> npt.NDArray[np.int16]:
    """`leaf_bound` of every level (-1..) and number of empties, as the kernels read it."""
    return _margins(options.midgame_error, options.endcut_error)


class Order:
    """The rows of a table from the end of the game to the opening; stale as soon as a row comes or goes."""

    def __init__(self, table: Table, going: Going = silent) -> None:
        self.rows: npt.NDArray[np.uint32] = ARENA.array(len(table), np.uint32)
        # Two words of statistics, where the 131 layers begin, and where to count: the block that negamax_rows wants.
        self.block: npt.NDArray[np.uint64] = np.zeros(134, np.uint64)
        for start, end in slices(len(table), _SLICE, "order", going):
            kernels().count_layers(table.context, start, end, address(self.block) + 16)
        np.cumsum(self.block[2:_TALLY], out=self.block[2:_TALLY])
        places = self.block.copy()
        for start, end in slices(len(table), _SLICE, "order", going):
            kernels().place_rows(table.context, start, end, address(self.rows), address(places) + 16)

    def __len__(self) -> int:
        return len(self.rows)

    def layers(self) -> list[tuple[int, int]]:
        """The non-empty ranges of `rows` whose positions do not depend on each other."""
        begins = self.block[2:_TALLY].tolist()
        return [(a, b) for a, b in itertools.pairwise(begins) if a < b]

    def downwards(self, stage: str, going: Going) -> Iterator[tuple[int, int]]:
        """Ranges of `rows` from the opening to the end of the game; ``going`` is told after each."""
        for start, end in slices(len(self), _SLICE, stage, going):
            yield len(self) - end, len(self) - start


_CHECK_ONLY = 8

Replaced = Callable[[npt.NDArray[np.int64], Records, Records], None]
"""Told of rows whose records changed: the rows, and their records before and after."""


def negamax(
    table: Table,
    options: Options,
    *,
    threads: int = 1,
    going: Going = silent,
    check_only: bool = False,
    tally: npt.NDArray[np.int64] | None = None,
) -> int:
    """Recompute score, bounds and counts of every position; human scores stay.

    With ``check_only`` nothing is changed: the answer is the number of positions that do not follow from their leaf
    and their children as they are.

    ``tally`` (`counts.Counts.tally`) is added to. Answers how many rows changed their score or bounds. After a stop
    some positions near the opening are out of date until the next run.
    """
    order = Order(table, going)
    margins = margins_of(options)
    order.block[0] = 0
    order.block[_TALLY] = address(tally) if tally is not None else 0

    rule = options.rule | (_CHECK_ONLY if check_only else 0)

    def run(start: int, end: int) -> int:
        return int(
            kernels().negamax_rows(
                table.context, address(order.rows), start, end, address(margins), rule, address(order.block)
            )
        )

    def run_all(pool: ThreadPoolExecutor | None, start: int, end: int) -> None:
        """One slice of one layer, on all threads."""
        bounds = [start + (end - start) * k // threads for k in range(threads + 1)]
        parts = list(itertools.pairwise(bounds))
        while parts:
            stopped = [run(a, b) for a, b in parts] if pool is None else list(pool.map(run, *zip(*parts, strict=True)))
            parts = [(at, b) for at, (_, b) in zip(stopped, parts, strict=True) if at < b]
            if parts:
                table.grow_wide()

    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    try:
        for first, last in order.layers():
            for start in range(first, last, _SLICE * threads):
                end = min(last, start + _SLICE * threads)
                run_all(pool, start, end)
                going("negamax", end, len(order))
    finally:
        if pool is not None:
            pool.shutdown()
    return int(order.block[0])


def negamax_from(
    table: Table, options: Options, touched: set[int], going: Going = silent, replaced: Replaced | None = None
) -> int | None:
    """Do what `negamax` does, in a table where everything but the ``touched`` rows and what depends on them is right.

    Only rows above a change are visited. Answers how many rows changed, None when it cannot be done this way: then
    `negamax` has to. After a stop ``touched`` says from where to go on.
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
            going("negamax", 0, 0)
    # As if no layer were empty: which ones are is not worth counting.
    block: npt.NDArray[np.uint64] = np.arange(_TALLY + 1, dtype=np.uint64)
    block[0] = block[_TALLY] = 0
    visited = 0
    while heap:
        layer = heapq.heappop(heap)
        rows = np.array(sorted(waiting.pop(layer)), np.uint32)
        before = table.records(rows.astype(np.int64)) if replaced is not None else None
        changed: npt.NDArray[np.uint8] = np.zeros(len(rows), np.uint8)
        block[1] = address(changed)
        done = 0
        while done < len(rows):
            done = int(
                kernels().negamax_rows(
                    table.context, address(rows), done, len(rows), address(margins), options.rule, address(block)
                )
            )
            if done < len(rows):
                table.grow_wide()
        if replaced is not None and before is not None:
            replaced(rows.astype(np.int64), before, table.records(rows.astype(np.int64)))
        try:
            for row in rows[changed != 0].tolist():
                if not wait_above(row):
                    return None
                visited += 1
                if visited % _STEP == 0:
                    going("negamax", visited, 0)
        except Stopped:
            # What changed has to tell the positions above; those that it told before are told again.
            touched.update(rows.tolist(), *waiting.values())
            raise
    return int(block[0])


def layer_of(table: Table, row: int) -> int:
    """Twice the empty squares, + 1 where the side to move has to pass: it falls along every link."""
    entry = table.entry(row)
    passing = not table.moves(entry.player, entry.opponent) and table.moves(entry.opponent, entry.player) != 0
    return 2 * entry.empties + passing


def reach(
    table: Table, roots: dict[int, int], *, best_only: bool = False, going: Going = silent
) -> npt.NDArray[np.uint8]:
    """A mark for each row, 0 where no root leads; ``roots`` maps rows to the marks they begin with.

    Without ``best_only`` marks are inherited. With it, mark 1 at a position says that its side to move plays only
    best moves while the other plays anything, mark 2 the reverse; 3 is both walks at once.
    """
    marks: npt.NDArray[np.uint8] = np.zeros(len(table), np.uint8)
    for row, mark in roots.items():
        marks[row] |= mark
    order, empties = Order(table, going), table.by_empties(going)
    places = address(order.rows), address(marks)
    for start, end in order.downwards("reach", going):
        kernels().reach_rows(table.context, *places, start, end, int(best_only), address(empties))
    return marks
