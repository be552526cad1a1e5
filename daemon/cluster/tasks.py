"""The tasks of a worker: functions that dask.distributed calls by name, on the worker's threads.

Their arguments and results are numbers and texts alone. A process has one `Searches`, set by `prepare` before it joins;
tasks for another identity, or for larger tables than it is to make, are refused.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, TypeVar

from desdaemon.book.growth.engine_evaluator import Searches
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import MAX_HASH_BITS, Limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.training.labelling.chunks import BoardChunk, score_chunk
from desdaemon.protocol.othello.selectivity import Selectivity

from .identity import Identity, identity

_ALL = (1 << 64) - 1

_JOBS_KEPT = 1000
"""Jobs that were stopped are remembered as long as this many others were not stopped after them."""

Wanted = tuple[int, int, int, int, int, int]
"""The fields of a `window.Search`."""

Answer = tuple[int, int, int, float, int, int, tuple[int, ...]]
"""The fields of a `window.WorkerAnswer`."""

WantedChunk = tuple[bytes, bytes, int, int]
"""The fields of a `chunks.BoardChunk`."""

ScoredChunk = tuple[bytes, float]
"""The fields of a `window.ChunkAnswer`."""

T = TypeVar("T")
R = TypeVar("R")


class Refused(Exception):
    """A worker does not do a task. Its arguments are the worker's name, "" where it has none, and why in words."""


class OtherIdentity(Refused):
    """The task is for a program of other sources or weights, or for one that answers otherwise."""


class TableTooLarge(Refused):
    """The task needs a larger transposition table than the worker makes; with a smaller one it would answer
    otherwise."""


class StoppableWork(Protocol):
    """Work that can be ended from another thread."""

    def stop(self) -> None:
        """End it, in a moment."""


C = TypeVar("C", bound=StoppableWork)


class WorkerState:
    """The searches of a worker's process. All methods may be called from any thread."""

    def __init__(self, name: str, weights: Weights, *, hash_bits: int = MAX_HASH_BITS) -> None:
        """``hash_bits`` is the logarithm (base 2) of the entries of the largest table that it makes."""
        self.name = name
        self.hash_bits = hash_bits
        self.identity = identity(weights)
        self.done = 0
        self._local = threading.local()
        self.weights = weights
        self._searches: dict[int, Searches] = {}
        self._lock = threading.Lock()
        self._running: dict[str, set[StoppableWork]] = {}
        self._stopped: OrderedDict[str, None] = OrderedDict()

    def _solved(self, hash_bits: int, search: Wanted, control: Control) -> Result | None:
        """A search with limits of its own, from a clean table of the full size."""
        player, opponent, _, excluded, depth, selectivity = search
        searcher = self._searcher(hash_bits)
        searcher.clear()
        result = searcher.search(
            player, opponent, Limits(depth, Selectivity(selectivity)), allow=_ALL & ~excluded, control=control
        )
        return result if result.complete and not control.stopped else None

    def _searcher(self, hash_bits: int) -> Searcher:
        """The calling thread's, with a table of this size."""
        kept: dict[int, Searcher] = self._local.__dict__.setdefault("solvers", {})
        if hash_bits not in kept:
            kept.clear()
            kept[hash_bits] = Searcher(hash_bits=hash_bits, weights=self.weights)
        return kept[hash_bits]

    def _of_book(self, hash_bits: int, search: Wanted, control: Control) -> Result | None:
        self._local.result = None
        self._searches_of(hash_bits)(*search[:4], control)
        found: Result | None = self._local.result
        return found

    def _searches_of(self, hash_bits: int) -> Searches:
        with self._lock:
            if hash_bits not in self._searches:
                self._searches[hash_bits] = Searches(
                    hash_bits=hash_bits, weights=self.weights, on_search=self._count_nodes
                )
            return self._searches[hash_bits]

    def _count_nodes(self, player: int, opponent: int, result: Result) -> None:
        self._local.result = result

    def search(self, job: str, hash_bits: int, searches: tuple[Wanted, ...]) -> list[Answer | None]:
        """The answers, None from the moment on when the job was stopped."""

        def one(search: Wanted, control: Control) -> Result | None:
            return (self._of_book if search[4] < 0 else self._solved)(hash_bits, search, control)

        found = [self.run(job, one, search, Control()) for search in searches]
        return [_answer(result, ms) if result is not None else None for result, ms in found]

    def score(self, job: str, hash_bits: int, chunks: tuple[WantedChunk, ...]) -> list[ScoredChunk | None]:
        """The scores of chunks, None from the moment on when the job was stopped."""

        def one(chunk: WantedChunk, control: Control) -> bytes | None:
            return score_chunk(self._searcher(hash_bits), BoardChunk(*chunk), control)

        found = [self.run(job, one, chunk, Control()) for chunk in chunks]
        return [(scores, ms) if scores is not None else None for scores, ms in found]

    def run(self, job: str, search: Callable[[T, C], R | None], wanted: T, control: C) -> tuple[R | None, float]:
        """The result of ``search`` for ``wanted``, and its ms; None where the job was stopped.

        It is called with ``control``, which a stop of the job stops.
        """
        with self._lock:
            if job in self._stopped:
                return None, 0.0
            self._running.setdefault(job, set()).add(control)
        begun = time.perf_counter()
        try:
            found = search(wanted, control)
        finally:
            with self._lock:
                running = self._running.get(job, set())
                running.discard(control)
                if not running:
                    self._running.pop(job, None)
                self.done += 1
        return found, (time.perf_counter() - begun) * 1000

    def stop(self, job: str) -> None:
        """End the searches of a job, in milliseconds; later ones of it answer None."""
        with self._lock:
            self._stopped[job] = None
            while len(self._stopped) > _JOBS_KEPT:
                self._stopped.popitem(last=False)
            for control in self._running.pop(job, set()):
                control.stop()

    def stop_all(self) -> None:
        """End the searches that run, in milliseconds; those of the same jobs may come again."""
        with self._lock:
            for controls in self._running.values():
                for control in controls:
                    control.stop()


def _answer(result: Result, ms: float) -> Answer:
    line = result.lines[0]
    return line.move, int(line.score), result.nodes, ms, line.depth, int(line.selectivity), line.pv


_STATE: WorkerState | None = None


def prepare(name: str, weights: Weights, *, hash_bits: int = MAX_HASH_BITS) -> WorkerState:
    """Make this process a worker's (`WorkerState`); raises `LibraryError` where the kernels cannot be compiled."""
    global _STATE
    _STATE = WorkerState(name, weights, hash_bits=hash_bits)
    return _STATE


def _state() -> WorkerState:
    if _STATE is None:
        raise OtherIdentity("", "this process was not started by desdaemon cluster worker")
    return _STATE


def asked(expected: tuple[str, str]) -> WorkerState:
    """This worker, where a task is for its identity. Raises `OtherIdentity`."""
    state = _state()
    if state.identity != expected:
        raise OtherIdentity(state.name, f"is {'-'.join(state.identity)}, the task is for {'-'.join(expected)}")
    return state


def asked_with_table(expected: tuple[str, str], hash_bits: int) -> WorkerState:
    """This worker, where it makes tables of this size too. Raises `Refused`."""
    state = asked(expected)
    if hash_bits > state.hash_bits:
        raise TableTooLarge(
            state.name, f"makes tables of 2^{state.hash_bits} entries at most, the searches are for 2^{hash_bits}"
        )
    return state


def search_batch(
    expected: tuple[str, str], job: str, hash_bits: int, searches: tuple[Wanted, ...]
) -> tuple[str, list[Answer | None]]:
    """The task of searches: the worker's name, and an answer for each. Raises `Refused`."""
    state = asked_with_table(expected, hash_bits)
    return state.name, state.search(job, hash_bits, searches)


def score_batch(
    expected: tuple[str, str], job: str, hash_bits: int, chunks: tuple[WantedChunk, ...]
) -> tuple[str, list[ScoredChunk | None]]:
    """The task of labels: the worker's name, and the scores of each chunk. Raises `Refused`."""
    state = asked_with_table(expected, hash_bits)
    return state.name, state.score(job, hash_bits, chunks)


def stop_job(job: str) -> None:
    """For the worker's event loop: end a job's searches."""
    if _STATE is not None:
        _STATE.stop(job)


def figures() -> dict[str, object]:
    """For the worker's event loop: what `desdaemon cluster status` shows."""
    state = _state()
    return {"name": state.name, "pid": os.getpid(), "done": state.done}


def prove() -> tuple[str, str]:
    """The task of `desdaemon cluster check`: the identity, its searches done again."""
    state = _state()
    found: Identity = identity(state.weights)
    return found.code, found.proof
