"""The loop of the sockets on a system without epoll: what clients see is the same."""

from __future__ import annotations

import selectors
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from operated import Operated

from desdaemon.protocol.wire import codec
from desdaemon.server.endpoints import open_acceptors
from desdaemon.server.sockets import Sockets
from desdaemon.server.transport.poller import Poller, SelectorReadiness

PATIENCE_MS = 60_000


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    services = Operated(tmp_path).services
    acceptors = open_acceptors("", ["tcp://127.0.0.1:0"], None, insecure=False)
    poller = Poller(SelectorReadiness(selectors.SelectSelector()))
    sockets = Sockets(acceptors, services.operations, services.texts, services.health, lambda: None, poller)
    thread = threading.Thread(target=sockets.run)
    thread.start()
    yield acceptors[0].endpoints[0]
    sockets.stop()
    thread.join(PATIENCE_MS / 1000)
    assert not thread.is_alive()


def dealer(context: zmq.Context[Any], endpoint: str) -> zmq.Socket[bytes]:
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.rcvhwm = socket.sndhwm = 0
    socket.rcvtimeo = PATIENCE_MS
    socket.connect(endpoint)
    return socket


def test_requests_floods_and_clients_that_leave(endpoint: str) -> None:
    with zmq.Context() as context:
        first, second = dealer(context, endpoint), dealer(context, endpoint)
        # More than an outbox and the system's buffers hold before anything is read: the daemon stops reading meanwhile.
        count = 5_000
        for number in range(count):
            first.send(codec.encode({"v": 1, "id": number, "op": "legal"}))
        second.send(codec.encode({"v": 1, "id": 1, "op": "analyze", "args": {"moves": "f5", "level": 2}}))
        assert codec.decode(second.recv())["type"] == "final"
        for number in range(count):
            reply = codec.decode(first.recv())
            assert (reply["id"], reply["type"]) == (number, "final")
        for _ in range(20):
            third = dealer(context, endpoint)
            for number in range(200):
                third.send(codec.encode({"v": 1, "id": number, "op": "legal"}))
            third.close()
        second.send(codec.encode({"v": 1, "id": 2, "op": "ping"}))
        assert codec.decode(second.recv())["id"] == 2
        first.close()
        second.close()
