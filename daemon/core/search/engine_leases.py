"""Leased engines: an engine source whose searches wait for the scheduler and use an engine of the daemon's pool in
turns.

A preempted search goes on in its next turn; its caller sees one search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from .loader import Abandoned, EngineConfig, EngineSource, LoadedEngine
from .scheduler import Lease, Purpose, Scheduler
from .workers import EnginePool

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

    from .loader import Stoppable

Progress = Callable[[int, "Line"], None]


def what_is_left(limits: Limits, result: Result) -> Limits | None:
    """The limits of the rest of a search after a turn that gave ``result``; None when a limit is reached."""
    nodes, ms = limits.nodes - result.nodes, limits.time_ms - int(result.time_ms)
    if (limits.nodes and nodes <= 0) or (limits.time_ms and ms <= 0):
        return None
    return limits._replace(nodes=max(0, nodes), time_ms=max(0, ms))


class LeasedEngines(EngineSource):
    """The engine source of a remote session: engines leased from the daemon's pool for the turns of a search."""

    def __init__(self, engines: EnginePool, scheduler: Scheduler, key: Hashable, client: Hashable) -> None:
        """The searches are charged to ``key`` and ``client``."""
        super().__init__(_never)
        self._engines = engines
        self._scheduler = scheduler
        self._whose = key, client

    def prepare(self, config: EngineConfig, on_failure: Callable[[str], None] | None = None) -> None:
        """Does nothing: an engine is made when it is leased."""

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        """See `EngineSource.get`."""
        threads = min(config.threads, self._scheduler.slots)
        # Whether there is an engine at all has to be known now. One to search with is leased with the turn: there would
        # be more of them than turns otherwise, each with a table of its own; the first is made in a turn as well.
        if not self._engines.any_made:
            key, client = self._whose
            with self._scheduler.lease(Purpose.INTERACTIVE, key=key, client=client, abandoned=abandoned):
                self._engines.assure(1)
        return LoadedEngine(LeasedSearcher(self._engines, self._scheduler, self._whose, threads), LeaseControl)

    @property
    def busy(self) -> bool:
        """See `EngineSource.busy`."""
        return False


def _never(config: EngineConfig) -> LoadedEngine:
    raise AssertionError


class LeaseControl:
    """The control of a search over leased engines. A stop ends all of its turns, and sets ``news``."""

    def __init__(self) -> None:
        self.stopped = False
        self.news = threading.Event()
        self._lock = threading.Lock()
        self._inner: Stoppable | None = None

    def stop(self) -> None:
        """See `interrupt.Stoppable`."""
        with self._lock:
            self.stopped = True
            inner = self._inner
        self.news.set()
        if inner is not None:
            inner.stop()

    def pass_on(self, inner: Stoppable | None) -> None:
        """A context in which a stop, earlier or later, also stops ``inner``, the control of one turn."""
        with self._lock:
            self._inner = inner
            stopped = self.stopped
        if stopped and inner is not None:
            inner.stop()


class LeasedSearcher:
    """A searcher that waits for a lease for each turn of its searches. Used by one thread."""

    def __init__(
        self, engines: EnginePool, scheduler: Scheduler, whose: tuple[Hashable, Hashable], threads: int
    ) -> None:
        self._engines = engines
        self._scheduler = scheduler
        self._key, self._client = whose
        self._threads = threads

    def search(
        self,
        player: int,
        opponent: int,
        limits: Limits,
        *,
        control: Any = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Result:
        """See `SearchProtocol`; ``control`` is a `LeaseControl`. Raises `Abandoned` when stopped before any turn."""
        attempt = _ResumedSearch(limits, control, progress)
        lease = Lease(Purpose.INTERACTIVE, self._key, self._client, attempt.interrupt, threads=self._threads)
        lease.news = control.news
        last = 0
        while True:
            try:
                with self._scheduler.turn_of(lease, lambda: control.stopped, poll=False):
                    # As many threads as it was given this time: the others search for other clients.
                    granted = lease.granted
                    engine = self._engines.borrow(granted, last)
                    last = id(engine.searcher)
                    before = attempt.nodes
                    try:
                        finished = attempt.run(engine, player, opponent, options)
                        if not finished:
                            attempt.begin()
                            lease.again = True
                    finally:
                        self._engines.give_back(engine, granted)
                        self._scheduler.accounts.searched(self._key, attempt.nodes - before)
            except Abandoned:
                if attempt.found is None:
                    raise
                return attempt.found
            if finished:
                assert attempt.found is not None
                return attempt.found

    def evaluate(self, player: int, opponent: int) -> float:
        """See `loader.SearchProtocol`."""
        with self._scheduler.lease(Purpose.INTERACTIVE, key=self._key, client=self._client):
            engine = self._engines.borrow()
            try:
                return engine.searcher.evaluate(player, opponent)
            finally:
                self._engines.give_back(engine)

    def clear(self) -> None:
        """Does nothing: other sessions use the same tables."""


class _ResumedSearch:
    """The state of a search over several turns: nodes and time spent, and the best result ``found`` so far."""

    def __init__(self, limits: Limits, control: LeaseControl, progress: Progress | None) -> None:
        self._limits = limits
        self.found: Result | None = None
        self._control = control
        self._progress = progress
        self._reported: dict[int, tuple[int, int]] = {}
        self.nodes = 0
        self._ms = 0.0
        self._lock = threading.Lock()
        self._interrupted = False
        self._inner: Stoppable | None = None

    def begin(self) -> None:
        """Note that the search waits for a turn."""
        with self._lock:
            self._interrupted = False

    def interrupt(self) -> None:
        """End the running turn soon."""
        with self._lock:
            self._interrupted = True
            inner = self._inner
        if inner is not None:
            inner.stop()

    def run(self, engine: LoadedEngine, player: int, opponent: int, options: dict[str, Any]) -> bool:
        """Search for one turn. Returns False when it was preempted and has to go on."""
        inner = engine.new_control()
        with self._lock:
            self._inner = inner
            interrupted = self._interrupted
        if interrupted:
            inner.stop()
        self._control.pass_on(inner)
        try:
            result = engine.searcher.search(
                player,
                opponent,
                self._limits,
                control=inner,
                progress=self._report if self._progress else None,
                **options,
            )
        finally:
            self._control.pass_on(None)
            with self._lock:
                self._inner = None
        self.nodes += result.nodes
        self._ms += result.time_ms
        self.found = result._replace(nodes=self.nodes, time_ms=self._ms)
        left = what_is_left(self._limits, result)
        self._limits = left or self._limits
        return not (self._interrupted and not result.complete and not self._control.stopped and left)

    def _report(self, rank: int, line: Line) -> None:
        """Report a line unless it was reported in an earlier turn: a resumed search repeats its first iterations."""
        reached = (line.depth, line.selectivity)
        if self._progress is not None and reached > self._reported.get(rank, (-1, 0)):
            self._reported[rank] = reached
            self._progress(rank, line)
