"""The tasks of a worker: functions that dask.distributed calls by name, on the worker's threads.

Arguments and results are numbers, bytes and texts. A process has one `WorkerState`, set by `prepare` before it joins
the cluster; it refuses tasks for another identity.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

from desdaemon.book.growth.engine_evaluator import Searches
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.training.labelling.chunks import BoardChunk, score_chunk
from desdaemon.protocol.othello.selectivity import Selectivity

from .identity import identity

_ALL = (1 << 64) - 1

_JOBS_KEPT = 1000
"""Most stopped jobs that are remembered."""

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


class OtherIdentity(Exception):
    """The task is for a program with other sources, weights or results.

    Arguments: the worker's name, or "", and the reason as a text.
    """


class WorkerState:
    """The searches of a worker's process. Any thread may call the methods."""

    def __init__(self, name: str, weights: Weights) -> None:
        self.name = name
        self.weights = weights
        self.identity = identity(weights)
        self.done = 0
        """Number of searches that have ended, stopped ones included."""
        self._local = threading.local()
        self._searches: dict[int, Searches] = {}
        self._lock = threading.Lock()
        self._running: dict[str, set[Control]] = {}
        self._stopped: OrderedDict[str, None] = OrderedDict()

    def search(self, job: str, hash_bits: int, searches: Iterable[Wanted]) -> list[Answer | None]:
        """Return the answers to a job's searches, with tables of 2 to the power ``hash_bits`` entries; None for those
        that a stop of the job prevented.
        """

        def one(search: Wanted, control: Control) -> Result | None:
            return (self._of_book if search[4] < 0 else self._solved)(hash_bits, search, control)

        results = [self._run(job, one, search) for search in searches]
        return [_answer(result, ms) if result is not None else None for result, ms in results]

    def score(self, job: str, hash_bits: int, chunks: Iterable[WantedChunk]) -> list[ScoredChunk | None]:
        """Return the scores of a job's chunks, with tables of 2 to the power ``hash_bits`` entries; None for those that
        a stop of the job prevented.
        """

        def one(chunk: WantedChunk, control: Control) -> bytes | None:
            return score_chunk(self._searcher(hash_bits), BoardChunk(*chunk), control)

        results = [self._run(job, one, chunk) for chunk in chunks]
        return [(scores, ms) if scores is not None else None for scores, ms in results]

    def stop(self, job: str) -> None:
        """Stop a job's searches within milliseconds. Searches that the job sends later return None."""
        with self._lock:
            self._stopped[job] = None
            while len(self._stopped) > _JOBS_KEPT:
                self._stopped.popitem(last=False)
            for control in self._running.pop(job, set()):
                control.stop()

    def stop_all(self) -> None:
        """Stop all running searches within milliseconds; the same jobs may send more."""
        with self._lock:
            for controls in self._running.values():
                for control in controls:
                    control.stop()

    def _run(self, job: str, search: Callable[[T, Control], R | None], wanted: T) -> tuple[R | None, float]:
        """Call ``search`` with ``wanted``. Returns its result, None after a stop of the job, and the ms it took."""
        control = Control()
        with self._lock:
            if job in self._stopped:
                return None, 0.0
            self._running.setdefault(job, set()).add(control)
        begun = time.perf_counter()
        try:
            result = search(wanted, control)
        finally:
            with self._lock:
                running = self._running.get(job, set())
                running.discard(control)
                if not running:
                    self._running.pop(job, None)
                self.done += 1
        return result, (time.perf_counter() - begun) * 1000

    def _solved(self, hash_bits: int, search: Wanted, control: Control) -> Result | None:
        """Return the result of a search to its own limits, from an empty table of 2 to the power ``hash_bits`` entries;
        None if it was stopped.
        """
        player, opponent, _, excluded, depth, selectivity = search
        searcher = self._searcher(hash_bits)
        searcher.clear()
        result = searcher.search(
            player, opponent, Limits(depth, Selectivity(selectivity)), allow=_ALL & ~excluded, control=control
        )
        return result if result.complete and not control.stopped else None

    def _searcher(self, hash_bits: int) -> Searcher:
        """Return the calling thread's searcher with a table of 2 to the power ``hash_bits`` entries; one with another
        table is dropped.
        """
        searchers: dict[int, Searcher] = self._local.__dict__.setdefault("solvers", {})
        if hash_bits not in searchers:
            searchers.clear()
            searchers[hash_bits] = Searcher(hash_bits=hash_bits, weights=self.weights)
        return searchers[hash_bits]

    def _of_book(self, hash_bits: int, search: Wanted, control: Control) -> Result | None:
        self._local.result = None
        with self._lock:
            searches = self._searches.get(hash_bits)
            if searches is None:
                searches = Searches(hash_bits=hash_bits, weights=self.weights, on_search=self._keep)
                self._searches[hash_bits] = searches
        searches(*search[:4], control)
        result: Result | None = self._local.result
        return result

    def _keep(self, player: int, opponent: int, result: Result) -> None:
        self._local.result = result


def _answer(result: Result, ms: float) -> Answer:
    line = result.lines[0]
    return line.move, int(line.score), result.nodes, ms, line.depth, int(line.selectivity), line.pv


_STATE: WorkerState | None = None


def prepare(name: str, weights: Weights) -> WorkerState:
    """Make this process a worker and return its state. Raises `LibraryError` if the kernels cannot be compiled."""
    global _STATE
    _STATE = WorkerState(name, weights)
    return _STATE


def _asked(expected: tuple[str, str]) -> WorkerState:
    """Return this process's state. Raises `OtherIdentity` unless ``expected``, the identity that the task is for, is
    its own.
    """
    if _STATE is None:
        raise OtherIdentity("", "this process was not started by desdaemon cluster worker")
    if _STATE.identity != expected:
        raise OtherIdentity(_STATE.name, f"is {'-'.join(_STATE.identity)}, the task is for {'-'.join(expected)}")
    return _STATE


def search_batch(
    expected: tuple[str, str], job: str, hash_bits: int, searches: tuple[Wanted, ...]
) -> tuple[str, list[Answer | None]]:
    """Search a batch, as a task. Returns the worker's name and an answer for each search; raises `OtherIdentity`."""
    state = _asked(expected)
    return state.name, state.search(job, hash_bits, searches)


def score_batch(
    expected: tuple[str, str], job: str, hash_bits: int, chunks: tuple[WantedChunk, ...]
) -> tuple[str, list[ScoredChunk | None]]:
    """Score a batch of chunks, as a task. Returns the worker's name and each chunk's scores; raises `OtherIdentity`."""
    state = _asked(expected)
    return state.name, state.score(job, hash_bits, chunks)


def stop_job(job: str) -> None:
    """End a job's searches. Runs on the worker's event loop."""
    if _STATE is not None:
        _STATE.stop(job)


def searches_done() -> int:
    """Return the number of searches that this worker has done. Runs on its event loop."""
    return _STATE.done if _STATE is not None else 0
