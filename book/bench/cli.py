"""`desdaemon bench book`: the speed of the book on this machine, and the memory for a position.

The book has all positions up to some plies, with made-up scores. Work of one thread is measured in processor time,
files and threads in wall time; each figure is the median of some runs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from desdaemon.book.book import Book
from desdaemon.book.chunks import Words
from desdaemon.book.edax import file as edax
from desdaemon.book.editing.add import enumerate_book
from desdaemon.book.egaroucid import file as egaroucid
from desdaemon.book.errors import within
from desdaemon.book.formats import text
from desdaemon.book.layout import NO_LEVEL, NO_MOVE, NO_SCORE
from desdaemon.book.options import BookOptions
from desdaemon.book.record import RECORD, START
from desdaemon.book.storage import snapshot
from desdaemon.book.summary import summary
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.system import folders


class Figure(Protocol):
    """A figure that can be printed, and that ``data`` turns into JSON data."""

    def data(self) -> dict[str, str | int | float | None]: ...


class Measure(NamedTuple):
    """``positions`` processed in ``seconds``; if ``seconds`` is None, a number of bytes of memory for each position."""

    name: str
    positions: int
    seconds: float | None
    bytes_per_position: float = 0.0

    def __str__(self) -> str:
        if self.seconds is None:
            return f"{self.name:<37} {self.bytes_per_position:8.1f} bytes a position"
        if self.positions == 1:
            return f"{self.name:<37} {self.seconds:8.3f} s"
        rate = self.positions / self.seconds / 1e6
        return f"{self.name:<37} {self.seconds:8.3f} s  {rate:8.2f} M positions/s"

    def data(self) -> dict[str, str | int | float | None]:
        if self.seconds is None:
            return {"name": self.name, "bytes_per_position": round(self.bytes_per_position, 2)}
        rate = round(self.positions / self.seconds) if self.positions > 1 else None
        return {
            "name": self.name,
            "positions": self.positions,
            "seconds": round(self.seconds, 6),
            "positions_per_s": rate,
        }


_GAMES = 3000
_LEAST_S = 1e-9
"""What takes no time by the clock, which on Windows goes on by sixty-fourths of a second."""

Clock = Callable[[], float]


class _BookBench:
    def __init__(self, plies: int, repeat: int) -> None:
        self._repeat = repeat
        begun = time.thread_time()
        self.book = enumerate_book(plies, BookOptions(level=10, min_empties=60 - plies))
        self.enumerated = max(time.thread_time() - begun, _LEAST_S)
        self.count = len(self.book)
        self._rng = np.random.default_rng(1)
        for chunk in self.book.table.chunks():
            chunk["level"] = chunk["leaf_level"] = 10

    def timed(
        self, name: str, clock: Clock, work: Callable[[], object], before: Callable[[], object] = lambda: None
    ) -> Measure:
        """Return the median time of the runs of ``work`` by ``clock``; ``before`` precedes each run, untimed."""
        spent = []
        for _ in range(self._repeat):
            before()
            begun = clock()
            work()
            spent.append(max(clock() - begun, _LEAST_S))
        return Measure(name, self.count, statistics.median(spent))

    def shuffled(self) -> Words:
        """Return all positions in random order, so that no cache helps."""
        return self._rng.permutation(self.book.table.keys())

    def unsettle(self) -> None:
        """Give every position a random score, so that a negamax has to recompute all."""
        for chunk in self.book.table.chunks():
            chunk["score"] = self._rng.integers(-20, 20, len(chunk))
        self.book.forget_state()

    def change_a_leaf(self) -> None:
        """Change the score of the leaf of a random late position, so that the scores above it change."""
        entry = self.book.table.entry(int(self._rng.integers(self.count - self.count // 2, self.count)))
        moves = self.book.table.moves(entry.player, entry.opponent)
        if moves:
            score = 64 if entry.leaf_score < 0 else -64
            self.book.put(entry._replace(leaf_move=(moves & -moves).bit_length() - 1, leaf_score=score, leaf_level=10))


def _played(games: int) -> Book:
    """Return a book of whole random games, with finished positions and forced passes; all scores are 0."""
    book = Book(BookOptions(level=10, min_empties=1))
    dice = random.Random(1)
    rows = []
    for _ in range(games):
        position, moves = START, bytearray()
        while legal := book.table.moves(*position) or book.table.moves(*reversed(position)):
            if not book.table.moves(*position):
                position = position[1], position[0]
            move = dice.choice([square for square in range(64) if legal >> square & 1])
            moves.append(move)
            position = book.table.play(*position, move)
        rows.append(book.table.replay(*START, bytes(moves))[0])
    records = np.zeros(sum(map(len, rows)), RECORD)
    records["player"], records["opponent"] = np.concatenate(rows).T
    records["level"], records["leaf_move"], records["leaf_score"], records["leaf_level"] = (
        10,
        NO_MOVE,
        NO_SCORE,
        NO_LEVEL,
    )
    book.put_new(records)
    return book


def _peak(work: Callable[[], object]) -> int:
    """Return the peak memory of numpy and Python during ``work``, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def run(plies: int, folder: Path, *, repeat: int = 1) -> Iterator[Measure]:
    """Yield measurements of the book of all positions up to ``plies``; its files are in ``folder``. Raises `OutOfRange`
    for other than 1 to 12 plies.
    """
    within("plies", plies, 1, 12)
    bench = _BookBench(plies, repeat)
    book, thread, wall = bench.book, time.thread_time, time.perf_counter
    yield Measure("enumerate", bench.count, bench.enumerated)
    yield Measure("memory", bench.count, None, book.table.memory / bench.count)
    keys = bench.shuffled()
    yield bench.timed("random look-ups", thread, lambda: book.table.find_many(keys))
    yield bench.timed("link and negamax, one thread", thread, book.negamax, bench.unsettle)
    yield bench.timed("link and negamax, two threads", wall, lambda: book.negamax(threads=2), bench.unsettle)
    yield bench.timed("info", wall, lambda: summary(book, reached=False))._replace(positions=1)
    yield bench.timed("fix after one changed leaf", wall, book.negamax, bench.change_a_leaf)._replace(positions=1)
    native, dat, egbk3 = (folder / name for name in ("bench.book", "bench.dat", "bench.egbk3"))
    save = bench.timed("save, own format", wall, lambda: snapshot.write(native, book, 1, 0, backups=0))
    yield save
    yield bench.timed("load, own format, all checked", wall, lambda: snapshot.read(native))
    opened = bench.timed("open and first look-up", wall, lambda: snapshot.read(native, check=False)[0].entry(*START))
    yield opened._replace(positions=1)
    lines = folder / "bench.txt"
    yield bench.timed("export .txt", thread, lambda: text.write(lines, book))
    yield bench.timed("import .txt", thread, lambda: text.read(lines))
    beyond = max(0, _peak(lambda: text.read(lines)) - book.table.memory)
    yield Measure("import .txt, memory beyond the book", bench.count, None, beyond / bench.count)
    games, whole = folder / "games.egbk3", _played(min(_GAMES, bench.count))
    egaroucid.write(games, whole)
    imported = bench.timed("import .egbk3, whole games", thread, lambda: egaroucid.read(games))
    yield imported._replace(positions=len(whole))
    yield bench.timed("export .dat", thread, lambda: edax.write(dat, book))
    yield bench.timed("import .dat", thread, lambda: edax.read(dat))
    yield bench.timed("export .egbk3", thread, lambda: egaroucid.write(egbk3, book))
    yield bench.timed("import .egbk3", thread, lambda: egaroucid.read(egbk3))


def command_line() -> Parser:
    parser = Parser(
        prog="desdaemon bench book",
        description="Measure the book on this machine: times and memory for a position. The book has all positions "
        "up to --ply, with made-up scores. Work of one thread is measured in processor time, files and threads in wall "
        "time; each figure is the median of --repeat runs.",
    )
    parser.add_argument("--ply", type=int, default=10, choices=range(1, 13), help="last ply of the book (10)")
    parser.add_argument("--repeat", type=whole(1, 10**4), default=3, help="runs of which the median counts (3)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--folder", type=Path, help="where its files are written and removed")
    return parser


def main(argv: Sequence[str]) -> int:
    """Measure and print the figures. Returns the exit status."""
    arguments = command_line().parse_args(argv)
    with own_folder(arguments.folder) as folder:
        figures = show(run(arguments.ply, folder, repeat=arguments.repeat), as_json=arguments.json)
    if arguments.json:
        sys.stdout.write(json.dumps({"ply": arguments.ply, "repeat": arguments.repeat, "figures": figures}) + "\n")
    return 0


@contextmanager
def own_folder(place: Path | None) -> Iterator[Path]:
    """Return a context manager that yields a new folder in ``place``. It is removed at the end of the block, or when
    SIGTERM ends the process.

    Only the main thread may use it, because it handles the signal.
    """
    with folders.passing("bench", place) as folder:

        def terminated(number: int, frame: object) -> None:
            # An exception would be lost in a finalizer.
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(128 + number)

        handler = signal.signal(signal.SIGTERM, terminated)
        try:
            yield Path(folder)
        finally:
            signal.signal(signal.SIGTERM, handler)


def show(figures: Iterable[Figure], *, as_json: bool) -> list[dict[str, str | int | float | None]]:
    """Print each figure as soon as it is measured, unless ``as_json``; return the data of all figures."""
    data = []
    for figure in figures:
        data.append(figure.data())
        if not as_json:
            sys.stdout.write(f"{figure}\n")
            sys.stdout.flush()
    return data
