"""Search threads that nothing else wants join searches that can use them, and leave when something does want them.

A search of `desdaemon.engine.search.Searcher` lets other threads join it once it has come to iterations that are worth
sharing (``welcome``). `HelperPool` asks the scheduler for idle threads for as long as there are such searches, and has
each of them help the search that has fewest helpers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

from .loader import LoadedEngine
from .scheduler import Purpose
from .workers import EnginePool, Owner, SearchThreads, Work


class Joinable(Protocol):
    """The threads of a search that others may join: `desdaemon.engine.team.Team`. Any thread."""

    def join(self) -> int:
        """Return a seat for a thread that will call `help`; 0 if there is none."""

    def help(self, seat: int) -> None:
        """Search until the search is over or `dismiss` is called."""

    def dismiss(self, seat: int) -> None:
        """Have the helper in that seat return soon."""


class HelperPool:
    """Idle threads and the searches that they may help. Every method may be called from any thread."""

    def __init__(self, workers: SearchThreads) -> None:
        self.workers = workers
        self.scheduler = workers.scheduler
        self._lock = threading.Lock()
        self._searches: dict[HelpedSearch, None] = {}
        self._resting = [_Helper(self) for _ in range(self.scheduler.slots - 1)]
        """Helpers that neither wait for a thread nor have one."""

    def most(self, threads: int) -> int:
        """The number of helpers that a search by at most ``threads`` threads (0: all) can have."""
        return min(threads or self.scheduler.slots, self.scheduler.slots) - 1

    @contextmanager
    def helped(self, engine: LoadedEngine, threads: int, key: Hashable) -> Iterator[Callable[[], None] | None]:
        """A context in which idle threads may join a search on ``engine``, ``threads`` in all at most (0: all).

        Its value is the search's ``welcome``; None if no thread can join.
        """
        most = self.most(threads)
        team: Joinable | None = getattr(engine.searcher, "team", None) if most else None
        if team is None:
            yield None
            return
        search = HelpedSearch(self, team, most, key)
        try:
            yield search.begin
        finally:
            search.end()

    def open(self, search: HelpedSearch) -> None:
        """A search can be joined from now on; others that have more than an equal part of the helpers lose some."""
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
        """That search is over, or never came so far."""
        with self._lock:
            self._searches.pop(search, None)

    def join(self, helper: _Helper) -> tuple[HelpedSearch, int] | None:
        """Find the search with fewest helpers. Returns it with a seat there; None if no search wants another one."""
        with self._lock:
            for search in sorted(self._searches, key=lambda each: len(each.helpers)):
                if len(search.helpers) < search.most and (seat := search.team.join()):
                    search.helpers[helper] = None
                    return search, seat
        return None

    def part(self, helper: _Helper, search: HelpedSearch) -> None:
        """A helper has left its search."""
        with self._lock:
            del search.helpers[helper]

    def turn_over(self, helper: _Helper) -> None:
        """A helper's thread is needed elsewhere, or there was nothing for it to do."""
        self.scheduler.release(helper)
        with self._lock:
            wanted = next((each for each in self._searches if len(each.helpers) < each.most), None)
            if wanted is None:
                self._resting.append(helper)
        if wanted is not None:
            helper.key = wanted.key
            self.scheduler.add(helper)


class HelpedSearch:
    """A search that idle threads may join between `begin`, its ``welcome``, and `end`. Their time is ``key``'s."""

    def __init__(self, pool: HelperPool, team: Joinable, most: int, key: Hashable) -> None:
        """``most`` threads at most help at a time."""
        self.team = team
        self.most = most
        self.key = key
        self.helpers: dict[_Helper, None] = {}
        """Those that help now; the pool's lock guards them."""
        self._pool = pool

    def begin(self) -> None:
        """It can be joined from now on."""
        self._pool.open(self)

    def end(self) -> None:
        """No helper comes any more."""
        self._pool.close(self)


class _Helper(Work):
    """One idle thread at most: a task of which every turn is spent on one search, with that search's engine."""

    def __init__(self, pool: HelperPool) -> None:
        super().__init__(pool.workers, Owner(Purpose.IDLE, "", ""))
        self._pool = pool
        self._lock = threading.Lock()
        self._seat: tuple[HelpedSearch, int] | None = None

    def interrupt(self) -> None:
        """See `Task.interrupt`."""
        with self._lock:
            seated = self._seat
        if seated is not None:
            search, seat = seated
            search.team.dismiss(seat)

    def turn(self, _: EnginePool) -> bool:
        """See `Work.turn`."""
        with self._lock:
            # An instruction to leave may come before the one to start.
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
        """See `Work.release`; it waits for another turn if a search wants it."""
        self._pool.turn_over(self)
