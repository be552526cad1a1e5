"""The tasks of a worker: functions that dask.distributed calls by name, on the worker's threads.

A process has one `WorkerState`, set by `prepare` before it joins the cluster.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable

from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.training.labelling.chunks import BoardChunk, score_chunk
from desdaemon.protocol.othello.selectivity import Selectivity

from .identity import identity
from .window import AnySearch, WorkerAnswer

STOPPED = 100
"""The most stopped jobs that a worker remembers; what dask had sent on before a stop arrives milliseconds later."""


class WorkerState:
    """The searches of a worker's process. Any thread may call the methods."""

    def __init__(self, name: str, weights: Weights) -> None:
        self.name = name
        self.identity = identity(weights)
        self.done = 0
        """Number of searches that have ended, stopped ones included."""
        self._weights = weights
        self._local = threading.local()
        self._of_books: dict[int, Searches] = {}
        """Searches of books, by the binary logarithm of the table's entries."""
        self._lock = threading.Lock()
        self._running: dict[Control, str] = {}
        """The control of each running search, with its job."""
        self._stopped: deque[str] = deque(maxlen=STOPPED)

    def answers(self, job: str, hash_bits: int, searches: Iterable[AnySearch]) -> list[WorkerAnswer | None]:
        """Return the answers to a job's searches, with tables of 2 to the power ``hash_bits`` entries; None for those
        that a stop prevented.
        """
        return [self._answer(job, hash_bits, search) for search in searches]

    def _answer(self, job: str, hash_bits: int, search: AnySearch) -> WorkerAnswer | None:
        control = Control()
        with self._lock:
            if job in self._stopped:
                return None
            self._running[control] = job
        begun = time.perf_counter()
        try:
            answer = self._search(hash_bits, search, control)
        finally:
            with self._lock:
                del self._running[control]
                self.done += 1
        return answer and answer._replace(ms=(time.perf_counter() - begun) * 1000)

    def _search(self, hash_bits: int, search: AnySearch, control: Control) -> WorkerAnswer | None:
        """Search from an empty table. Returns the answer without its time; None after a stop."""
        if isinstance(search, BoardChunk):
            scores = score_chunk(self._searcher(hash_bits), search, control)
            return None if scores is None else WorkerAnswer(scores)
        if search.depth < 0:
            with self._lock:
                searches = self._of_books.setdefault(hash_bits, Searches(hash_bits=hash_bits, weights=self._weights))
            result = searches.result(search.player, search.opponent, search.level, search.excluded, control)
        else:
            searcher = self._searcher(hash_bits)
            searcher.clear()
            limits = Limits(search.depth, Selectivity(search.selectivity))
            result = searcher.search(search.player, search.opponent, limits, control=control)
        if result is None or not result.complete or control.stopped:
            return None
        line = result.lines[0]
        return WorkerAnswer((line.move, int(line.score)), 0.0, result.nodes, line if search.depth >= 0 else None)

    def _searcher(self, hash_bits: int) -> Searcher:
        """Return the calling thread's searcher with a table of 2 to the power ``hash_bits`` entries; one with another
        table is dropped.
        """
        if getattr(self._local, "hash_bits", None) != hash_bits:
            self._local.__dict__.clear()
            self._local.searcher = Searcher(hash_bits=hash_bits, weights=self._weights)
            self._local.hash_bits = hash_bits
        searcher: Searcher = self._local.searcher
        return searcher

    def stop(self, job: str) -> None:
        """Stop a job's searches within milliseconds. Those that arrive later, until `STOPPED` other jobs were stopped,
        return None.
        """
        with self._lock:
            if job not in self._stopped:
                self._stopped.append(job)
            for control, running in self._running.items():
                if running == job:
                    control.stop()

    def stop_all(self) -> None:
        """Stop all running searches within milliseconds; the same jobs may send more."""
        with self._lock:
            for control in self._running:
                control.stop()


_STATE: WorkerState | None = None


def prepare(name: str, weights: Weights) -> WorkerState:
    """Make this process a worker and return its state. Raises `LibraryError` if the kernels cannot be compiled."""
    global _STATE
    _STATE = WorkerState(name, weights)
    return _STATE


def search_batch(job: str, hash_bits: int, searches: tuple[AnySearch, ...]) -> tuple[str, list[WorkerAnswer | None]]:
    """Search a batch, as a task. Returns the worker's name and an answer for each search."""
    assert _STATE is not None, "started by desdaemon cluster worker"
    return _STATE.name, _STATE.answers(job, hash_bits, searches)


def stop_job(job: str) -> None:
    """End a job's searches. Runs on the worker's event loop."""
    if _STATE is not None:
        _STATE.stop(job)


def searches_done() -> int:
    """Return the number of searches that this worker has done. Runs on its event loop."""
    return _STATE.done if _STATE is not None else 0
