"""The scheduler for threads: leases, interruptions, and the clock."""

from __future__ import annotations

import threading
import time

import pytest

from desdaemon.core.search.loader import Abandoned
from desdaemon.core.search.scheduler import Lease, Purpose, Scheduler, Task


def test_a_lease_waits_for_its_turn_and_is_given_up() -> None:
    scheduler = Scheduler(1)
    order: list[str] = []
    ready = threading.Event()

    def second() -> None:
        ready.set()
        with scheduler.turn_of(Lease(Purpose.ANALYSIS, "k", "b")):
            order.append("second")

    with scheduler.turn_of(Lease(Purpose.ANALYSIS, "k", "a")):
        thread = threading.Thread(target=second)
        thread.start()
        ready.wait()
        abandoned = scheduler.turn_of(Lease(Purpose.INTERACTIVE, "k", "c"), lambda: True)
        with pytest.raises(Abandoned), abandoned:
            order.append("never")
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert (scheduler.queued, scheduler.running) == (0, 0)


def test_a_short_question_asks_a_search_to_give_way() -> None:
    scheduler = Scheduler(1)
    asked = threading.Event()
    begun = threading.Event()

    def search() -> None:
        with scheduler.turn_of(Lease(Purpose.BATCH, "k", "job", asked.set)):
            begun.set()
            assert asked.wait(10)

    thread = threading.Thread(target=search)
    thread.start()
    assert begun.wait(10)
    with scheduler.turn_of(Lease(Purpose.INTERACTIVE, "k", "player")):
        assert asked.is_set()
    thread.join(10)


def test_released_items_wait_again_and_are_accounted_for() -> None:
    scheduler = Scheduler(1)
    turns: list[int] = []

    class Item(Task):
        def start(self) -> None:
            turns.append(1)

    item = Item(Purpose.ANALYSIS, "k", "a")
    scheduler.add(item)
    time.sleep(0.01)
    scheduler.release(item, again=True)
    scheduler.release(item)
    assert len(turns) == 2
    ((name, account),) = scheduler.accounts.listed()
    assert name == "k"
    assert account.seconds >= 0.01
    assert (scheduler.queued, scheduler.running) == (0, 0)


def test_many_threads_share_the_slots() -> None:
    scheduler = Scheduler(2)
    inside: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        for _ in range(20):
            with scheduler.turn_of(Lease(Purpose(number % 4), number % 2, number)):
                with lock:
                    inside.append(number)
                    most.append(len(inside))
                time.sleep(0)
                with lock:
                    inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(most) == 120
    assert max(most) <= 2
