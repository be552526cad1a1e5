"""The search threads, their work, and their engines, which all have the same weights.

- `EnginePool` lends engines of one thread each; `SearchThreads` carries out the turns of `Work`.
- `ResumableSearch` is a search of one or more turns: interrupted for another one, it goes on in its next turn.
- `HelperPool` has idle threads join searches that can use them, and leave when something else wants them. A search of
  `desdaemon.engine.search.Searcher` can be joined once it has come to iterations that are worth sharing (``welcome``).
  As long as there are such searches the pool asks the scheduler for idle threads, and each helps the search that has
  fewest helpers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.core.threads import step_back
from desdaemon.protocol.system.threads import begin

from .loader import EngineConfig, EngineFailure, LoadedEngine, built
from .scheduler import Purpose, Scheduler, Task

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result
    from desdaemon.engine.team import Team

    from .loader import Stoppable


class EnginePool:
    """Engines of one search thread each; all other search threads may join their searches. Any thread may use it."""

    def __init__(
        self, build: Callable[[EngineConfig], LoadedEngine], most: int, hash_bits: int, eval_file: str = ""
    ) -> None:
        """``build`` makes an engine and may raise `EngineFailure`. ``most`` is the number of search threads, and of
        idle engines that are kept. A table has 2 to the power ``hash_bits`` entries.
        """
        self._build = build
        self._most = most
        self._config = EngineConfig(1, hash_bits, eval_file, most - 1)
        self._idle: list[LoadedEngine] = []
        self._lock = threading.Lock()

    def borrow(self, prefer: int = 0) -> LoadedEngine:
        """Lease an engine, a new one if none is idle, until `give_back`. Raises `EngineFailure` if none can be built.

        ``prefer`` is the ``id`` of a searcher to lease if it is idle, because its table has this search's results.
        """
        with self._lock:
            if self._idle:
                place = next((place for place, engine in enumerate(self._idle) if id(engine.searcher) == prefer), -1)
                return self._idle.pop(place)
        return built(self._build, self._config)

    def give_back(self, engine: LoadedEngine) -> None:
        """Return a leased engine to the pool, which drops it and its table if ``most`` engines are idle."""
        with self._lock:
            if len(self._idle) < self._most:
                self._idle.append(engine)


class Owner(NamedTuple):
    """The key, the client and the purpose to which a search is charged. Of one client's searches for a purpose those of
    higher ``priority`` come first.
    """

    purpose: Purpose
    key: Hashable
    client: Hashable
    priority: int = 0


class Work(Task):
    """A task of one thread that gets an engine of the pool for each turn."""

    engine = 0
    """``id`` of the searcher of the last turn, whose table may still have this search's results; 0 before the first."""

    def __init__(self, workers: SearchThreads, owner: Owner, *, restarts: bool = False) -> None:
        super().__init__(owner.purpose, owner.key, owner.client, priority=owner.priority, restarts=restarts)
        self.workers = workers

    def start(self) -> None:
        self.workers.put(self)

    def turn(self, engines: EnginePool) -> bool:
        """Use the thread until the turn ends. Returns whether to wait for another turn. Must not raise."""
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
        """Search for one turn. Returns whether to wait for another one. Must not raise: if the search raises, call
        `fail` and return False.
        """
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Give up because of ``error``: there is no engine, or the search has raised it. Must not raise."""
        raise NotImplementedError

    def release(self, *, again: bool) -> None:
        """Release the thread; with ``again`` wait for another turn."""
        self.workers.scheduler.release(self, again=again)


class SearchThreads:
    """The search threads, the first started at once, the others on demand; each runs one turn of a `Work` at a time.
    Any thread may call `put`.
    """

    def __init__(self, scheduler: Scheduler, engines: EnginePool) -> None:
        self.scheduler = scheduler
        self.engines = engines
        self._waiting: deque[Work] = deque()
        self._lock = threading.Condition()
        self._free = 0
        """Number of threads that wait for work."""
        self._local = threading.local()
        begin(self._run, "search")

    def put(self, work: Work) -> None:
        """Have a search thread run a turn of ``work``; returns at once. If the calling thread is a search thread that
        has just ended a turn, it runs this one itself.
        """
        if getattr(self._local, "between", False):
            # Called by a thread that has just ended a turn: it goes on with this one, sooner than another thread would
            # wake.
            self._local.between, self._local.next = False, work
            return
        with self._lock:
            self._waiting.append(work)
            if self._free >= len(self._waiting):
                self._lock.notify()
                return
        # Where the system has no room for another thread, those that there are take it.
        with contextlib.suppress(RuntimeError):
            begin(self._run, "search")

    def _run(self) -> None:
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


class HelperPool:
    """Idle threads and the searches that they may help. Any thread may call the methods."""

    def __init__(self, workers: SearchThreads) -> None:
        self.workers = workers
        self.scheduler = workers.scheduler
        self._lock = threading.Lock()
        self._searches: dict[HelpedSearch, None] = {}
        self._resting = [_Helper(self) for _ in range(self.scheduler.slots - 1)]
        """Helpers without a thread that do not wait for one."""

    def most(self, threads: int) -> int:
        """Return how many helpers a search with up to ``threads`` threads (0: all) can have besides its own thread."""
        return min(threads or self.scheduler.slots, self.scheduler.slots) - 1

    @contextlib.contextmanager
    def helped(self, engine: LoadedEngine, threads: int, key: Hashable) -> Iterator[Callable[[], None] | None]:
        """Return a context manager: within the block idle threads may join a search on ``engine``, up to ``threads`` in
        all (0: all).

        Pass the block's value to the search as ``welcome``. It is a function, which lets threads join once it is
        called, or None if no thread can join.
        """
        most = self.most(threads)
        team: Team | None = getattr(engine.searcher, "team", None) if most else None
        if team is None:
            yield None
            return
        search = HelpedSearch(team, most, key)
        try:
            yield partial(self.open, search)
        finally:
            self.close(search)

    def open(self, search: HelpedSearch) -> None:
        """Let helpers join ``search`` and request idle threads for them. Other searches that have more than an equal
        share of helpers lose the excess.
        """
        with self._lock:
            self._searches[search] = None
            part = -(-sum(len(other.helpers) for other in self._searches) // len(self._searches))
            leaving = [helper for other in self._searches for helper in list(other.helpers)[max(1, part) :]]
            woken = [self._resting.pop() for _ in range(min(search.most, len(self._resting)))]
        for helper in leaving:
            helper.interrupt()
        for helper in woken:
            helper.key = search.key
            self.scheduler.add(helper)

    def close(self, search: HelpedSearch) -> None:
        """Let no more helpers join a search, if any could."""
        with self._lock:
            self._searches.pop(search, None)

    def join(self, helper: _Helper) -> tuple[HelpedSearch, int] | None:
        """Add ``helper`` to the search with the fewest helpers that has room. Returns the search and the helper's seat
        in its team; None if no search has room.
        """
        with self._lock:
            for search in sorted(self._searches, key=lambda each: len(each.helpers)):
                if len(search.helpers) < search.most and (seat := search.team.join()):
                    search.helpers[helper] = None
                    return search, seat
        return None

    def part(self, helper: _Helper, search: HelpedSearch) -> None:
        """Remove a helper from a search that it has left."""
        with self._lock:
            del search.helpers[helper]

    def turn_over(self, helper: _Helper) -> None:
        """Release a helper's thread after its turn. If a search has room for it, the helper waits for another thread,
        otherwise it rests.
        """
        self.scheduler.release(helper)
        with self._lock:
            wanted = next((each for each in self._searches if len(each.helpers) < each.most), None)
            if wanted is None:
                self._resting.append(helper)
        if wanted is not None:
            helper.key = wanted.key
            self.scheduler.add(helper)


class HelpedSearch:
    """A search that threads may join between `HelperPool.open` and `HelperPool.close`; ``key`` is charged for their
    time.
    """

    def __init__(self, team: Team, most: int, key: Hashable) -> None:
        """Up to ``most`` threads help at a time."""
        self.team = team
        self.most = most
        self.key = key
        self.helpers: dict[_Helper, None] = {}
        """The present helpers, in a dict for its order; guarded by the pool's lock."""


class _Helper(Work):
    """A task on an idle thread. In each turn it helps one search, with that search's engine."""

    def __init__(self, pool: HelperPool) -> None:
        super().__init__(pool.workers, Owner(Purpose.IDLE, "", ""))
        self._pool = pool
        self._lock = threading.Lock()
        self._seat: tuple[HelpedSearch, int] | None = None

    def interrupt(self) -> None:
        with self._lock:
            seated = self._seat
        if seated is not None:
            search, seat = seated
            search.team.dismiss(seat)

    def turn(self, _: EnginePool) -> bool:
        with self._lock:
            # The scheduler may interrupt the turn before this thread has begun it.
            seated = self._seat = None if self.interrupted else self._pool.join(self)
        if seated is not None:
            search, seat = seated
            self.key = search.key
            try:
                search.team.help(seat)
            finally:
                with self._lock:
                    self._seat = None
                self._pool.part(self, search)
        return False

    def release(self, *, again: bool) -> None:
        """Give the thread back; wait for another one if a search wants help."""
        self._pool.turn_over(self)


class ResumableSearch(Work):
    """A search in one or more turns, and its cost.

    Either `ended` or `fail`, which subclasses define, is called once. Any thread may call `stop` and `spent`.
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
        """``options`` are those of `SearchProtocol.search`.

        Up to ``most_threads`` search at a time (0: all), all but the first on idle threads. A search that ``restarts``
        begins each turn with an empty table and its full limits.
        """
        super().__init__(helpers.workers, owner, restarts=restarts)
        self.nodes = 0
        self.ms = 0.0
        """Milliseconds of the turns that are over."""
        self.result: Result | None = None
        """The result of the last turn; None before the first one ends."""
        self.stopped = False
        self._helpers = helpers
        self._player = player
        self._opponent = opponent
        self._limits = limits
        """Limits of the next turn."""
        self._most_threads = most_threads
        self._options = options
        self._lock = threading.Lock()
        self._control: Stoppable | None = None
        """The control of the running turn; None between turns."""
        self._interrupted = False
        """Whether the turn must end for another task. An `interrupt` that came too late for the last turn ends this
        one.
        """
        self._began = 0.0

    @property
    def searching(self) -> bool:
        """Whether an engine searches now."""
        return self._control is not None

    def ended(self) -> None:
        """Called once, from any thread, when the search is over or was stopped."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the search: at once if it waits for a turn, otherwise soon. Does nothing if it is over."""
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
        with self._lock:
            self._interrupted = True
            control = self._control
        if control is not None:
            control.stop()

    def run(self, engine: LoadedEngine) -> bool:
        try:
            again = self.search(engine)
            if not again:
                self.ended()
            return again
        except Exception as error:
            self.fail(error)
            return False

    def release(self, *, again: bool) -> None:
        super().release(again=again)
        if again and self.stopped:
            self._end_if_waiting()

    def search(self, engine: LoadedEngine, most_nodes: int = 0, **options: Any) -> bool:
        """Search for one turn, within the limits left and up to ``most_nodes`` (0: no further limit), set ``result``
        and charge the nodes to the key; ``options`` are passed to the engine's search besides those of the constructor.

        Returns whether another turn is needed. Does not search if the search was stopped or the turn interrupted before
        it began.
        """
        control = engine.new_control()
        with self._lock:
            self._interrupted = self.interrupted
            if self.stopped or self._interrupted:
                return not self.stopped
            self._control = control
            self._began = time.perf_counter()
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
        """Reduce the limits of the next turn by the cost of this one, unless the search restarts. Returns False if
        nothing is left.
        """
        if not self.restarts:
            limits = self._limits
            nodes, ms = limits.nodes - result.nodes, limits.time_ms - int(result.time_ms)
            if (limits.nodes and nodes <= 0) or (limits.time_ms and ms <= 0):
                return False
            self._limits = limits._replace(nodes=max(0, nodes), time_ms=max(0, ms))
        return True

    def spent(self) -> tuple[int, float]:
        """Return the nodes and milliseconds of all turns so far; a running turn adds its nodes only if its control
        counts them.
        """
        with self._lock:
            if self._control is None:
                return self.nodes, self.ms
            running_ms = (time.perf_counter() - self._began) * 1000
            return self.nodes + getattr(self._control, "nodes", 0), self.ms + running_ms
