"""What holds the loop of the sockets is in the log."""

from __future__ import annotations

import threading
import time

from desdaemon.server.loop_watchdog import LoopWatchdog, stacks
from desdaemon.server.transport.poller import Poller


class Noted:
    """A log that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, object]] = []
        self.news = threading.Event()

    def debug(self, event: str, **fields: object) -> None:
        self.told.append({"event": event, **fields})
        self.news.set()


def test_a_turn_that_lasts_long_is_logged_with_its_stack() -> None:
    poller, log = Poller(), Noted()
    LoopWatchdog(poller, log).start(threading.get_ident())  # type: ignore[arg-type]
    assert not log.told
    poller.woke = time.monotonic()
    assert log.news.wait(60)
    poller.woke = 0.0
    assert len(log.told) == 1
    assert "test_a_turn_that_lasts_long" in str(log.told[0]["stacks"]).partition(";")[0]
    poller.close()


def test_the_loop_comes_first_and_the_one_who_asks_is_left_out() -> None:
    begun, over = threading.Event(), threading.Event()

    def other() -> None:
        begun.set()
        over.wait(60)

    thread = threading.Thread(target=other, name="the other")
    thread.start()
    begun.wait(60)
    assert thread.ident is not None
    told = stacks(thread.ident)
    over.set()
    thread.join(60)
    assert told.startswith("the other: ")
    assert "test_the_loop_comes_first" not in told
