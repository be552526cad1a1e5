"""The loop of the sockets over real ones, with an engine that pretends: identity, floods, back-pressure."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st
from looped import Loop
from raw_zmtp import COMMAND, GREETING, LONG, MORE, PING, RawPeer, frame, ready, request
from served import Peer
from waits import until

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.wire.messages import REPEATABLE
from desdaemon.server import sockets
from desdaemon.server.incoming import may_have_effect

LARGEST_OUTBOXES = 64 << 20

ENDLESS = {"depth": 37, "book": "ignore"}


@pytest.mark.parametrize("scheme", ["ipc", "tcp"])
def test_a_backlog_a_ping_behind_it_and_a_reset_end_nothing(make: Callable[..., Loop], scheme: str) -> None:
    """libzmq's own ROUTER aborts the process at this, unless its queues have no bound."""
    loop = make()
    for _ in range(10):
        peers = [RawPeer(getattr(loop, scheme)).greet() for _ in range(5)]
        for peer in peers:
            peer.send_what_fits(request(1, "ping") * 200 + (request(2, "metrics") + PING) * 500)
        for peer in peers:
            peer.reset()
    with Peer(loop.ipc) as polite:
        assert polite.final("ping") == {}
    until(lambda: loop.daemon.services.health.clients <= 51)


def test_late_messages_of_a_departed_client_reach_no_other(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next connection gets the same descriptor, and must not be taken for the one that has gone."""
    monkeypatch.setattr("desdaemon.server.sockets._CHORES_S", 0.05)
    loop = make(grace_s=0)
    for _ in range(5):
        leaving = [RawPeer(loop.ipc).greet() for _ in range(8)]
        for peer in leaving:
            peer.send(request(1, "legal", moves="f5d6c3d3c4f4c5b3c2e3d2c6b4") * 60)
        for peer in leaving:
            peer.reset()
        staying = [RawPeer(loop.ipc).greet() for _ in range(8)]
        for peer in staying:
            peer.send(request(7, "analyze", **ENDLESS))
        until(lambda: len(loop.sockets.in_flight()) == 8)
        # Two rounds of the chores that end what vanished clients have in flight.
        time.sleep(0.15)
        for peer in staying:
            peer.send(request(8, "ping"))
            assert peer.reply()["id"] == 8
        assert len(loop.sockets.in_flight()) == 8
        for peer in staying:
            peer.reset()
        until(lambda: not loop.sockets.in_flight())


def test_a_vanished_client_loses_its_analyses_after_its_grace(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead_s = 0.0
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s, perf_counter=time.perf_counter)
    monkeypatch.setattr(sockets, "time", later)
    loop = make(grace_s=3600)
    with RawPeer(loop.ipc).greet() as peer:
        peer.send(request(1, "analyze", **ENDLESS))
        until(lambda: loop.searching)
    until(lambda: len(loop.sockets.peers) and all(p.gone for p in loop.sockets.peers))
    assert len(loop.sockets.in_flight()) == 1
    ahead_s = 3600.0
    until(lambda: not loop.sockets.in_flight() and not loop.searching)
    until(lambda: not len(loop.sockets.peers))


@pytest.mark.parametrize("last", ["book delete", "b delete", "B\u2003delete", "boo\u212a delete"])
@pytest.mark.parametrize("searching", [False, True])
def test_lines_of_a_departed_client_are_carried_out_on_its_board(
    make: Callable[..., Loop], last: str, searching: bool
) -> None:
    # A client may use half of what its key has: after a line that is refused none outlives its client.
    loop = make(in_flight=4096, key_queue=8192, queue=16384, grace_s=0)
    with Peer(loop.ipc) as staying:
        staying.final("book.new", {"level": 1, "depth": 10})
        staying.final("book.store", {"moves": "f5d6c3d3c4"})
        before = ["depth 37", "book-usage off", "hint"] if searching else ["moves"] * 3000
        with RawPeer(loop.ipc).greet() as leaving:
            leaving.send(b"".join(frame(line.encode()) for line in (*before, "play f5d6c3", last, "init", "hint")))
            if searching:
                until(lambda: loop.searching)
        until(lambda: not staying.final("book.get", {"moves": "f5d6c3"})["found"])
        assert staying.final("book.get")["found"]
        until(lambda: not loop.searching and not loop.sockets.in_flight())


BOOK_WORDS = [f"{word} {command.name}" for word in ("book", "b") for command in BOOK_COMMANDS]

BLANKS = "=" + "".join(blank for blank in map(chr, range(0x110000)) if blank.isspace() and not "\n" <= blank < " ")


@given(
    st.sampled_from(BOOK_WORDS),
    st.sampled_from(BLANKS),
    st.sampled_from(["", " ", "\t", "\u2003"]),
    st.data(),
)
def test_no_line_that_must_be_carried_out_is_overlooked(line: str, blank: str, first: str, data: st.DataObject) -> None:
    """Whatever a peer that has left wrote is looked through as bytes first."""
    word, _, rest = line.partition(" ")
    word = "".join(data.draw(st.sampled_from([c, c.upper(), "\u212a" if c == "k" else c])) for c in word)
    line = f"{first}{word}{blank}{rest}"
    assert may_have_effect(frame(line.encode())) or not read_line(line).outlives
    command = next(command for command in BOOK_COMMANDS if command.name == rest)
    assert read_line(line).outlives == (command.long or command.writes)


@pytest.mark.parametrize("op", sorted(REPEATABLE))
def test_a_question_that_was_cut_off_has_no_effect(op: str) -> None:
    """A peer that leaves in the middle of a flood is not looked at again."""
    message = b"".join(request(number, op) for number in range(300))
    assert not may_have_effect(message)
    message = message[-60:]
    assert not any(may_have_effect(message[:size]) for size in range(len(message) + 1))
    assert may_have_effect(message + request(3, "book.store"))


def test_floods_of_peers_that_leave_within_their_handshake_stop_nothing(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their connections are closed at once, and hold nothing then."""
    monkeypatch.setattr(sockets, "_LARGEST_HELD", 100_000)
    serve, gone = sockets.Sockets._serve, threading.Event()
    monkeypatch.setattr(sockets.Sockets, "_serve", lambda self: serve(self) if gone.is_set() else None)
    loop = make(grace_s=0)
    flood = GREETING + ready(b"DEALER", b"") + request(1, "ping") * 3_000
    for _ in range(3):
        gone.clear()
        with RawPeer(loop.ipc) as leaving:
            leaving.send(flood)
        until(lambda: [connection.broken for connection in list(loop.sockets._connections)] == [True])
        gone.set()
        until(lambda: not loop.sockets._connections)
    with Peer(loop.ipc) as polite:
        assert polite.final("ping") == {}


def test_a_peer_that_takes_no_replies_and_stays_has_left(make: Callable[..., Loop]) -> None:
    loop = make(grace_s=0)
    with RawPeer(loop.ipc).greet() as staying:
        until(lambda: len(loop.sockets.peers) == 1)
        staying.socket.shutdown(socket.SHUT_RD)
        with contextlib.suppress(OSError):
            staying.send(request(1, "ping") * 200)
        until(lambda: not len(loop.sockets.peers))


def test_a_client_with_a_routing_id_gets_what_it_missed(make: Callable[..., Loop]) -> None:
    loop = make()
    with RawPeer(loop.ipc).greet(identity=b"anna") as peer:
        peer.send(request(5, "analyze", **ENDLESS))
        until(lambda: loop.searching)
    until(lambda: next(p.gone for p in loop.sockets.peers))
    with RawPeer(loop.ipc).greet(identity=b"anna") as peer:
        peer.send(request(6, "cancel", target=5))
        assert {peer.reply()["id"], peer.reply()["id"]} == {5, 6}
        assert len(loop.sockets.peers) == 1
        # The older of two connections is told nothing any more.
        with RawPeer(loop.ipc).greet(identity=b"anna") as newer:
            newer.send(request(7, "ping"))
            assert newer.reply()["id"] == 7
            assert peer.closed


def test_no_final_is_lost_where_a_client_reads_late(make: Callable[..., Loop]) -> None:
    """Beyond half a backlog nothing more is taken from it, so that the backlog is enough."""
    loop = make(backlog=10)
    with RawPeer(loop.ipc).greet() as peer:
        sent = threading.Thread(target=lambda: [peer.send(request(number, "hello")) for number in range(1500)])
        sent.start()
        time.sleep(0.5)
        assert [peer.reply()["id"] for _ in range(1500)] == list(range(1500))
        sent.join()
    assert loop.counters.get("replies dropped", 0) == 0


def test_clients_that_never_read_cost_a_bounded_amount(make: Callable[..., Loop]) -> None:
    loop = make()
    silent = [RawPeer(loop.ipc).greet() for _ in range(30)]
    for peer in silent:
        peer.send_what_fits(request(1, "hello") * 2000)
    with Peer(loop.ipc) as polite:
        for _ in range(200):
            assert polite.final("ping") == {}
        assert loop.sockets.peers.total.bytes < LARGEST_OUTBOXES
        assert all(peer.outbox.bytes <= 1 << 20 for peer in loop.sockets.peers)
    for peer in silent:
        peer.reset()
    until(lambda: loop.sockets.peers.total.bytes == 0)


def test_unfinished_messages_are_bounded_for_all_together(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.server.sockets._LARGEST_HELD", 3 << 20)
    loop = make()
    big = bytes([LONG]) + (1 << 20).to_bytes(8, "big") + bytes(1000 << 10)
    peers = [RawPeer(loop.tcp).greet() for _ in range(6)]
    for peer in peers:
        with contextlib.suppress(ConnectionError):
            peer.send(big)
    until(lambda: loop.counters.get("unfinished messages dropped", 0) >= 3)
    with Peer(loop.tcp) as polite:
        assert polite.refused("x" * 900_000) == "unknown_op"
        assert polite.final("ping") == {}
    for peer in peers:
        peer.reset()


def test_replies_of_several_threads_keep_their_order(make: Callable[..., Loop]) -> None:
    loop = make()
    with RawPeer(loop.ipc).greet() as peer:
        peer.send(request(1, "analyze", multipv=9, **ENDLESS))
        until(lambda: loop.sockets.in_flight())
        (wanted,) = loop.sockets.in_flight()
        thread = threading.Thread(target=wanted.partial, args=({},))
        thread.start()
        thread.join()
        peer.send(request(2, "cancel", target=1))
        found = [peer.reply() for _ in range(3)]
    assert [(reply["id"], reply["type"]) for reply in found] == [(1, "partial"), (1, "error"), (2, "final")]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "no ZMTP"),
        (b"\xff" + bytes(8) + b"\x7f\x01\x00", "old ZMTP"),
        (GREETING.replace(b"NULL", b"PLAI"), "mechanism"),
        (GREETING + frame(b"hello"), "handshake"),
        (GREETING + frame(b"\x05READY\x0bSocket", COMMAND), "metadata"),
        (GREETING + ready(b"SUB"), "socket type"),
        (GREETING + ready(identity=bytes(300)), "identity"),
        (GREETING + bytes([LONG | COMMAND]) + (1 << 20).to_bytes(8, "big"), "size"),
    ],
)
def test_failed_handshakes_close_their_connection(make: Callable[..., Loop], sent: bytes, reason: str) -> None:
    loop = make()
    with RawPeer(loop.ipc) as peer:
        peer.send(sent)
        assert peer.closed
    assert loop.counters["handshakes refused"] == 1
    assert loop.sockets._newcomers._refusals.get(reason) == 1 or not loop.sockets._newcomers._refusals


@pytest.mark.parametrize(
    "sent",
    [
        bytes([0x80, 0]),
        bytes([MORE | COMMAND, 0]),
        bytes([LONG]) + ((4 << 20) + 1).to_bytes(8, "big"),
        bytes([LONG]) + b"\xff" * 8,
        frame(b"\x04PING", COMMAND),
        frame(b"\x05ERROR\x01x", COMMAND),
    ],
)
def test_a_breach_of_the_protocol_closes_its_connection_only(make: Callable[..., Loop], sent: bytes) -> None:
    loop = make()
    with RawPeer(loop.ipc).greet() as peer, Peer(loop.ipc) as polite:
        peer.send(sent)
        assert peer.closed
        assert polite.final("ping") == {}
    assert loop.counters["protocol violations"] == 1


def test_too_large_messages_are_refused_without_being_kept(make: Callable[..., Loop]) -> None:
    loop = make()
    with RawPeer(loop.ipc).greet() as peer:
        peer.send(frame(b"\x81" + bytes(3 << 20)) + request(2, "ping"))
        assert peer.reply()["error"]["code"] == "too_large"
        assert peer.reply()["id"] == 2
        peer.send(frame(b"", MORE) + frame(b"\x81" + bytes(2 << 20)) + PING)
        # The answer to the PING is out first if both came at once.
        pong = (COMMAND, b"\x04PONG")
        first = peer.frame()
        assert (peer.frame() if first == pong else first) == (MORE, b"")
        assert peer.reply()["error"]["code"] == "too_large"
        assert first == pong or peer.frame() == pong


def test_a_message_may_come_byte_by_byte(make: Callable[..., Loop]) -> None:
    loop = make()
    with RawPeer(loop.tcp) as peer:
        for byte in GREETING + ready() + frame(b"", MORE) + request(3, "ping"):
            peer.send(bytes([byte]))
        peer.exactly(64)
        peer.frame()
        assert peer.frame() == (MORE, b"")
        assert peer.reply()["id"] == 3


def test_subscribers_hear_what_they_asked_for(make: Callable[..., Loop]) -> None:
    loop = make()
    (ipc_events,) = loop.acceptors[0].events
    with RawPeer(ipc_events).greet(b"SUB") as old, zmq.Context() as context, context.socket(zmq.SUB) as new:
        old.send(frame(b"\x01job."))
        new.linger = 0
        new.connect(ipc_events)
        new.subscribe("book")
        until(lambda: sum(len(c.conversation.subscriptions) for c in loop.sockets._subscribers[0]) == 2)
        for topic in ("book", "job.3"):
            loop.sockets.publish(topic, {"n": 1})
        assert old.frame() == (MORE, b"job.3")
        assert old.reply() == {"n": 1}
        assert new.recv_multipart()[0] == b"book"
        old.send(frame(b"\x00job."))
        until(lambda: sum(len(c.conversation.subscriptions) for c in loop.sockets._subscribers[0]) == 1)
        old.send(b"".join(frame(b"\x01" + str(number).encode()) for number in range(100)))
        assert old.closed


def test_more_subscribers_than_the_limit_push_out_the_oldest(make: Callable[..., Loop]) -> None:
    loop = make(clients=3)
    (events,) = loop.acceptors[0].events
    with contextlib.ExitStack() as peers:
        first, *others = (peers.enter_context(RawPeer(events).greet(b"SUB")) for _ in range(4))
        assert first.closed
        for peer in others:
            peer.send(frame(b"\x01job"))
        until(lambda: sum(len(c.conversation.subscriptions) for c in loop.sockets._subscribers[0]) == 3)
        loop.sockets.publish("job.1", {})
        for peer in others:
            assert peer.frame() == (MORE, b"job.1")


def test_subscribers_that_never_read_take_no_room_from_replies(make: Callable[..., Loop]) -> None:
    """A subscriber keeps the same objects as all others, and the replies of those who read are not dropped for it."""
    loop = make()
    (events,) = loop.acceptors[0].events
    silent = [RawPeer(events).greet(b"SUB") for _ in range(3)]
    for peer in silent:
        peer.send(frame(b"\x01job"))
    until(lambda: sum(len(c.conversation.subscriptions) for c in loop.sockets._subscribers[0]) == 3)
    for _ in range(100):
        loop.sockets.publish("job.1", {"text": "x" * 50_000})
    until(lambda: loop.sockets._events.bytes > 1 << 20)
    assert loop.sockets.peers.total.bytes == 0
    for peer in silent:
        peer.reset()
    until(lambda: not loop.sockets._subscribers[0])
    assert loop.sockets.peers.total.bytes == 0


def test_handshakes_that_never_end_are_given_up(make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desdaemon.server.newcomers._HANDSHAKE_S", 0.3)
    monkeypatch.setattr("desdaemon.server.newcomers._MOST_HANDSHAKES", 20)
    loop = make()
    slow = [RawPeer(loop.ipc) for _ in range(50)]
    with Peer(loop.ipc) as polite:
        assert polite.final("ping") == {}
    # On a busy machine that of the polite one may take too long as well; it calls again.
    until(lambda: loop.counters.get("handshakes refused", 0) >= 50)
    assert all(peer.closed for peer in slow)
    for peer in slow:
        peer.socket.close()


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_silent_connections_keep_nobody_out(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Not even where a handshake may last for ever: 50 hold all places, and their own address's."""
    monkeypatch.setattr("desdaemon.server.newcomers._HANDSHAKE_S", 1e9)
    monkeypatch.setattr("desdaemon.server.newcomers._MOST_HANDSHAKES", 20)
    monkeypatch.setattr("desdaemon.server.newcomers._MOST_OF_AN_ADDRESS", 10 if address == "127.0.0.1" else 50)
    loop = make()
    slow = [RawPeer(loop.tcp) for _ in range(50)]
    host, _, port = loop.tcp.removeprefix("tcp://").rpartition(":")
    with Peer(f"tcp://{address}:0;{host}:{port}") as polite:
        assert polite.final("ping") == {}
    assert loop.counters["handshakes refused"] < 50
    for peer in slow:
        peer.socket.close()


def test_new_connections_without_end_keep_no_newcomer_of_their_address_out(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.server.newcomers._MOST_OF_AN_ADDRESS", 10)
    loop = make()
    flood = []
    for _ in range(10):
        flood += [RawPeer(loop.tcp) for _ in range(30)]
        with RawPeer(loop.tcp).greet() as newcomer:
            newcomer.send(request(1, "ping"))
            assert newcomer.reply()["id"] == 1
    for peer in flood:
        peer.socket.close()


def test_more_clients_than_the_limit_push_out_the_one_unseen_for_longest(make: Callable[..., Loop]) -> None:
    loop = make(clients=5)
    with Peer(loop.ipc) as polite:
        assert polite.final("ping") == {}
        crowd = []
        for _ in range(12):
            crowd.append(RawPeer(loop.ipc).greet())
            assert polite.final("ping") == {}
        # Until it is answered, the last one may still be on its way in.
        crowd[-1].send(request(1, "ping"))
        assert crowd[-1].reply()["id"] == 1
        assert len(loop.sockets.peers) == 5
        assert all(peer.closed for peer in crowd[:8])
        for peer in crowd:
            peer.socket.close()
