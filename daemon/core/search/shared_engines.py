"""The engine of a remote text session: its searches wait for turns on the daemon's search threads, as requests do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from .loader import Abandoned, EngineConfig, LoadedEngine
from .scheduler import Lease, Purpose
from .workers import HelperPool, Owner, ResumableSearch

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line, Result

    from .loader import Progress


class SharedEngines:
    """The engines of one remote session (`loader.Engines`), lent by the daemon's pool for each turn of a search."""

    def __init__(self, helpers: HelperPool, key: Hashable, client: Hashable) -> None:
        """``key`` and ``client`` are charged for the searches."""
        self._helpers = helpers
        self._owner = Owner(Purpose.INTERACTIVE, key, client)

    def prepare(self, config: EngineConfig, on_failure: Callable[[str], None] | None = None) -> None:
        """Do nothing: an engine is built when a search needs one. ``on_failure`` is never called."""

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        """Return an engine at once; if none can be built, its searches raise `EngineFailure`. Of ``config`` only
        ``threads`` counts: the daemon's pool decides the rest, and ``abandoned`` is never called.
        """
        return LoadedEngine(_SessionSearcher(self._helpers, self._owner, config.threads), _SessionControl)


class _SessionControl:
    """Stops a session's search, also if `stop` is called before the search begins."""

    def __init__(self) -> None:
        self.stopped = False
        self.search: _SessionSearch | None = None

    def stop(self) -> None:
        self.stopped = True
        if self.search is not None:
            self.search.stop()


class _SessionSearcher:
    """A searcher whose searches run on the daemon's search threads while the caller waits."""

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
        """Search as `SearchProtocol` says, in one or more turns, and return the last turn's result with the nodes and
        time of all. ``control`` is a `_SessionControl`, ``welcome`` is ignored.

        Raises `Abandoned` if stopped before the first turn, `EngineFailure` without an engine, and the exceptions of
        ``progress``.
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
        workers = self._helpers.workers
        with workers.scheduler.turn_of(Lease(self._owner.purpose, self._owner.key, self._owner.client)):
            engine = workers.engines.borrow()
            try:
                return engine.searcher.evaluate(player, opponent)
            finally:
                workers.engines.give_back(engine)

    def clear(self) -> None:
        """Do nothing: other sessions use the tables too."""


class _SessionSearch(ResumableSearch):
    """The search that a session's thread waits for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.over = threading.Event()
        self.error: Exception | None = None

    def ended(self) -> None:
        self.over.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.over.set()


def _without_repetitions(progress: Progress) -> Progress:
    """Return a callback that passes on to ``progress`` only lines that are better than the last one of their rank:
    deeper, or as deep with a higher selectivity. A resumed search repeats its first iterations.
    """
    reported: dict[int, tuple[int, int]] = {}

    def report(rank: int, line: Line) -> None:
        reached = (line.depth, line.selectivity)
        if reached > reported.get(rank, (-1, 0)):
            reported[rank] = reached
            progress(rank, line)

    return report
