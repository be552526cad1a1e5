"""`python tests/lab book_looks N`: what a look-up takes while a book of N positions is worked on.

The book is synthetic and has a journal. Each pass runs on the main thread as a job's does; meanwhile another thread,
with the interpreter's settings of a server, looks positions up as a client's `book.get` does, without grades. Then the
process that writes to it is killed, and the book opened again; and `deviate` is given budgets. Prints a table; with
`--packed M` also that of `packed_book M`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from synthetic_book import synthetic_book
from toys import create_store

from desdaemon.book.bench.cli import own_folder
from desdaemon.book.book import Book
from desdaemon.book.changes import GivenCommand
from desdaemon.book.editing.add import fix
from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.editing.shrink import cut
from desdaemon.book.formats import registry
from desdaemon.book.growth.grow import deviate
from desdaemon.book.record import START
from desdaemon.book.reports.compare import merge
from desdaemon.book.storage.store import open_store
from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.protocol.command_line import Parser, whole

from . import packed_book

SWITCH_S = 0.0001
"""Switch interval of the interpreter, as in a server."""

_PAUSE_S = 0.002
_KEYS = 50_000
_LEVEL = 1
_WRITER = """
import sys
from pathlib import Path
from desdaemon.book.storage.store import open_store
store = open_store(Path(sys.argv[1]))
rows = len(store.book)
print("ready", flush=True)
number = 0
while True:
    entry = store.book.table.entry(number * 7919 % rows)
    store.book.put(entry._replace(leaf_score=max(-64, entry.leaf_score - 1)))
    number += 1
    if number % 1000 == 0:
        store.commit()
        print(number, flush=True)
"""


@contextmanager
def _looking(book: Book) -> Iterator[list[float]]:
    """A context in which another thread looks up; the list gets the seconds of each look-up."""
    books = Books(BookJobs())
    books.opened = registry.Opened(book, None, registry.NATIVE, [])
    rows = np.random.default_rng(3).integers(0, len(book.table), _KEYS)
    records = book.table.records(rows)
    keys = list(zip(records["player"].tolist(), records["opponent"].tolist(), strict=True))
    rng, over = random.Random(4), threading.Event()
    found: list[float] = []

    def look() -> None:
        while not over.wait(_PAUSE_S):
            begun = time.perf_counter()
            books.look_up(*rng.choice(keys))
            found.append(time.perf_counter() - begun)

    thread = threading.Thread(target=look, name="looks", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def _row(name: str, seconds: float, found: list[float], more: str = "") -> str:
    p50, p95, most = (1000 * float(value) for value in np.quantile(found or [0.0], (0.5, 0.95, 1.0)))
    return f"| {name} | {seconds:.1f} s | {len(found):,} | {p50:.2f} | {p95:.2f} | {most:.1f} | {more} |"


def _killed(path: Path) -> str:
    """Kill a process that writes to a book; return what opening it again takes."""
    child = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(21)]
    child.kill()
    child.wait()
    begun = time.perf_counter()
    store = open_store(path)
    seconds = time.perf_counter() - begun
    entry = store.book.entry(*START)
    store.close()
    return f"| killed after {lines[-1].strip()} changes, opened again | {seconds:.2f} s | | | | | {bool(entry)} |"


def run(positions: int, folder: Path) -> Iterator[str]:
    """Make the book and work on it; yield the rows of the table."""
    path, other = folder / "lab.book", folder / "other.book"
    book = synthetic_book(positions, _LEVEL)
    create_store(path, book).close()
    half = synthetic_book(positions // 2, _LEVEL + 1)
    registry.write_native(other, half)
    begun = time.perf_counter()
    store = open_store(path)
    yield f"| opened | {time.perf_counter() - begun:.2f} s | | | | | {len(store.book):,} positions |"
    book = store.book
    with _looking(book) as found:
        time.sleep(3)
    yield _row("nothing", 3, found)
    worker = Worker(Searches(), threads=1)

    def stale() -> None:
        book.forget_state()

    def merged() -> str:
        with registry.reading(other) as theirs:
            done = merge(book, theirs)
        return f"{done.added:,} added, {done.replaced:,} replaced"

    def budgeted(room: int) -> str:
        limited = Worker(Searches(), threads=1)
        limited.room = room
        outcome = deviate(book, START, limited, 2, 4)
        return f"{outcome.added} added"

    passes: tuple[tuple[str, Callable[[], None], Callable[[], object]], ...] = (
        ("negamax", stale, book.negamax),
        ("fix", stale, lambda: fix(book, worker)),
        ("merge", lambda: None, merged),
        ("backup", lambda: None, lambda: registry.write_native(folder / "copy.book", book)),
        ("deviate 0 1", lambda: None, lambda: deviate(book, START, worker, 0, 1)),
        *((f"deviate 2 4, at most {room} positions", lambda: None, lambda r=room: budgeted(r)) for room in (25, 5, 2)),
        ("cut", lambda: None, lambda: cut(book, book.options.depth - 1)),
    )
    for name, before, work in passes:
        before()
        store.book.recorder.begin(GivenCommand(name, "", time.time()))
        with _looking(book) as found:
            begun = time.perf_counter()
            result = work()
            seconds = time.perf_counter() - begun
        yield _row(name, seconds, found, result if isinstance(result, str) else "")
    begun = time.perf_counter()
    store.fold()
    store.close()
    yield f"| closed | {time.perf_counter() - begun:.2f} s | | | | | |"
    yield _killed(path)


def main(arguments: list[str]) -> int:
    """Print the table; returns the exit status."""
    parser = Parser("lab book_looks", description="Look-ups during passes over a synthetic book, budgets, a kill.")
    parser.add_argument("positions", type=whole(10_000, 1 << 31), help="positions of the book, 10000 or more")
    parser.add_argument("--packed", type=int, metavar="M", help="positions of a packed book to measure besides")
    parser.add_argument("--folder", type=Path, help="where its files are written and removed")
    named = parser.parse_args(arguments)
    packed = [] if named.packed is None else [str(packed_book.checked(named.packed))]
    sys.setswitchinterval(SWITCH_S)
    sys.stdout.write(
        "| | time | look-ups | p50, ms | p95, ms | longest, ms | |\n| --- | --- | --- | --- | --- | --- | --- |\n"
    )
    with own_folder(named.folder) as folder:
        for line in run(named.positions, folder):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    if packed:
        sys.stdout.write("\n")
        return packed_book.main([*packed, *(["--folder", str(named.folder)] if named.folder else [])])
    return 0
