"""Frames before the body come back as they came: of a REQ that marks its requests, and of brokers on the way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import pytest
import zmq
from looped import Loop
from raw_zmtp import GREETING, MORE, RawPeer, frame, request
from served import ENDLESS, Peer
from waits import until

PATIENCE_MS = 60_000


@pytest.fixture
def loop(make: Callable[..., Loop]) -> Loop:
    return make()


@contextlib.contextmanager
def brokered(loop: Loop) -> Iterator[tuple[zmq.Context[zmq.Socket[bytes]], str]]:
    """A broker as ZeroMQ's guide has it: clients at a ROUTER, the daemon at a DEALER."""
    with zmq.Context() as context:
        front, back = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        front.linger = back.linger = 0
        front.bind("inproc://front")
        back.connect(loop.ipc)

        def run() -> None:
            with contextlib.suppress(zmq.ContextTerminated):
                zmq.proxy(front, back)
            front.close()
            back.close()

        broker = threading.Thread(target=run)
        broker.start()
        yield context, "inproc://front"
        # Clients have closed their sockets by now.
        context.term()
        broker.join()


@contextlib.contextmanager
def socket(context: zmq.Context[zmq.Socket[bytes]], endpoint: str, kind: int) -> Iterator[zmq.Socket[bytes]]:
    made = context.socket(kind)
    made.linger = 0
    made.rcvtimeo = PATIENCE_MS
    if kind == zmq.REQ:
        made.setsockopt(zmq.REQ_CORRELATE, 1)
        made.setsockopt(zmq.REQ_RELAXED, 1)
    made.connect(endpoint)
    yield made
    made.close()


def body(id: object, op: str, **args: Any) -> bytes:
    return bytes(msgpack.packb({"v": 1, "id": id, "op": op, "args": args}))


def test_a_req_that_marks_its_requests_gets_the_reply_to_its_last_one(loop: Loop) -> None:
    with zmq.Context() as context, socket(context, loop.ipc, zmq.REQ) as req, Peer(loop.ipc) as other:
        for moves, legal in (("", 4), ("f5", 3)):
            req.send(body(1, "legal", moves=moves))
            assert len(msgpack.unpackb(req.recv())["data"]["moves"]) == legal
        req.send(b"moves")
        assert req.recv() == b"D3 C4 F5 E6\n"
        # It gives up waiting and asks again, with the id that it had.
        req.send(body(1, "analyze", partial_ms=1, **ENDLESS))
        until(lambda: loop.searching == 1)
        req.send(body(1, "ping"))
        assert msgpack.unpackb(req.recv()) == {"v": 1, "id": 1, "type": "final", "seq": 0, "data": {}}
        assert other.final("status")["running"] == 1


@pytest.mark.parametrize("kind", [zmq.REQ, zmq.DEALER], ids=["REQ", "DEALER"])
def test_two_clients_behind_a_broker_with_the_same_ids(loop: Loop, kind: int) -> None:
    with (
        brokered(loop) as (context, front),
        socket(context, front, kind) as one,
        socket(context, front, kind) as two,
        Peer(loop.ipc) as watching,
    ):
        one.send(body(1, "analyze", **ENDLESS))
        until(lambda: loop.searching == 1)
        two.send(body(1, "analyze", depth=2, partial_ms=1))
        replies = [msgpack.unpackb(two.recv())]
        while replies[-1]["type"] == "partial":
            replies.append(msgpack.unpackb(two.recv()))
        assert (replies[-1]["id"], replies[-1]["type"]) == (1, "final")
        if kind == zmq.REQ:
            assert len(replies) == 1
        for cancel in ({"target": 1}, {"all": True}):
            two.send(body(2, "cancel", **cancel))
            assert not msgpack.unpackb(two.recv())["data"]["cancelled"]
        assert watching.final("status")["running"] == 1
        if kind == zmq.DEALER:
            one.send(body(1, "ping"))
            assert msgpack.unpackb(one.recv())["error"]["code"] == "duplicate_id"
            one.send(body(2, "cancel", target=1))
            found = [msgpack.unpackb(one.recv()) for _ in range(2)]
            assert {each["id"]: each["type"] for each in found} == {1: "error", 2: "final"}


def test_a_req_behind_a_broker_gets_no_partials(loop: Loop) -> None:
    with brokered(loop) as (context, front), socket(context, front, zmq.REQ) as req:
        for _ in range(3):
            req.send(body(1, "analyze", moves="f5d6c3", plies=[0, 1, 2, 3], depth=1))
            assert msgpack.unpackb(req.recv())["type"] == "final"


ENVELOPES = [
    [b""],
    [b"a"],
    [b"", b""],
    [b"a", b""],
    [b"", b"a", b""],
    [b"a"] * 15 + [b""],
    [b"x" * 1024],
    [bytes([number]) * 68 for number in range(15)],
]


@pytest.mark.parametrize("envelope", ENVELOPES, ids=range(len(ENVELOPES)))
@pytest.mark.parametrize("sent", [body(7, "ping"), b"moves", b"\x81\xa2id\x07\x00", body(7, "nonsense")])
def test_an_envelope_comes_back_as_it_came(loop: Loop, envelope: list[bytes], sent: bytes) -> None:
    with Peer(loop.ipc) as peer:
        peer.socket.send_multipart([*envelope, sent])
        assert peer.socket.poll(PATIENCE_MS)
        assert peer.socket.recv_multipart()[:-1] == envelope


@pytest.mark.parametrize("envelope", [[b""] * 17, [b"x" * 1025], [b"", bytes(2 << 20), b""], [b"abc"] * 5000])
def test_too_large_an_envelope_is_refused_by_the_id(loop: Loop, envelope: list[bytes]) -> None:
    with Peer(loop.ipc) as peer:
        peer.socket.send_multipart([*envelope, body(7, "ping")])
        reply = peer.reply()
        assert (reply["id"], reply["error"]["code"]) == (7, "bad_request")
        assert peer.final("ping") == {}


def test_envelopes_count_as_replies_that_are_not_read(make: Callable[..., Loop]) -> None:
    loop = make(backlog_bytes=100_000)
    with RawPeer(loop.ipc).greet() as peer:
        left = (frame(bytes(1000), MORE) + request(1, "ping")) * 3000

        def crowded() -> bool:
            # How much a socket takes at once is chance.
            nonlocal left
            left = peer.send_what_fits(left)
            return any(client.crowded for client in loop.sockets.peers)

        until(crowded)
        assert all(client.outbox.bytes <= 100_000 for client in loop.sockets.peers)


def test_a_client_of_zmtp_2_is_named_in_the_log_once(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = make()
    lines: list[tuple[str, dict[str, object]]] = []
    log = loop.daemon.services.health.log
    monkeypatch.setattr(log, "write", lambda level, event, fields: lines.append((event, fields)))
    for endpoint in (loop.tcp, loop.ipc, loop.tcp, loop.ipc, loop.tcp):
        with RawPeer(endpoint) as peer:
            peer.send(GREETING[:10] + b"\x01\x05" + frame(b""))
            assert peer.closed
    named = [fields["address"] for event, fields in lines if event == "client of ZMTP 1 or 2 refused"]
    assert named == ["127.0.0.1", "ipc"]
