"""How fast a book is on this machine: `python -m desdaemon.book.bench [plies]`.

The book is that of all positions up to some plies, with made-up scores. Look-ups, negamax and other
programs' files are timed in processor time of one thread; our own file in wall time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import edax, egaroucid, snapshot
from .add import enumerate_book
from .book import Book
from .errors import within
from .options import Options
from .record import START


class Measure(NamedTuple):
    """One figure: of ``positions`` worked on in ``seconds``, or memory in bytes a position where that is None."""

    name: str
    positions: int
    seconds: float | None
    bytes_per_position: float = 0.0

    def __str__(self) -> str:
        if self.seconds is None:
            return f"{self.name:<34} {self.bytes_per_position:8.1f} bytes a position"
        rate = self.positions / self.seconds / 1e6
        return f"{self.name:<34} {self.seconds:8.3f} s  {rate:8.2f} M positions/s"


def _timed(clock: Callable[[], float], work: Callable[[], object]) -> float:
    begun = clock()
    work()
    return max(clock() - begun, 1e-9)


def _lookups(book: Book, rng: np.random.Generator) -> Measure:
    keys = rng.permutation(book.table.keys())
    return Measure("random look-ups", len(book), _timed(time.thread_time, lambda: book.table.find_many(keys)))


def run(plies: int, folder: Path) -> Iterator[Measure]:
    """Measure with the book of all positions up to ``plies`` (1..12); files are written to ``folder``."""
    within("plies", plies, 1, 12)
    begun = time.thread_time()
    book = enumerate_book(plies, Options(level=10, min_empties=60 - plies))
    count = len(book)
    yield Measure("enumerate", count, time.thread_time() - begun)
    rng = np.random.default_rng(1)
    for chunk in book.table.chunks():
        chunk["level"] = chunk["leaf_level"] = 10
    yield Measure("memory", count, None, book.table.memory / count)
    yield _lookups(book, rng)
    for chunk in book.table.chunks():
        chunk["score"] = rng.integers(-20, 20, len(chunk))
    yield Measure("link and negamax, one thread", count, _timed(time.thread_time, book.negamax))
    book.forget_state()
    yield Measure("link and negamax, two threads", count, _timed(time.perf_counter, lambda: book.negamax(threads=2)))
    native, dat, egbk3 = (folder / name for name in ("bench.book", "bench.dat", "bench.egbk3"))
    clock = time.perf_counter
    yield Measure(
        "save, own format", count, _timed(clock, lambda: snapshot.write(native, book.table, book.options, 1, 0))
    )
    yield Measure("load, own format, all checked", count, _timed(clock, lambda: snapshot.read(native)))

    def first_lookup() -> None:
        snapshot.read(native, check=False).table.find(*START)

    yield Measure("open and first look-up", 1, _timed(clock, first_lookup))
    clock = time.thread_time
    yield Measure("export .dat", count, _timed(clock, lambda: edax.write(dat, book.table, book.options)))
    yield Measure("import .dat", count, _timed(clock, lambda: edax.read(dat)))
    yield Measure("export .egbk3", count, _timed(clock, lambda: egaroucid.write(egbk3, book)))
    yield Measure("import .egbk3", count, _timed(clock, lambda: egaroucid.read(egbk3)))


def main(arguments: list[str]) -> int:
    """Print the figures for the book up to ``arguments[0]`` plies (9)."""
    plies = int(arguments[0]) if arguments else 9
    with tempfile.TemporaryDirectory() as folder:
        for measure in run(plies, Path(folder)):
            sys.stdout.write(f"{measure}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
