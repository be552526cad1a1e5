"""The search threads of the daemon and its pool of engines, all with the same weights."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from desdaemon.protocol.system import platform

from .loader import EngineConfig, EngineFailure, LoadedEngine

NICENESS = 5
"""Of search threads: the loop of the sockets goes before them; of a processor shared with another program they get a
quarter. Not the lowest priority: a search thread that other programs keep from running may hold the interpreter's lock,
for which the loop then waits."""


class SearchWork(NamedTuple):
    """Work for a search thread: ``run`` uses an engine; ``done`` is called after the engine was released.

    ``failed`` is called instead of ``run`` where there is no engine. None of them may raise.
    """

    run: Callable[[LoadedEngine], None]
    done: Callable[[], None]
    failed: Callable[[EngineFailure], None]
    prefer: int = 0
    """The ``id`` of the searcher it ran on before, whose table may still know it."""


class HelperWork(NamedTuple):
    """Work of a search thread without an engine of its own: ``run``, then ``done``. Neither may raise."""

    run: Callable[[], None]
    done: Callable[[], None]


def step_back() -> None:
    """Lower the priority of the calling thread, where the system supports it."""
    platform.lower_thread(NICENESS)


class EnginePool:
    """Engines with one search thread or several, for leases. Every method may be called from any thread."""

    def __init__(
        self, build: Callable[[EngineConfig], LoadedEngine], most: int, hash_bits: int, eval_file: str = ""
    ) -> None:
        """``build`` is that of `EngineSource`; ``hash_bits`` is log2 of the table entries of each engine.

        At most ``most`` engines are kept; idle ones are dropped for others with another number of threads.
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

    @property
    def any_made(self) -> bool:
        """Whether there are engines, or have been, with whatever number of threads."""
        return bool(self._made)

    def assure(self, threads: int) -> None:
        """Build an engine with so many threads if there is none, leased or not. Raises `EngineFailure`."""
        with self._making:
            if threads not in self._made:
                self.give_back(self.borrow(threads), threads)

    def borrow(self, threads: int = 1, prefer: int = 0) -> LoadedEngine:
        """Lease an engine with so many threads, building one if none is idle. Raises `EngineFailure`.

        ``prefer`` is the ``id`` of the searcher to lease if it is idle: its table still has the earlier turns.
        """
        with self._lock:
            idle = self._idle.setdefault(threads, [])
            if idle:
                at = next((at for at, found in enumerate(idle) if id(found.searcher) == prefer), -1)
                return idle.pop(at)
            self._number += 1
            if self._number > self._most:
                self._drop_one()
        # All other threads may help a search of one thread; one of several threads has its own.
        guests = self._most - 1 if threads == 1 else 0
        try:
            built = self._build(EngineConfig(threads, self._hash_bits, self._eval_file, guests))
            self._made.add(threads)
            return built
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
        """Release a leased engine; surplus ones are dropped with their tables."""
        with self._lock:
            if self._number > self._most:
                self._number -= 1
            else:
                self._idle[threads].append(engine)


class SearchThreads:
    """The search threads: each runs one piece of work at a time. They are started on demand."""

    def __init__(self, engines: EnginePool) -> None:
        self._engines = engines
        self._waiting: deque[SearchWork | HelperWork] = deque()
        self._lock = threading.Condition()
        self._free = 0
        self._local = threading.local()

    def put(self, work: SearchWork | HelperWork) -> None:
        """Queue work; returns at once."""
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
            if isinstance(work, HelperWork):
                work.run()
            else:
                self._search(work)
            local.between = True
            work.done()
            local.between = False

    def _search(self, work: SearchWork) -> None:
        try:
            engine = self._engines.borrow(prefer=work.prefer)
        except EngineFailure as error:
            work.failed(error)
        else:
            work.run(engine)
            self._engines.give_back(engine)

    def _wait(self) -> SearchWork | HelperWork:
        with self._lock:
            while not self._waiting:
                self._free += 1
                self._lock.wait()
                self._free -= 1
            return self._waiting.popleft()
