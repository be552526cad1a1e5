"""`python tests/lab large_book ROWS`: the time and memory of every operation on a large book.

The book is synthetic: all positions ply by ply up to a number, with made-up leaves. It is saved, opened as at a start
of the program, and worked on like any other. The time of a step grows with the positions, so the last column
extrapolates it to the 660 million of the largest book known.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from synthetic_book import synthetic_book
from toys import create_store

from desdaemon.book.bench.cli import own_folder, show
from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.chunks import CHUNK_ROWS
from desdaemon.book.edax import file as edax
from desdaemon.book.editing.add import fix
from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.errors import BookError, within
from desdaemon.book.formats import ImportedBook
from desdaemon.book.growth.grow import deviate
from desdaemon.book.layout import PASS
from desdaemon.book.memory.arena import ARENA
from desdaemon.book.record import START
from desdaemon.book.storage.store import Store, open_store
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system import platform

LARGEST = 660_000_000

_SAMPLE_S = 0.05
_KEYS = 4_000_000
_LEVEL = 1


class BenchStep(NamedTuple):
    """An operation: its ``seconds`` of wall time and of ``processor`` time (of all threads), the peak ``memory`` (bytes
    that belong to no file) and ``resident`` memory (all that is in RAM, mapped files included) of the process, and the
    number of positions it worked on; ``whole`` where these are all.
    """

    name: str
    seconds: float
    processor: float
    memory: int
    resident: int
    positions: int
    whole: bool = True

    @property
    def extrapolated(self) -> float:
        """Seconds for the largest book."""
        return self.seconds * LARGEST / self.positions if self.whole else self.seconds

    def __str__(self) -> str:
        rate = f"{self.positions / self.seconds / 1e6:8.2f} M/s" if self.positions > 1 else " " * 12
        held = f"{self.memory / (1 << 30):6.2f} GiB {self.resident / (1 << 30):6.2f} GiB"
        shown = f"{self.name:<32} {self.seconds:8.3f} s {self.processor:8.3f} s {rate}  {held}"
        return f"{shown}  {self.extrapolated:9.1f} s" if self.whole else shown

    def data(self) -> dict[str, str | int | float | None]:
        """The figure as JSON data."""
        return {
            "name": self.name,
            "seconds": round(self.seconds, 6),
            "processor_s": round(self.processor, 6),
            "positions": self.positions,
            "memory_bytes": self.memory,
            "resident_bytes": self.resident,
            "largest_s": round(self.extrapolated, 3) if self.whole else None,
        }


def own_memory() -> int:
    """Return the bytes in RAM and swap that belong to no file; 0 if the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "VmSwap")))


@contextmanager
def highest() -> Iterator[list[int]]:
    """A context that measures the peaks of the process's own memory and of its resident memory, as a list of two."""
    found = [own_memory(), platform.resident_bytes()]
    over = threading.Event()

    def sample() -> None:
        while not over.wait(_SAMPLE_S):
            found[:] = max(found[0], own_memory()), max(found[1], platform.resident_bytes())

    thread = threading.Thread(target=sample, name="memory", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def _forget(path: Path) -> None:
    """Have the system drop its cached pages of a file, where it has a call for that."""
    with path.open("r+b") as stream:
        platform.sync(stream.fileno())
        if sys.platform == "linux":
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class _Large:
    def __init__(self, rows: int, folder: Path, threads: int) -> None:
        self.rows = rows
        self.threads = threads
        self.native, self.dat, self.back = (folder / name for name in ("large.book", "large.dat", "back.book"))
        self.count = 0

    def timed(self, name: str, work: Callable[[], object], positions: int = 0, *, whole: bool = True) -> BenchStep:
        """Measure a step; 0 ``positions`` are all."""
        with highest() as memory:
            begun, used = time.perf_counter(), time.process_time()
            work()
            seconds, used = max(time.perf_counter() - begun, 1e-9), time.process_time() - used
        own, resident = memory
        return BenchStep(name, seconds, used, own, resident, positions or self.count, whole)

    def made(self) -> Iterator[BenchStep]:
        """Make the book and save it."""
        kept: list[Book] = []
        step = self.timed("make up", lambda: kept.append(synthetic_book(self.rows, _LEVEL)), 1)
        book = kept.pop()
        self.count = len(book)
        yield step._replace(positions=self.count)
        book.forget_state()
        yield self.timed("negamax, one thread", book.negamax)
        book.forget_state()
        yield self.timed(f"negamax, {self.threads} threads", lambda: book.negamax(threads=self.threads))
        book.checked()
        yield self.timed("save", lambda: create_store(self.native, book).close())

    def opened(self) -> Iterator[BenchStep]:
        """Open it and work on it."""
        _forget(self.native)
        for state in ("cold", "warm"):
            kept: list[Store] = []
            found: list[int] = []

            def first(kept: list[Store] = kept, found: list[int] = found) -> None:
                kept.append(open_store(self.native, read_only=True))
                found.append(kept[0].book.table.find(*START))

            yield self.timed(f"open and first look-up, {state}", first, 1, whole=False)
            kept.pop().close()
            if found != [0]:
                raise BookError(f"{self.native}: the initial position is in row {found}, not 0")
        store = open_store(self.native)
        book, table = store.book, store.book.table
        yield self.timed("compare all checksums", table.check_all)
        rng = np.random.default_rng(1)
        rows = rng.integers(0, self.count, min(_KEYS, self.count))
        records = table.records(rows)
        yield self.timed("look-ups, batched", lambda: self._looked_up(book, rows, records), len(rows), whole=False)
        worker = Worker(Searches(), threads=self.threads)
        before = len(book)
        yield self.timed("deviate 0 1 at level 1", lambda: deviate(book, START, worker, 0, 1), 1, whole=False)
        self.grown = len(book) - before
        last = (self.count - 1) // CHUNK_ROWS
        leaf = last * CHUNK_ROWS + int(np.flatnonzero(table.chunk(last)["leaf_move"] <= PASS)[0])
        entry = table.entry(leaf)
        book.put(entry._replace(leaf_score=min(64, entry.leaf_score + 20)))
        yield self.timed("fix after one changed leaf", lambda: fix(book, worker), 1, whole=False)
        book.forget_state()
        yield self.timed("fix of everything", lambda: fix(book, worker))
        verdicts = []
        yield self.timed("verify", lambda: verdicts.append(verify(book, threads=self.threads)))
        if not verdicts[0].clean:
            raise BookError(f"{self.native}: not clean: {verdicts[0].problems}")
        self.count = len(book)
        yield self.timed("export .dat", lambda: edax.write(self.dat, book))
        store.close()

    def _looked_up(self, book: Book, rows: np.ndarray, records: np.ndarray) -> None:
        if not np.array_equal(book.table.rows_of(records), rows):
            raise BookError(f"{self.native}: a position was not found in its row")

    def converted(self) -> Iterator[BenchStep]:
        """Read the export and save it again."""
        kept: list[ImportedBook] = []
        yield self.timed("import .dat", lambda: kept.append(edax.read(self.dat)))
        loaded = kept.pop()
        if len(loaded.book) != self.count:
            raise BookError(f"{self.dat}: {len(loaded.book)} positions came back of {self.count}")
        self.dat.unlink()
        book = loaded.book
        yield self.timed("save what was imported", lambda: create_store(self.back, book).close())


def run(rows: int, folder: Path, *, memory: int = 0, threads: int = 2) -> Iterator[BenchStep]:
    """Measure with a book of ``rows`` positions; files are written to ``folder``. ``memory`` (0: any) is what
    tables may take of it (`arena.Arena.limit`)."""
    limit, place = ARENA.limit, ARENA.folder
    ARENA.limit, ARENA.folder = memory, folder
    large = _Large(rows, folder, threads)
    try:
        for part in (large.made, large.opened, large.converted):
            yield from part()
    finally:
        ARENA.limit, ARENA.folder = limit, place


def _bytes(text: str) -> int:
    """A number of bytes; K, M, G and T stand for powers of 1024."""
    unit = "KMGT".find(text[-1:].upper()) + 1
    number = int(text[:-1] if unit else text)
    if number < 0:
        raise ValueError
    return number << 10 * unit


def main(arguments: list[str]) -> int:
    """Print the figures; returns the exit status."""
    parser = Parser("lab large_book", description="Measure every operation on a synthetic book.")
    parser.add_argument("rows", type=int, help="positions of the book, 1000 or more")
    parser.add_argument("--memory", type=_bytes, default=0, help="what its tables may take of it, such as 8G (any)")
    parser.add_argument("--folder", type=Path, help="where its files are written and removed")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    named = parser.parse_args(arguments)
    within("rows", named.rows, 1000, 1 << 31)
    with own_folder(named.folder) as folder:
        figures = show(run(named.rows, folder, memory=named.memory), as_json=named.json)
    if named.json:
        sys.stdout.write(json.dumps({"rows": named.rows, "memory": named.memory, "figures": figures}) + "\n")
    return 0
