"""The threads that analyses run on, each with a search of its own, all with the same weights."""

from __future__ import annotations

import _thread
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .loader import EngineConfig, EngineFailure, LoadedEngine

NICENESS = 5
"""Of search threads: the loop of the sockets goes before them; of a processor shared with another program they get a
quarter. Not the lowest priority: a search thread that other programs keep from running may hold the interpreter's lock,
for which the loop then waits."""


class SearchWork(NamedTuple):
    """Something to do with an engine: ``run`` does it; then, when the engine is free again, ``done`` is called.

    ``failed`` is called instead of ``run`` where there is no engine. None of them may raise.
    """

    run: Callable[[LoadedEngine], None]
    done: Callable[[], None]
    failed: Callable[[EngineFailure], None]
    prefer: int = 0
    """The ``id`` of the searcher it ran on before, whose table may still know it."""


def step_back() -> None:
    """Let this thread go after all others, where the system knows how."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    except (AttributeError, OSError):
        return


class EnginePool:
    """Engines with one search thread or several, leased and given back. Every method may be called from any thread."""

    def __init__(
        self, build: Callable[[EngineConfig], LoadedEngine], most: int, hash_bits: int, eval_file: str = ""
    ) -> None:
        """``build`` as for `EngineSource`; ``hash_bits`` sizes the table of each search.

        ``most`` are kept, as many as can search at a time: idle ones make room for those with other numbers of threads.
        """
        self._most = most
        self._build = build
        self._hash_bits = hash_bits
        self._eval_file = eval_file
        self._idle: dict[int, list[LoadedEngine]] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._made: set[int] = set()
        self._making = threading.Lock()

    def assure(self, threads: int) -> None:
        """See that there are searches with so many threads at all, leased or not; raises `EngineFailure`."""
        with self._making:
            if threads not in self._made:
                self.give_back(self.borrow(threads), threads)
                self._made.add(threads)

    def borrow(self, threads: int = 1, prefer: int = 0) -> LoadedEngine:
        """A search with so many threads, made where none is idle; raises `EngineFailure`.

        If it can be, the one whose searcher has the ``id`` ``prefer``.
        """
        with self._lock:
            idle = self._idle.setdefault(threads, [])
            if idle:
                at = next((at for at, found in enumerate(idle) if id(found.searcher) == prefer), -1)
                return idle.pop(at)
            self._number += 1
            if self._number > self._most:
                self._drop_one()
        try:
            return self._build(EngineConfig(threads, self._hash_bits, self._eval_file))
        except Exception as error:
            with self._lock:
                self._number -= 1
            if isinstance(error, EngineFailure):
                raise
            if isinstance(error, MemoryError):
                raise EngineFailure(f"not enough memory for a table of 2^{self._hash_bits} entries") from None
            raise EngineFailure(f"the engine cannot be loaded: {type(error).__name__}: {error}") from error

    def _drop_one(self) -> None:
        for idle in self._idle.values():
            if idle:
                idle.pop()
                self._number -= 1
                return

    def give_back(self, engine: LoadedEngine, threads: int = 1) -> None:
        """The end of a `borrow`. Beyond those that are kept it is dropped, and its table's memory with it."""
        with self._lock:
            if self._number > self._most:
                self._number -= 1
            else:
                self._idle[threads].append(engine)


class SearchThreads:
    """The search threads: each carries out one `SearchWork` at a time. Started when there is work for one more."""

    def __init__(self, engines: EnginePool) -> None:
        self._engines = engines
        self._waiting: deque[SearchWork] = deque()
        self._lock = threading.Condition()
        self._free = 0
        self._local = threading.local()

    def put(self, work: SearchWork) -> None:
        """Have it done soon; returns at once."""
        if getattr(self._local, "between", False):
            # A thread that has just finished something goes on with this: waking another one up would take longer.
            self._local.between, self._local.next = False, work
            return
        with self._lock:
            self._waiting.append(work)
            if self._free >= len(self._waiting):
                self._lock.notify()
                return
        # `Thread.start` waits until the new thread runs, which takes long on a machine that others use too.
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        threading.current_thread().name = "search"
        step_back()
        local = self._local
        local.next = None
        while True:
            work, local.next = local.next, None
            if work is None:
                work = self._wait()
            try:
                engine = self._engines.borrow(prefer=work.prefer)
            except EngineFailure as error:
                work.failed(error)
            else:
                work.run(engine)
                self._engines.give_back(engine)
            local.between = True
            work.done()
            local.between = False

    def _wait(self) -> SearchWork:
        with self._lock:
            while not self._waiting:
                self._free += 1
                self._lock.wait()
                self._free -= 1
            return self._waiting.popleft()
