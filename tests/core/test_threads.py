"""Threads that are begun without waiting for them, and pools of them."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

import pytest

from desdaemon.core import threads as pools
from desdaemon.core.threads import ThreadPool
from desdaemon.protocol.system import threads

WAIT_S = 30


class NobodyWaits(queue.SimpleQueue[object]):
    """No thread ever waits for work here, and those that an earlier test left behind end instead of joining."""

    def qsize(self) -> int:
        return 2

    def get_nowait(self) -> object:
        raise queue.Empty

    def get(self, block: bool = True, timeout: float | None = None) -> object:
        raise queue.Empty


class Machine:
    """Threads that run when the test says so, in place of `begin`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[Callable[[], None]] = []
        monkeypatch.setattr(pools, "begin", lambda work, name: self.begun.append(work))


def test_nobody_waits_for_a_thread_that_does_not_run_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    pool = ThreadPool(2, "worker")
    done: list[int] = []
    for number in range(4):
        pool.submit(lambda number=number: done.append(number))  # type: ignore[misc]
    assert done == []
    assert len(machine.begun) == 2
    pool.submit(pool.close)
    machine.begun[0]()
    assert done == [0, 1, 2, 3]


def test_idle_threads_are_used_again() -> None:
    pool = ThreadPool(4, "worker")
    used: set[int] = set()
    for _ in range(50):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            used.add(threading.get_ident())
            done.set()

        pool.submit(work)
        assert done.wait(WAIT_S)
        # Until the thread waits again, another one may be begun for the next.
        while not pool._idle:
            time.sleep(0.001)
    assert len(used) == 1
    pool.close()


def test_threads_are_prepared_and_waiting_work_has_its_own() -> None:
    prepared: list[int] = []
    pool = ThreadPool(3, "worker", lambda: prepared.append(threading.get_ident()))
    meeting = threading.Barrier(4)
    for _ in range(3):
        pool.submit(lambda: meeting.wait(WAIT_S) and None)
    meeting.wait(WAIT_S)
    assert len(prepared) == 3
    pool.close()


def test_after_its_end_a_pool_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    pool = ThreadPool(2, "worker")
    pool.submit(lambda: pytest.fail("begun after the end"))
    pool.close()
    pool.submit(lambda: pytest.fail("begun after the end"))
    for thread in machine.begun:
        thread()


def test_work_without_any_thread_is_refused_and_with_one_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without memory starts no thread."""
    none, one, done = ThreadPool(2, "none"), ThreadPool(2, "one", begun=True), threading.Event()

    def refuse(work: Callable[[], None], name: str) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pools, "begin", refuse)
    with pytest.raises(RuntimeError):
        none.submit(done.set)
    assert not none.waiting
    hold = threading.Event()
    one.submit(hold.wait)
    one.submit(done.set)
    assert not done.is_set()
    hold.set()
    assert done.wait(60)
    monkeypatch.undo()
    done.clear()
    none.submit(done.set)
    assert done.wait(60)


def test_a_thread_that_dies_at_its_birth_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may have room for a thread, and none for its first call."""
    done = threading.Event()
    with monkeypatch.context() as little:
        little.setattr(threads, "_idle", NobodyWaits())
        little.setattr(threads._thread, "start_new_thread", lambda *arguments: 1)
        with pytest.raises(RuntimeError):
            threads.begin(done.set, "worker")
    assert not done.is_set()
    threads.begin(done.set, "worker")
    assert done.wait(WAIT_S)


def test_many_begin_at_once_and_few_threads_stay() -> None:
    meeting = threading.Barrier(21)
    for number in range(20):
        threads.begin(lambda: meeting.wait(WAIT_S) and None, f"worker-{number}")
    meeting.wait(WAIT_S)
    assert threads._idle.qsize() <= 2


def test_the_end_of_a_thread_is_an_event() -> None:
    may_end = threading.Event()
    over = threads.begun(lambda: may_end.wait(WAIT_S) and None, "worker")
    assert not over.is_set()
    may_end.set()
    assert over.wait(WAIT_S)
