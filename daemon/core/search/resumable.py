"""Searches in turns on the engines of the daemon's pool: `ResumableSearch`, and `SharedEngines` for text sessions.

A search that was interrupted for another one goes on in its next turn; its owner sees one search.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from .helpers import HelperPool
from .loader import Abandoned, EngineConfig, LoadedEngine
from .scheduler import Purpose
from .workers import Owner, Work

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

    from .loader import Progress, Stoppable


class ResumableSearch(Work):
    """A search of one or more turns, and what they have spent.

    Subclasses define `ended`, which is called once unless `fail` is. `stop` and `spent` may be called from any thread.
    """

    def __init__(
        self,
        helpers: HelperPool,
        owner: Owner,
        player: int,
        opponent: int,
        limits: Limits,
        *,
        most_threads: int = 1,
        restarts: bool = False,
        **options: Any,
    ) -> None:
        """``options`` are those of `SearchProtocol`.

        Up to ``most_threads`` search at a time (0: all), the others than the first on idle threads. One that
        ``restarts`` begins each turn with an empty table and all of its limits.
        """
        super().__init__(helpers.workers, owner, restarts=restarts)
        self.nodes = 0
        self.ms = 0.0
        """Milliseconds of the turns that are over."""
        self.result: Result | None = None
        """That of the last turn."""
        self.stopped = False
        self._helpers = helpers
        self._player = player
        self._opponent = opponent
        self._limits = limits
        """Of the next turn."""
        self._most_threads = most_threads
        self._options = options
        self._lock = threading.Lock()
        self._control: Stoppable | None = None
        """That of the running turn."""
        self._interrupted = False
        """Whether the turn is to end for another search. A late call meant for the last turn counts for this one."""
        self._began = 0.0

    @property
    def searching(self) -> bool:
        """Whether an engine searches now."""
        return self._control is not None

    def ended(self) -> None:
        """The search is over, or was stopped. Called from any thread."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the search: at once if it waits for a turn, otherwise soon."""
        with self._lock:
            self.stopped = True
            control = self._control
        if control is not None:
            control.stop()
        self._end_if_waiting()

    def _end_if_waiting(self) -> None:
        if self.workers.scheduler.remove(self):
            self.ended()

    def interrupt(self) -> None:
        """See `Task.interrupt`."""
        with self._lock:
            self._interrupted = True
            control = self._control
        if control is not None:
            control.stop()

    def run(self, engine: LoadedEngine) -> bool:
        """See `Work.run`."""
        try:
            again = self.search(engine)
            if not again:
                self.ended()
            return again
        except Exception as error:
            self.fail(error)
            return False

    def release(self, *, again: bool) -> None:
        """See `Work.release`."""
        super().release(again=again)
        if again and self.stopped:
            self._end_if_waiting()

    def search(self, engine: LoadedEngine, most_nodes: int = 0, **options: Any) -> bool:
        """Search for one turn, of ``most_nodes`` if given. Returns whether the search has to go on."""
        control = engine.new_control()
        with self._lock:
            self._interrupted = self.interrupted
            if self.stopped or self._interrupted:
                return not self.stopped
            self._control = control
            self._began = time.monotonic()
        if self.restarts:
            engine.searcher.clear()
        limits, result = self._limits, None
        if most_nodes:
            limits = limits._replace(nodes=min(most_nodes, limits.nodes or most_nodes))
        try:
            with self._helpers.helped(engine, self._most_threads, self.key) as welcome:
                options |= {"control": control, "welcome": welcome}
                result = engine.searcher.search(self._player, self._opponent, limits, **self._options, **options)
        finally:
            with self._lock:
                self._control = None
                if result is not None:
                    self.nodes += result.nodes
                    self.ms += result.time_ms
        self.result = result
        self.workers.scheduler.accounts.searched(self.key, result.nodes)
        return self._interrupted and not (self.stopped or result.complete) and self._reduce_limits(result)

    def _reduce_limits(self, result: Result) -> bool:
        """Set the limits of the next turn. Returns False if nothing is left of them."""
        if not self.restarts:
            limits = self._limits
            nodes, ms = limits.nodes - result.nodes, limits.time_ms - int(result.time_ms)
            if (limits.nodes and nodes <= 0) or (limits.time_ms and ms <= 0):
                return False
            self._limits = limits._replace(nodes=max(0, nodes), time_ms=max(0, ms))
        return True

    def spent(self) -> tuple[int, float]:
        """The nodes and milliseconds of all turns, the running one included as far as it tells them."""
        with self._lock:
            if self._control is None:
                return self.nodes, self.ms
            running_ms = (time.monotonic() - self._began) * 1000
            return self.nodes + getattr(self._control, "nodes", 0), self.ms + running_ms


class SharedEngines:
    """The engines of a remote session (`loader.Engines`): its searches have turns on those of the daemon's pool."""

    busy = False

    def __init__(self, helpers: HelperPool, key: Hashable, client: Hashable) -> None:
        """The searches are charged to ``key`` and ``client``."""
        self._helpers = helpers
        self._owner = Owner(Purpose.INTERACTIVE, key, client)

    def prepare(self, config: EngineConfig, on_failure: Callable[[str], None] | None = None) -> None:
        """Do nothing: an engine is built for the first search."""

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        """See `loader.Engines`; it is the search that raises `EngineFailure`."""
        return LoadedEngine(_SessionSearcher(self._helpers, self._owner, config.threads), _SessionControl)


class _SessionControl:
    """The control of a session's search, made before the search is."""

    def __init__(self) -> None:
        self.stopped = False
        self.search: _SessionSearch | None = None

    def stop(self) -> None:
        """See `Stoppable`."""
        self.stopped = True
        if self.search is not None:
            self.search.stop()


class _SessionSearcher:
    """A searcher whose searches are carried out by the search threads, while the caller waits."""

    def __init__(self, helpers: HelperPool, owner: Owner, threads: int) -> None:
        self._helpers = helpers
        self._owner = owner
        self._threads = threads

    def search(
        self,
        player: int,
        opponent: int,
        limits: Limits,
        *,
        control: Any = None,
        progress: Progress | None = None,
        welcome: object = None,
        **options: Any,
    ) -> Result:
        """See `SearchProtocol`; ``control`` is a `_SessionControl`, ``welcome`` is ignored.

        Raises `Abandoned` if stopped before any turn, and what ``progress`` raises.
        """
        search = _SessionSearch(
            self._helpers,
            self._owner,
            player,
            opponent,
            limits,
            most_threads=self._threads,
            progress=_without_repetitions(progress) if progress is not None else None,
            **options,
        )
        control.search = search
        search.workers.scheduler.add(search)
        if control.stopped:
            search.stop()
        search.over.wait()
        if search.error is not None:
            raise search.error
        if search.result is None:
            raise Abandoned
        return search.result._replace(nodes=search.nodes, time_ms=search.ms)

    def evaluate(self, player: int, opponent: int) -> float:
        """See `SearchProtocol`."""
        workers = self._helpers.workers
        with workers.scheduler.lease(self._owner.purpose, key=self._owner.key, client=self._owner.client):
            engine = workers.engines.borrow()
            try:
                return engine.searcher.evaluate(player, opponent)
            finally:
                workers.engines.give_back(engine)

    def clear(self) -> None:
        """Do nothing: other sessions use the same tables."""


class _SessionSearch(ResumableSearch):
    """A search for which a session waits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.over = threading.Event()
        self.error: Exception | None = None

    def ended(self) -> None:
        """See `ResumableSearch.ended`."""
        self.over.set()

    def fail(self, error: Exception) -> None:
        """See `Work.fail`."""
        self.error = error
        self.over.set()


def _without_repetitions(progress: Progress) -> Progress:
    """Report each line once: a resumed search repeats its first iterations."""
    reported: dict[int, tuple[int, int]] = {}

    def report(rank: int, line: Line) -> None:
        reached = (line.depth, line.selectivity)
        if reached > reported.get(rank, (-1, 0)):
            reported[rank] = reached
            progress(rank, line)

    return report
