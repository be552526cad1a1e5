"""Idle threads that help a search: they come, make room at once for whoever wants a thread, and come back."""

from __future__ import annotations

import threading
import time

import pytest
from fake_engine import build_fake
from waits import until

from desdaemon.core.search.scheduler import Lease, Purpose, Scheduler, Task
from desdaemon.core.search.workers import EnginePool, HelpedSearch, HelperPool, SearchThreads

SLOTS = 8


class FakeTeam:
    """Seats without an engine: a helper stays until it is sent away, or the search is over."""

    def __init__(self) -> None:
        self.open = True
        self.helping: dict[int, threading.Event] = {}
        self.lock = threading.Lock()
        self.joined = 0

    def join(self) -> int:
        with self.lock:
            if not self.open:
                return 0
            self.joined += 1
            self.helping[self.joined] = threading.Event()
            return self.joined

    def help(self, seat: int) -> None:
        assert self.helping[seat].wait(60)
        with self.lock:
            del self.helping[seat]

    def dismiss(self, seat: int) -> None:
        with self.lock:
            event = self.helping.get(seat)
        if event:
            event.set()

    def close(self) -> None:
        with self.lock:
            self.open = False
            events = list(self.helping.values())
        for event in events:
            event.set()


class Served:
    """A scheduler with searches that hold one thread each, and can be helped."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(SLOTS)
        self.pool = HelperPool(SearchThreads(self.scheduler, EnginePool(build_fake, SLOTS, 10)))

    def occupy(self, client: str, threads: int = 1) -> Task:
        """A search that takes a thread and keeps it."""
        item = Lease(Purpose.ANALYSIS, client, client, threads=threads)
        self.scheduler.add(item)
        assert item.news.wait(60)
        return item

    def helped(self, key: str, threads: int = 0) -> tuple[FakeTeam, HelpedSearch]:
        team = FakeTeam()
        search = HelpedSearch(team, self.pool.most(threads), key)
        self.pool.open(search)
        return team, search

    def end(self, team: FakeTeam, search: HelpedSearch) -> None:
        team.close()
        self.pool.close(search)
        until(lambda: not team.helping)

    def quiet(self) -> bool:
        return not self.scheduler._schedule.running and not self.scheduler.queued


@pytest.fixture
def served() -> Served:
    return Served()


def test_a_lonely_search_has_all_threads_and_gives_them_back(served: Served) -> None:
    main = served.occupy("one")
    team, search = served.helped("one")
    until(lambda: len(team.helping) == SLOTS - 1)
    # Nobody is told that they run: they are there for whoever comes.
    assert (served.scheduler.running, served.scheduler.queued) == (1, 0)
    others = [served.occupy(f"other {number}") for number in range(3)]
    until(lambda: len(team.helping) == SLOTS - 4)
    for other in others:
        served.scheduler.release(other)
    until(lambda: len(team.helping) == SLOTS - 1)
    wide = served.occupy("wide", threads=SLOTS)
    assert wide.granted == SLOTS - 1
    served.scheduler.release(wide)
    until(lambda: len(team.helping) == SLOTS - 1)
    served.end(team, search)
    served.scheduler.release(main)
    until(served.quiet)


def test_two_searches_have_equal_parts(served: Served) -> None:
    first_main = served.occupy("one")
    first, first_search = served.helped("one")
    until(lambda: len(first.helping) == SLOTS - 1)
    second_main = served.occupy("two")
    second, second_search = served.helped("two")
    until(lambda: (len(first.helping), len(second.helping)) == (SLOTS // 2 - 1, SLOTS // 2 - 1))
    served.end(first, first_search)
    served.scheduler.release(first_main)
    until(lambda: len(second.helping) == SLOTS - 1)
    served.end(second, second_search)
    served.scheduler.release(second_main)
    until(served.quiet)


def test_a_search_that_wants_few_leaves_the_others_to_the_next(served: Served) -> None:
    few, few_search = served.helped("few", threads=3)
    until(lambda: len(few.helping) == 2)
    many, many_search = served.helped("many")
    until(lambda: len(many.helping) == SLOTS - 3)
    assert len(few.helping) == 2
    served.end(few, few_search)
    until(lambda: len(many.helping) == SLOTS - 1)
    served.end(many, many_search)
    until(served.quiet)


def test_the_time_of_helpers_is_that_of_the_key_whose_search_it_is(served: Served) -> None:
    team, search = served.helped("one")
    until(lambda: len(team.helping) == SLOTS - 1)
    time.sleep(0.02)
    served.end(team, search)
    until(served.quiet)
    accounts = dict(served.scheduler.accounts.listed())
    assert set(accounts) == {"one"}
    assert accounts["one"].seconds > 0.02 * (SLOTS - 1)


def test_a_helper_that_comes_too_late_leaves(served: Served) -> None:
    """The search may be over before its helpers have threads."""
    for _ in range(50):
        team, search = served.helped("one")
        team.close()
        served.pool.close(search)
    until(served.quiet)
    team, search = served.helped("one")
    until(lambda: len(team.helping) == SLOTS - 1)
    served.end(team, search)
    until(served.quiet)
