"""The executor of the book's work."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError

import pytest

from desdaemon.protocol.system import executor
from desdaemon.protocol.system.executor import Executor

WAIT_S = 30


def test_calls_run_on_several_threads_and_results_keep_their_order() -> None:
    meeting = threading.Barrier(3)

    def work(number: int) -> int:
        meeting.wait(WAIT_S)
        return number

    with Executor(3) as pool:
        assert list(pool.map(work, range(6))) == [0, 1, 2, 3, 4, 5]


def test_a_call_s_exception_is_that_of_its_future() -> None:
    with Executor(2) as pool:
        future = pool.submit(divmod, 1, 0)
        with pytest.raises(ZeroDivisionError):
            future.result(WAIT_S)
        assert pool.submit(divmod, 7, 2).result(WAIT_S) == (3, 1)


def test_a_cancelled_call_is_left_out_and_the_end_waits_for_the_others() -> None:
    go_on, done = threading.Event(), []
    with Executor(1) as pool:
        pool.submit(go_on.wait, WAIT_S)
        cancelled = pool.submit(done.append, 1)
        pool.submit(lambda: (time.sleep(0.05), done.append(2)))
        assert cancelled.cancel()
        go_on.set()
    assert done == [2]
    with pytest.raises(CancelledError):
        cancelled.result(0)


def test_without_room_for_threads_those_that_there_are_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, begun = executor.begun, []

    def one_at_most(*arguments: object) -> threading.Event:
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(begin(*arguments))  # type: ignore[arg-type]
        return begun[0]

    monkeypatch.setattr(executor, "begun", one_at_most)
    with Executor(4) as pool:
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]
    with Executor(4) as pool, pytest.raises(RuntimeError, match="can't start new thread"):
        pool.submit(abs, -1)
