"""The search threads of the daemon, what they carry out, and the pool of engines, all with the same weights."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import NamedTuple

from desdaemon.protocol.system import platform

from .loader import EngineConfig, EngineFailure, LoadedEngine
from .scheduler import Purpose, Scheduler, Task

NICENESS = 5
"""Of search threads: the loop of the sockets goes before them; of a processor shared with another program they get a
quarter. Not the lowest priority: a search thread that other programs keep from running may hold the interpreter's lock,
for which the loop then waits."""


def step_back() -> None:
    """Lower the priority of the calling thread, where the system supports it."""
    platform.lower_thread(NICENESS)


class EnginePool:
    """Engines of one search thread each, which all other threads may join. Any thread."""

    def __init__(
        self, build: Callable[[EngineConfig], LoadedEngine], most: int, hash_bits: int, eval_file: str = ""
    ) -> None:
        """``build`` is that of `EngineSource`. ``most`` threads search at a time; ``hash_bits`` is log2 of the table
        entries of an engine.
        """
        self._build = build
        self._most = most
        self._config = EngineConfig(1, hash_bits, eval_file, most - 1)
        self._idle: list[LoadedEngine] = []
        self._lock = threading.Lock()

    def borrow(self, prefer: int = 0) -> LoadedEngine:
        """Lease an engine, built if none is idle. Raises `EngineFailure`.

        ``prefer`` is the ``id`` of the searcher to lease if it is idle: its table still has the earlier turns.
        """
        with self._lock:
            if self._idle:
                place = next((place for place, engine in enumerate(self._idle) if id(engine.searcher) == prefer), -1)
                return self._idle.pop(place)
        try:
            return self._build(self._config)
        except EngineFailure:
            raise
        except MemoryError:
            raise EngineFailure(f"not enough memory for a table of 2^{self._config.hash_bits} entries") from None
        except Exception as error:
            raise EngineFailure(f"the engine cannot be loaded: {type(error).__name__}: {error}") from error

    def give_back(self, engine: LoadedEngine) -> None:
        """Release a leased engine; surplus ones are dropped with their tables."""
        with self._lock:
            if len(self._idle) < self._most:
                self._idle.append(engine)


class Owner(NamedTuple):
    """Whom a search is charged to, and its priority among the same client's for the same purpose."""

    purpose: Purpose
    key: Hashable
    client: Hashable
    priority: int = 0


class Work(Task):
    """A task whose turns a search thread carries out, each on an engine of the pool."""

    engine = 0
    """The ``id`` of the searcher of the last turn, whose table may still know this search."""

    def __init__(self, workers: SearchThreads, owner: Owner, *, restarts: bool = False) -> None:
        super().__init__(owner.purpose, owner.key, owner.client, priority=owner.priority, restarts=restarts)
        self.workers = workers

    def start(self) -> None:
        """See `Task.start`."""
        self.workers.put(self)

    def turn(self, engines: EnginePool) -> bool:
        """Use a thread until the turn ends. Returns whether to wait for another turn. Must not raise."""
        try:
            engine = engines.borrow(prefer=self.engine)
        except EngineFailure as error:
            self.fail(error)
            return False
        self.engine = id(engine.searcher)
        again = self.run(engine)
        engines.give_back(engine)
        return again

    def run(self, engine: LoadedEngine) -> bool:
        """Search for a turn. Returns whether to wait for another one. Must not raise."""
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Give up: there is no engine (`EngineFailure`), or for another reason. Must not raise."""
        raise NotImplementedError

    def release(self, *, again: bool) -> None:
        """Release the thread after a turn; with ``again`` wait for another one."""
        self.workers.scheduler.release(self, again=again)


class SearchThreads:
    """The search threads, started on demand. Each carries out one turn of a `Work` at a time. Any thread."""

    def __init__(self, scheduler: Scheduler, engines: EnginePool) -> None:
        self.scheduler = scheduler
        self.engines = engines
        self._waiting: deque[Work] = deque()
        self._lock = threading.Condition()
        self._free = 0
        """Threads that wait for work."""
        self._local = threading.local()

    def put(self, work: Work) -> None:
        """Have a turn of ``work`` carried out; returns at once."""
        if getattr(self._local, "between", False):
            # A thread that has just ended a turn goes on with this one: waking another thread would take longer.
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
            again = work.turn(self.engines)
            local.between = True
            work.release(again=again)
            local.between = False

    def _wait(self) -> Work:
        with self._lock:
            while not self._waiting:
                self._free += 1
                self._lock.wait()
                self._free -= 1
            return self._waiting.popleft()
