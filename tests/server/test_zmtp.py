"""ZMTP without sockets: the same messages however their bytes are cut, and CURVE held against its own client side."""

from __future__ import annotations

import itertools
import os
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_zmtp import COMMAND, GREETING, LONG, MORE, PING, frame, ready

from desdaemon.server.transport import sodium, zmtp
from desdaemon.server.transport.curve import CurveSecurity, from_z85, z85
from desdaemon.server.transport.outbox import ByteTotal, Outgoing, SendQueue
from desdaemon.server.transport.zmtp import CONSUMED, HEAD_KEPT, Conversation, Frame, LargeFrame, SocketKind, Violation

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


def envelope(frames: list[bytes]) -> tuple[Frame, ...]:
    if len(frames) > 16 or sum(map(len, frames)) > 1024:
        return (LargeFrame(sum(map(len, frames)), b""),)
    return tuple(LargeFrame(len(part), bytes(HEAD_KEPT)) if len(part) > LARGEST_KEPT else part for part in frames)


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
        (
            *envelope(frames[:-1]),
            LargeFrame(len(frames[-1]), bytes(HEAD_KEPT)) if len(frames[-1]) > LARGEST_KEPT else frames[-1],
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
        self.vouched = server
        """The key that it says it wants to talk to."""

    def hello(self, padding: bytes = bytes(72), signed: bytes = bytes(64)) -> bytes:
        to_server = sodium.shared_key(self.server, self.short_secret)
        assert to_server
        nonce = (1).to_bytes(8, "big")
        box = sodium.seal(signed, b"CurveZMQHELLO---" + nonce, to_server)
        return b"\x05HELLO\x01\x00" + padding + self.short_public + nonce + box

    def initiate(self, welcome: bytes, number: int = 2, metadata: bytes = b"metadata") -> bytes:
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
        vouch = nonce + sodium.seal(self.short_public + self.vouched, b"VOUCH---" + nonce, vouching)
        count = number.to_bytes(8, "big")
        content = self.public + vouch + metadata
        return b"\x08INITIATE" + cookie + count + sodium.seal(content, b"CurveZMQINITIATE" + count, shared)

    def message(self, number: int, flags: int, content: bytes) -> bytes:
        count = number.to_bytes(8, "big")
        box = sodium.seal(bytes([flags]) + content, b"CurveZMQMESSAGEC" + count, self.shared)
        return b"\x07MESSAGE" + count + box


def handshake(known: bool = True) -> tuple[CurveSecurity, CurveClient, bytes]:
    server, secret = sodium.key_pair()
    client = CurveClient(server, *sodium.key_pair())
    security = CurveSecurity(server, secret, lambda public: known and public == z85(client.public))
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
    for flags in (3, 4, 5, 0x80):
        with pytest.raises(Violation):
            security.opened(client.message(10, flags, b"x"))
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


def test_a_client_that_does_not_prove_its_key_is_refused() -> None:
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
        CurveSecurity(*sodium.key_pair(), lambda public: True).command(client.hello(), b"")
    for wrong in (b"", b"\x05HELLO\x01\x00", b"\x08INITIATE" + bytes(400), b"\x05READY"):
        with pytest.raises(Violation):
            CurveSecurity(*sodium.key_pair(), lambda public: True).command(wrong, b"")


def test_every_field_of_the_handshake_is_checked() -> None:
    server, secret = sodium.key_pair()
    client = CurveClient(server, *sodium.key_pair())
    for hello in (client.hello(padding=bytes(71) + b"x"), client.hello(signed=bytes(63) + b"x"), client.hello() + b"x"):
        with pytest.raises(Violation):
            CurveSecurity(server, secret, lambda public: True).command(hello, b"")
    for number in (0, 1):
        security, client, welcome = handshake()
        with pytest.raises(Violation, match="handshake"):
            security.command(client.initiate(welcome, number), b"")
    security, client, welcome = handshake()
    client.vouched = sodium.key_pair()[0]
    with pytest.raises(Violation, match="handshake"):
        security.command(client.initiate(welcome), b"")


def encrypted() -> tuple[Conversation, CurveClient]:
    """A conversation after the handshake of CURVE, and the other side."""
    server, secret = sodium.key_pair()
    client = CurveClient(server, *sodium.key_pair())
    security = CurveSecurity(server, secret, lambda public: True)
    conversation = Conversation(SocketKind.REQUESTS, security, LARGEST_KEPT)
    conversation.feed(GREETING.replace(b"NULL\0", b"CURVE") + frame(client.hello(), COMMAND))
    messages(conversation)
    welcome = bytes(conversation.outgoing[66:])
    conversation.feed(frame(client.initiate(welcome, metadata=ready()[8:]), COMMAND))
    messages(conversation)
    assert conversation.open
    return conversation, client


def test_an_encrypted_frame_comes_with_or_without_the_flag_of_a_command() -> None:
    conversation, client = encrypted()
    conversation.feed(frame(client.message(3, 0, b"a")) + frame(client.message(4, 0, b"b"), COMMAND))
    assert messages(conversation) == [(b"a",), (b"b",)]
    conversation.feed(frame(client.message(5, 0, b"c"), MORE))
    with pytest.raises(Violation, match="flags"):
        messages(conversation)


def test_an_encrypted_frame_over_the_limit_ends_the_connection() -> None:
    conversation, client = encrypted()
    conversation.feed(frame(client.message(3, 0, bytes(LARGEST_KEPT - 33))))
    assert [len(part) for (part,) in messages(conversation) if isinstance(part, bytes)] == [LARGEST_KEPT - 33]
    conversation.feed(frame(client.message(4, 0, bytes(LARGEST_KEPT - 32)))[:20])
    with pytest.raises(Violation, match="size"):
        messages(conversation)


def properties(*pairs: tuple[bytes, bytes]) -> bytes:
    return b"".join(bytes([len(n)]) + n + len(v).to_bytes(4, "big") + v for n, v in pairs)


KIND = (b"Socket-Type", b"DEALER")


@pytest.mark.parametrize(
    "given",
    [
        (KIND, (b"socket-TYPE", b"REQ")),
        (KIND, (b"", b"x")),
        (KIND, (b"a b", b"x")),
        (KIND, (b"Identity", b"\0me")),
        (KIND, (b"Identity", bytes(256))),
        ((b"Socket-Type", b"SUB"),),
        (),
    ],
)
def test_wrong_metadata_is_a_violation(given: tuple[tuple[bytes, bytes], ...]) -> None:
    conversation = Conversation(SocketKind.REQUESTS, None, LARGEST_KEPT)
    conversation.feed(GREETING + frame(b"\x05READY" + properties(*given), COMMAND))
    with pytest.raises(Violation):
        messages(conversation)


def test_subscribers_have_no_identity_and_take_back_each_subscription() -> None:
    conversation = Conversation(SocketKind.EVENTS, None, LARGEST_KEPT)
    given = properties((b"socket-type", b"SUB"), (b"Identity", bytes(300)), (b"X-Ours", b""), (b"Resource", b"a/b"))
    conversation.feed(GREETING + frame(b"\x05READY" + given, COMMAND))
    messages(conversation)
    assert (conversation.open, conversation.identity) == (True, b"")
    for sent, wanted in ((b"\1job", True), (b"\1job", True), (b"\0job", True), (b"\0job", False), (b"\0job", False)):
        conversation.feed(frame(sent))
        messages(conversation)
        assert conversation.wants(b"job.1") is wanted
    conversation.feed(frame(b"\1a") * 64)
    messages(conversation)
    conversation.feed(frame(b"\x09SUBSCRIBEa", COMMAND))
    with pytest.raises(Violation, match="subscriptions"):
        messages(conversation)


@pytest.mark.parametrize("content", [b"", b"\0", b"\x05PING", b"\xffPING\0\0"])
def test_a_command_without_a_name_is_a_violation(content: bytes) -> None:
    conversation = Conversation(SocketKind.REQUESTS, None, LARGEST_KEPT)
    conversation.feed(GREETING + ready() + frame(content, COMMAND))
    with pytest.raises(Violation, match="command"):
        messages(conversation)


def test_a_message_in_small_pieces_takes_the_memory_that_is_counted() -> None:
    conversation = Conversation(SocketKind.REQUESTS, None, 1 << 20)
    conversation.feed(GREETING + ready())
    messages(conversation)
    tracemalloc.start()
    try:
        conversation.feed(bytes([LONG]) + (1 << 20).to_bytes(8, "big"))
        for number in range(50_000):
            assert not messages(conversation)
            conversation.feed(number.to_bytes(2, "big"))
        # Threads that other modules keep running allocate too.
        own = tracemalloc.Filter(True, zmtp.__file__)
        taken = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([own]).traces)
    finally:
        tracemalloc.stop()
    assert conversation.kept == 100_009
    assert taken > 0
    assert taken < 2 * conversation.kept


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
        assert outbox.bytes == total.bytes == sum(item.size for item in waiting)
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
