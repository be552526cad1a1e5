"""Which sockets are ready: the same with epoll and with what other systems have."""

from __future__ import annotations

import select
import selectors
import socket
from collections.abc import Callable, Iterator

import pytest

from desdaemon.server.transport.poller import (
    LEFT,
    READ,
    WRITE,
    Poller,
    Readiness,
    SelectorReadiness,
)

WAYS: dict[str, Callable[[], Readiness]] = {
    "default selector": SelectorReadiness,
    "select": lambda: SelectorReadiness(selectors.SelectSelector()),
}
if hasattr(selectors, "PollSelector"):
    WAYS["poll"] = lambda: SelectorReadiness(selectors.PollSelector())
if hasattr(select, "epoll"):
    from desdaemon.server.transport.poller import EpollReadiness

    WAYS["epoll"] = EpollReadiness


class Watched:
    """One end of a pair of sockets under a poller, and what was told of it."""

    def __init__(self, poller: Poller, mask: int) -> None:
        self.poller = poller
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.told: list[int] = []
        poller.register(self.ours.fileno(), mask, self.told.append)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.fixture(params=sorted(WAYS))
def poller(request: pytest.FixtureRequest) -> Iterator[Poller]:
    found = Poller(WAYS[request.param]())
    yield found
    found.close()


def test_readiness_follows_what_is_asked_for(poller: Poller) -> None:
    one = Watched(poller, READ)
    poller.poll(0)
    assert one.told == []
    one.theirs.send(b"x")
    poller.poll(60)
    assert one.told == [READ]
    poller.modify(one.ours.fileno(), 0)
    poller.poll(0)
    assert one.told == [READ]
    poller.modify(one.ours.fileno(), WRITE)
    poller.poll(60)
    assert one.told == [READ, WRITE]
    poller.modify(one.ours.fileno(), READ | WRITE)
    poller.poll(60)
    assert one.told == [READ, WRITE, READ | WRITE]
    poller.unregister(one.ours.fileno())
    poller.poll(0)
    assert len(one.told) == 3
    one.close()


def test_a_socket_that_was_paused_can_be_watched_again_or_left(poller: Poller) -> None:
    one, two = Watched(poller, READ), Watched(poller, 0)
    poller.modify(one.ours.fileno(), 0)
    for each in (one, two):
        each.theirs.send(b"x")
    poller.unregister(two.ours.fileno())
    poller.modify(one.ours.fileno(), READ)
    poller.poll(60)
    assert (one.told, two.told) == ([READ], [])
    poller.register(two.ours.fileno(), READ, two.told.append)
    poller.poll(60)
    assert two.told == [READ]
    for each in (one, two):
        poller.unregister(each.ours.fileno())
        each.close()


def test_the_end_of_a_connection_is_noticed(poller: Poller) -> None:
    one = Watched(poller, READ)
    one.theirs.close()
    poller.poll(60)
    assert one.told[0] & READ
    assert one.ours.recv(1) == b""
    poller.unregister(one.ours.fileno())
    one.ours.close()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="epoll alone tells of it")
def test_epoll_tells_of_a_peer_that_has_left_while_nothing_is_read() -> None:
    poller = Poller()
    one = Watched(poller, 0)
    one.theirs.send(b"x")
    poller.poll(0)
    assert one.told == []
    one.theirs.close()
    poller.poll(60)
    assert one.told == [LEFT]
    poller.close()
    one.ours.close()


def test_what_was_unregistered_by_another_handler_is_not_called(poller: Poller) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    told: list[int] = []

    def handler(mine: int) -> Callable[[int], None]:
        def called(mask: int) -> None:
            told.append(mine)
            poller.unregister(pairs[1 - mine][0].fileno())

        return called

    for number, (ours, theirs) in enumerate(pairs):
        poller.register(ours.fileno(), READ, handler(number))
        theirs.send(b"x")
    poller.poll(60)
    assert len(told) == 1
    for ours, theirs in pairs:
        ours.close()
        theirs.close()
