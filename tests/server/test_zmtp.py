"""ZMTP without sockets: the same messages however their bytes are cut, and CURVE held against its own client side."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_zmtp import COMMAND, GREETING, LONG, MORE, PING, frame, ready

from desdaemon.server.transport import sodium
from desdaemon.server.transport.curve import CurveSecurity, from_z85, z85
from desdaemon.server.transport.outbox import ByteTotal, Outgoing, SendQueue
from desdaemon.server.transport.zmtp import CONSUMED, Conversation, Frame, SocketKind, Violation

LARGEST_KEPT = 1000


def messages(conversation: Conversation) -> list[tuple[Frame, ...]]:
    found = []
    while (taken := conversation.next()) is not None:
        if taken != CONSUMED:
            found.append(taken)
    return found


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[low:high] for low, high in itertools.pairwise(edges)]


FRAMES = st.lists(st.one_of(st.binary(max_size=300), st.integers(900, 1200).map(bytes)), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAMES, max_size=6), st.lists(st.integers(0, 10**6), max_size=40), st.booleans())
def test_messages_do_not_depend_on_how_their_bytes_are_cut(
    sent: list[list[bytes]], cuts: list[int], pings: bool
) -> None:
    data = GREETING + ready(identity=b"me")
    for frames in sent:
        data += b"".join(frame(content, MORE) for content in frames[:-1]) + frame(frames[-1]) + (PING if pings else b"")
    conversation = Conversation(SocketKind.REQUESTS, None, LARGEST_KEPT)
    found = []
    for piece in pieces(data, cuts):
        conversation.feed(piece)
        found += messages(conversation)
    expected = [
        tuple(
            0 if at == 2 else len(content) if len(content) > LARGEST_KEPT else content
            for at, content in enumerate(frames[:3])
        )
        for frames in sent
    ]
    assert found == expected
    assert conversation.open
    assert (conversation.identity, conversation.peer_type) == (b"me", b"DEALER")
    assert conversation.outgoing.endswith(frame(b"\x04PONG", COMMAND) * len(sent) if pings else b"")
    assert (conversation.kept, conversation.has_input) == (0, False)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.lists(st.integers(0, 10**6), max_size=5), st.booleans(), st.sampled_from(SocketKind))
def test_nothing_but_a_violation_comes_of_any_bytes(
    data: bytes, cuts: list[int], greeted: bool, kind: SocketKind
) -> None:
    conversation = Conversation(kind, None, LARGEST_KEPT)
    if greeted:
        conversation.feed(GREETING + ready(kind.value[1][0]))
        messages(conversation)
        assert conversation.open
    try:
        for piece in pieces(data, cuts):
            conversation.feed(piece)
            messages(conversation)
            assert conversation.kept <= LARGEST_KEPT * 4
    except Violation:
        pass


class CurveClient:
    """The client's side of CurveZMQ, as the specification has it."""

    def __init__(self, server: bytes, public: bytes, secret: bytes) -> None:
        self.server, self.public, self.secret = server, public, secret
        self.short_public, self.short_secret = sodium.key_pair()

    def hello(self) -> bytes:
        to_server = sodium.shared_key(self.server, self.short_secret)
        assert to_server
        nonce = (1).to_bytes(8, "big")
        box = sodium.seal(bytes(64), b"CurveZMQHELLO---" + nonce, to_server)
        return b"\x05HELLO\x01\x00" + bytes(72) + self.short_public + nonce + box

    def initiate(self, welcome: bytes) -> bytes:
        to_server = sodium.shared_key(self.server, self.short_secret)
        assert to_server
        plain = sodium.unseal(welcome[24:], b"WELCOME-" + welcome[8:24], to_server)
        assert plain
        assert welcome[:8] == b"\x07WELCOME"
        short_server, cookie = plain[:32], plain[32:]
        nonce = os.urandom(16)
        shared, vouching = (sodium.shared_key(short_server, key) for key in (self.short_secret, self.secret))
        assert shared
        assert vouching
        self.shared = shared
        vouch = nonce + sodium.seal(self.short_public + self.server, b"VOUCH---" + nonce, vouching)
        count = (2).to_bytes(8, "big")
        content = self.public + vouch + b"metadata"
        return b"\x08INITIATE" + cookie + count + sodium.seal(content, b"CurveZMQINITIATE" + count, shared)

    def message(self, number: int, flags: int, content: bytes) -> bytes:
        count = number.to_bytes(8, "big")
        box = sodium.seal(bytes([flags]) + content, b"CurveZMQMESSAGEC" + count, self.shared)
        return b"\x07MESSAGE" + count + box


def handshake(known: bool = True) -> tuple[CurveSecurity, CurveClient, bytes]:
    server, secret = sodium.key_pair()
    client = CurveClient(server, *sodium.key_pair())
    security = CurveSecurity(secret, lambda public: known and public == z85(client.public))
    welcome, _ = security.command(client.hello(), b"ours")
    return security, client, welcome


def test_a_client_proves_its_key_and_both_understand_each_other() -> None:
    security, client, welcome = handshake()
    answer, metadata = security.command(client.initiate(welcome), b"ours")
    assert (answer[:6], metadata, security.ready) == (b"\x05READY", b"metadata", True)
    assert from_z85(security.user) == client.public
    assert sodium.unseal(answer[14:], b"CurveZMQREADY---" + answer[6:14], client.shared) == b"ours"
    assert security.opened(client.message(3, 1, b"x")) == (MORE, b"x")
    assert security.opened(client.message(9, 2, b"")) == (COMMAND, b"")
    sealed = security.sealed(MORE, b"reply")
    assert sodium.unseal(sealed[16:], b"CurveZMQMESSAGES" + sealed[8:16], client.shared) == b"\x01reply"
    for bad in (
        client.message(9, 0, b"again"),
        client.message(10, 0, b"x")[:-1],
        client.message(11, 0, b"x")[:20],
        b"\x07MESSAGE",
    ):
        with pytest.raises(Violation):
            security.opened(bad)


def test_who_does_not_prove_its_key_is_refused() -> None:
    security, client, welcome = handshake(known=False)
    with pytest.raises(Violation, match="key"):
        security.command(client.initiate(welcome), b"")
    security, client, welcome = handshake()
    client.secret = sodium.key_pair()[1]
    with pytest.raises(Violation, match="handshake"):
        security.command(client.initiate(welcome), b"")
    security, client, welcome = handshake()
    initiate = client.initiate(welcome)
    for at in (20, 100, 110, 130, len(initiate) - 1):
        with pytest.raises(Violation, match="handshake"):
            security.command(initiate[:at] + bytes([initiate[at] ^ 1]) + initiate[at + 1 :], b"")
    _, client, _ = handshake()
    client.server = sodium.key_pair()[0]
    with pytest.raises(Violation, match="server key"):
        CurveSecurity(sodium.key_pair()[1], lambda public: True).command(client.hello(), b"")
    for wrong in (b"", b"\x05HELLO\x01\x00", b"\x08INITIATE" + bytes(400), b"\x05READY"):
        with pytest.raises(Violation):
            CurveSecurity(sodium.key_pair()[1], lambda public: True).command(wrong, b"")


def test_a_frame_that_is_too_large_is_a_violation_before_it_comes() -> None:
    conversation = Conversation(SocketKind.REQUESTS, None, LARGEST_KEPT)
    conversation.feed(GREETING + ready())
    messages(conversation)
    conversation.feed(bytes([LONG]) + ((4 << 20) + 1).to_bytes(8, "big"))
    with pytest.raises(Violation, match="size"):
        messages(conversation)


# --- replies that wait


def reply(number: int, *, partial: bool, size: int = 10) -> Outgoing:
    return Outgoing((), number.to_bytes(2, "big") + bytes(size - 2), partial)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.booleans(), st.integers(2, 60), st.integers(0, 30)), max_size=60))
def test_an_outbox_keeps_its_order_and_its_bounds_and_drops_partials_first(
    steps: list[tuple[bool, int, int]],
) -> None:
    total = ByteTotal()
    outbox = SendQueue(8, 200, total)
    waiting: list[Outgoing] = []
    for number, (partial, size, taken) in enumerate(steps):
        added = reply(number, partial=partial, size=size)
        waiting.append(added)
        for dropped in outbox.put(added):
            first = next((item for item in waiting if item.partial), waiting[0])
            assert dropped == first
            waiting.remove(dropped)
        assert len(outbox) == len(waiting) <= 8
        assert outbox.bytes == total.bytes == sum(len(item.body) for item in waiting)
        assert outbox.bytes <= 200
        if taken:
            found = outbox.take(taken)
            assert found == waiting[: len(found)]
            del waiting[: len(found)]
    outbox.clear()
    assert (len(outbox), outbox.bytes, total.bytes) == (0, 0, 0)


def test_a_single_reply_may_be_longer_than_the_outbox() -> None:
    outbox = SendQueue(8, 200, ByteTotal())
    assert outbox.put(reply(1, partial=False, size=500)) == []
    assert outbox.crowded
    assert [dropped.body[1] for dropped in outbox.put(reply(2, partial=False))] == [1]
    assert [kept.body[1] for kept in outbox.take(1)] == [2]
