"""`python tests/lab packed_book N`: the size of a packed book of N positions, and what opening and look-ups take.

The positions are those of lines to the deepest ply: of each ply some are drawn, and all their children added, so that
the book is as broad and as deep as one that has grown. Scores and leaves are made up. The positions are packed as they
are sorted, without a book in memory, which 16 bytes a position take. The look-ups of a cold file go over other pages
each, which the system has dropped before; the last column extrapolates to `LARGEST` positions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from desdaemon.book.bench.cli import own_folder
from desdaemon.book.chunks import Records, Words
from desdaemon.book.errors import BookError, within
from desdaemon.book.layout import PACKED_ROW, PACKED_ROW_BITS
from desdaemon.book.options import BookOptions
from desdaemon.book.packed.file import PackedFile, in_order, keys_of, writing
from desdaemon.book.packed.table import PackedTable, open_mapped
from desdaemon.book.record import START, unsearched
from desdaemon.book.table import BookTable
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system import platform

LARGEST = 1_000_000_000

_FIRST, _LAST = 8, 38
"""The plies of which positions are drawn; of those before all are taken."""
_LEVEL = 21
_WARM, _COLD, _SHOWN = 1_000_000, 4_000, 20_000
_SLICE = 1 << 18


def _layers(positions: int, rng: np.random.Generator) -> Iterator[Words]:
    """Yield the positions of each ply, uint64 (n, 2): ``positions`` in all, or as many as there are."""
    layer: Words = np.array([START], np.uint64)
    left = positions
    for ply in range(_LAST + 1):
        yield layer[:left]
        left -= min(left, len(layer))
        if not left or ply == _LAST:
            return
        wanted = left // (_LAST - ply) // 8
        if ply >= _FIRST and len(layer) > wanted:
            layer = layer[rng.permutation(len(layer))[:wanted]]
        table = BookTable()
        table.insert_records(unsearched(layer, 0))
        drawn = len(table)
        table.insert_children(0, drawn)
        keys = table.keys()[drawn:]
        layer = keys[rng.permutation(len(keys))]


def _filled(keys: Words, rng: np.random.Generator) -> Records:
    """Return records of positions with made-up scores and leaves, as in a book of level `_LEVEL`."""
    number = len(keys)
    records = unsearched(keys, _LEVEL)
    scores = np.clip(rng.normal(0, 8, number), -64, 64).astype(np.int8)
    margin = np.where(rng.random(number) < 0.7, 2, 1).astype(np.int8)
    records["score"], records["lower"], records["upper"] = scores, scores - margin, scores + margin + (scores & 1)
    below = np.where(rng.random(number) < 0.7, 0, rng.geometric(0.3, number)).astype(np.int64)
    leaf = rng.random(number) < 0.98
    records["leaf_move"][leaf] = rng.integers(0, 64, number)[leaf]
    records["leaf_score"][leaf] = np.maximum(scores - below, -64)[leaf]
    records["leaf_level"][leaf] = _LEVEL
    return records


def make(path: Path, positions: int) -> int:
    """Write a packed book of about ``positions`` positions, and return their number."""
    rng = np.random.default_rng(1)
    keys: Words = np.empty((positions, 2), np.uint64)
    done = 0
    for layer in _layers(positions, rng):
        keys[done : done + len(layer)] = layer
        done += len(layer)
    keys = keys[:done]
    order_keys: Words = np.empty_like(keys)
    for start in range(0, done, _SLICE):
        order_keys[start : start + _SLICE] = keys_of(unsearched(keys[start : start + _SLICE], 0))
    order = in_order(order_keys)
    with writing(path, BookOptions(level=_LEVEL, min_empties=60 - _LAST)) as writer:
        for start in range(0, done, _SLICE):
            rows = order[start : start + _SLICE]
            writer.add(order_keys[rows], _filled(keys[rows], rng))
    return done


def _forget(path: Path) -> None:
    """Have the system drop its cached pages of a file, where it has a call for that."""
    with path.open("r+b") as stream:
        platform.sync(stream.fileno())
        if sys.platform == "linux":
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _sample(file: PackedFile, number: int) -> Words:
    """Return positions of a file, drawn evenly, in no order."""
    pages = np.random.default_rng(2).integers(0, file.header.pages, number)
    found = [file.record(PACKED_ROW + (int(page) << PACKED_ROW_BITS))[["player", "opponent"]] for page in pages]
    return np.concatenate(found).view(np.uint64).reshape(-1, 2)


def _timed(keys: Words, path: Path, *, batched: bool = False) -> tuple[float, float]:
    """Open a file and look up positions that it has. Returns the seconds of the opening, and those of the look-ups."""
    begun = time.perf_counter()
    book, _ = open_mapped(path)
    opened = time.perf_counter()
    table = book.table
    if batched:
        assert isinstance(table, PackedTable)
        found = int(np.count_nonzero(table.file.find_many(keys) >= 0))
    else:
        found = sum(book.entry(player, opponent) is not None for player, opponent in keys.tolist())
    if found != len(keys):
        raise BookError(f"{path}: {len(keys) - found} positions were not found")
    return opened - begun, time.perf_counter() - opened


def run(positions: int, folder: Path) -> Iterator[str]:
    """Make a packed book and measure it; yield lines of a table."""
    path = folder / "lab.packed"
    begun = time.perf_counter()
    count = make(path, positions)
    seconds = time.perf_counter() - begun
    size = path.stat().st_size
    yield f"| made, of {count:,} positions | {seconds:.1f} s, {count / seconds:,.0f} positions a second | |"
    yield f"| size | {size:,} bytes, {size / count:.2f} a position | {size / count * LARGEST / 1e9:.1f} GB |"
    file = PackedFile(path)
    directory = file.header.pages * 16
    yield f"| of it in memory | {directory:,} bytes | {directory / count * LARGEST / 1e6:.0f} MB |"
    warm, cold = _sample(file, _WARM), _sample(file, _COLD)
    del file
    _timed(warm, path, batched=True)
    opening, batched = _timed(warm, path, batched=True)
    _, single = _timed(warm[:_SHOWN], path)
    _forget(path)
    cold_opening, cold_s = _timed(cold, path)
    yield f"| opened, warm | {1000 * opening:.1f} ms | {1000 * opening * LARGEST / count:.0f} ms |"
    yield f"| opened, cold | {1000 * cold_opening:.1f} ms | {1000 * cold_opening * LARGEST / count:.0f} ms |"
    yield f"| look-ups a second, warm, many at once | {len(warm) / batched:,.0f} | the same |"
    yield f"| look-ups a second, warm, with the entry in Python | {_SHOWN / single:,.0f} | the same |"
    yield f"| look-ups a second, cold, one after another | {len(cold) / cold_s:,.0f} | the same |"


def checked(positions: int) -> int:
    """Return the number of positions. Raises `OutOfRange`."""
    return within("positions", positions, 1000, LARGEST)


def main(arguments: list[str]) -> int:
    """Print the table; returns the exit status."""
    parser = Parser("lab packed_book", description="Size and look-ups of a packed book.")
    parser.add_argument("positions", type=int, help="positions of the book, 1000 or more")
    parser.add_argument("--folder", type=Path, help="where its file is written and removed")
    named = parser.parse_args(arguments)
    checked(named.positions)
    sys.stdout.write(f"| | here | {LARGEST:,} positions, by reckoning |\n| --- | --- | --- |\n")
    with own_folder(named.folder) as folder:
        for line in run(named.positions, folder):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return 0
