"""The kernels' library of the counts, compiled at its first use; helpers for their memory, threads and progress."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from desdaemon.engine.compiler.library import Library, load
from desdaemon.protocol.system import platform

from .exports import SPEC
from .layout import LINE_BYTES

Progress = Callable[[str, int, int], None]
"""(what, done, total): the progress callback of a count."""

Given = TypeVar("Given")
Found = TypeVar("Found")


def silent(what: str, done: int, total: int) -> None:
    """A `Progress` that ignores its arguments."""


def kernels(progress: Progress = silent) -> Library:
    """The library; raises LibraryError."""

    def on_progress(line: str) -> None:
        done, _, total = line.partition(" ")[0].partition("/")
        progress("compiling", int(done), int(total))

    return load(SPEC, on_progress)


def noted_lines(address: int, number: int) -> list[list[int]]:
    """The ``number`` lines of play that a kernel has written at ``address``, as squares."""
    found = []
    for at in range(number):
        line = ctypes.string_at(address + LINE_BYTES * at, LINE_BYTES)
        found.append(list(line[: line[-1]]))
    return found


def write_moves(address: int, moves: list[int]) -> None:
    """Write moves, a byte each, to ``address`` in a kernel's context."""
    ctypes.memmove(address, bytes(moves), len(moves))


def processors() -> int:
    """The number of processors that this process may use."""
    return platform.processors()


def in_parallel(work: Callable[[Given], Found], items: Iterable[Given], threads: int) -> Iterator[Found]:
    """The results of ``work`` for each item, in order, on ``threads`` threads; interruptible between two."""
    pool = ThreadPoolExecutor(max(1, threads))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
