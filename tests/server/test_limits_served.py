"""The limits that docs/protocol.md gives, each reached over a real socket: at the limit a request is answered, one step
beyond it is refused, and the refusal has the request's id.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgpack
import pytest
from checkout import ROOT
from looped import Loop
from raw_zmtp import COMMAND, GREETING, LONG, MORE, PING, RawPeer, frame, ready, request
from served import ENDLESS, Peer
from waits import until

from desdaemon.protocol.rows import LISTS, Argument
from desdaemon.protocol.system import platform
from desdaemon.protocol.wire.messages import BASIC_OPERATIONS, OPERATIONS

REFUSALS = ("bad_request", "too_large")


@pytest.fixture
def loop(make: Callable[..., Loop]) -> Loop:
    return make()


def refused(peer: Peer, code: str, op: str, args: object, *, field: str | None = None, **envelope: Any) -> None:
    asked = peer.request(op, args, **envelope)
    reply = peer.reply()
    error = reply.get("error", {})
    assert (reply["id"], error.get("code"), error.get("field")) == (asked, code, field), (op, str(args)[:200], reply)


def sent(peer: Peer, body: bytes) -> dict[str, Any]:
    peer.send(body)
    return peer.reply()


# --- arguments


def bounds(argument: Argument) -> tuple[list[Any], list[Any]] | None:
    """Values at the limits of an argument, and values beyond them; None if it has no limits."""
    if argument.kind == "int":
        return [argument.low, argument.high], [argument.low - 1, argument.high + 1]
    if argument.kind == "text":
        return ["x" * argument.high], ["x" * (argument.high + 1)]
    if argument.kind in LISTS:
        item: Any = {"moves": "f5", "texts": "x", "ints": max(argument.low, 0), "maps": {}}[argument.kind]
        return [[item] * argument.high], [[item] * (argument.high + 1)]
    if argument.kind == "id":
        return ["ж" * 32, 0, 2**64 - 1], ["ж" * 32 + "x", -1]
    return None


def test_arguments_at_their_limits_are_taken_and_beyond_them_refused(loop: Loop) -> None:
    reached = 0
    with Peer(loop.ipc) as peer:
        for operation in OPERATIONS:
            last = operation.arguments[-1].name if operation.arguments else ""
            for argument in operation.arguments:
                at, beyond = bounds(argument) or ([], [])
                for value in at:
                    # A list is no value of any other argument, and arguments are checked in their order.
                    other = next(each.name for each in operation.arguments if each.kind not in LISTS) or last
                    wrong = "_" if other == argument.name else other
                    if wrong != "_":
                        refused(peer, "bad_request", operation.name, {argument.name: value, wrong: [[]]}, field=wrong)
                for value in beyond:
                    code = "too_large" if argument.kind == "text" else "bad_request"
                    refused(peer, code, operation.name, {argument.name: value}, field=argument.name)
                    reached += 1
    assert reached > 100


ANSWERED: list[tuple[str, dict[str, Any]]] = [
    ("analyze", {"positions": [{"moves": "f5"}] * 1000, "multipv": 4, "depth": 1}),
    ("analyze", {"moves": "f5", "plies": [1] * 128, "depth": 1}),
    ("analyze", {"depth": 1, "multipv": 64, "allow": ["f5"] * 64}),
    ("book.get", {"positions": [{"moves": "f5"}] * 1000}),
    ("text", {"line": "#" * 65_536}),
]
BEYOND: list[tuple[str, str, dict[str, Any], str]] = [
    ("too_large", "analyze", {"positions": [{"moves": "f5"}] * 801, "multipv": 5, "depth": 1}, "positions"),
]


def test_the_longest_lists_are_answered(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        peer.final("book.new", {"level": 1, "depth": 20})
        for op, args in ANSWERED:
            assert peer.ask(op, args)["type"] == "final", op


def test_one_item_more_is_refused_by_the_id_of_its_request(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        for code, op, args, field in BEYOND:
            refused(peer, code, op, args, field=field)


# --- bodies


def unknown(value: Any, id: object = 7) -> bytes:
    return bytes(msgpack.packb({"v": 1, "id": id, "op": "ping", "args": {"x": value}}))


def test_maps_and_lists_reach_their_limit(loop: Loop) -> None:
    entries: dict[str, Any] = {str(number): 0 for number in range(4096)}
    # The message, its arguments and the list are three of the maps and lists.
    rest = (1 << 15) - 3
    with Peer(loop.ipc) as peer:
        for answered in (entries, [0] * (1 << 15), [[]] * rest, [{"": ""}] * rest, [[[]]] * (rest // 2)):
            reply = sent(peer, unknown(answered))
            assert (reply["id"], reply["type"]) == (7, "final"), str(reply)[:300]
        for number, beyond in enumerate(
            ({**entries, "": 0}, [0] * ((1 << 15) + 1), [[]] * (rest + 1), [{"": ""}] * (rest + 1), [[[]]] * (1 << 14))
        ):
            reply = sent(peer, unknown(beyond, f"id {number}"))
            assert (reply["id"], reply["error"]["code"]) == (f"id {number}", "bad_request")


def test_text_of_any_language_is_no_map(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        assert sent(peer, unknown("Ø棋黒О" * 60_000))["type"] == "final"


UNREADABLE = (
    b"\x83\xa1v\x01\xa2id\x05\xa4args\x81\xa1x" + b"\x91" * 5000,
    b"\x83\xa1v\x01\xa2id\x05\xa2op\xa4pi",
    b"\x82\xa4args\x81\xa1x\xdc\x80\x00" + b"\xc0" * 32_768 + b"\xa2id\x05",
    b"\x82\xa2id\x05\x01\x01",
    b"\x81\xa2id\x05\x00",
)


@pytest.mark.parametrize("body", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_message_that_cannot_be_decoded_is_refused_by_its_id(loop: Loop, body: bytes) -> None:
    with Peer(loop.ipc) as peer:
        reply = sent(peer, body)
        assert (reply["id"], reply["error"]["code"]) == (5, "bad_request")


def test_ids_that_cannot_be_echoed_are_left_out(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        for id in ("a" * 64, "ж" * 32, 0, 2**64 - 1):
            assert sent(peer, unknown(0, id))["id"] == id
        for id in ("a" * 65, "ж" * 33, -1, [5] * 5000, {"id": 5}, b"x", 0.5):
            for body in (unknown(0, id), unknown(0, id)[:-1]):
                reply = sent(peer, body)
                assert (reply["id"], reply["error"]["code"]) == (None, "bad_request")


@pytest.mark.parametrize("delimiter", [b"", frame(b"", MORE)], ids=["alone", "delimited"])
def test_bodies_reach_their_limit(loop: Loop, delimiter: bytes) -> None:
    def body(size: int) -> bytes:
        least = len(unknown(bytes(1 << 16)))
        return unknown(bytes((1 << 16) + size - least))

    with RawPeer(loop.ipc).greet() as peer:
        for size, code in (
            (1 << 20, ""),
            ((1 << 20) + 1, "too_large"),
            ((1 << 20) + 65, "too_large"),
            (4 << 20, "too_large"),
        ):
            message = body(size)
            assert len(message) == size
            # The head of a large frame may come in pieces.
            whole = delimiter + frame(message)
            for piece in (whole[:5], whole[5:30], whole[30:]):
                peer.send(piece)
            if delimiter:
                assert peer.frame() == (MORE, b"")
            reply = peer.reply()
            assert (reply["id"], reply.get("error", {}).get("code", "")) == (7, code)
        peer.send(frame(body((4 << 20) + 1))[:100])
        assert peer.closed


def test_an_id_of_too_long_a_body_is_found_within_its_first_256_bytes(loop: Loop) -> None:
    def body(before: int) -> bytes:
        head = b"\x84\xa1v\x01\xa2op\xa4ping\xa1x\xda"
        filling = before - len(head) - 2
        return head + filling.to_bytes(2) + b"x" * filling + b"\xa2id\x07" + bytes(1 << 20)

    with RawPeer(loop.ipc).greet() as peer:
        for before, id in ((252, 7), (253, None), (1000, None)):
            peer.send(frame(body(before)))
            reply = peer.reply()
            assert (reply["id"], reply["error"]["code"]) == (id, "too_large"), before


def test_a_line_longer_than_a_body_is_refused_in_a_map(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        peer.send(b"#" * ((1 << 20) + 1))
        reply = peer.reply()
        assert (reply["id"], reply["error"]["code"]) == (None, "too_large")


def test_what_a_heartbeat_brings_comes_back_up_to_its_limit(loop: Loop) -> None:
    with RawPeer(loop.ipc).greet() as peer:
        for sent, back in ((b"c" * 16, b"c" * 16), (b"c" * 17, b"c" * 16)):
            peer.send(frame(b"\x04PING\x00\x00" + sent, COMMAND))
            assert peer.frame() == (COMMAND, b"\x04PONG" + back)


def test_lines_reach_their_limit(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        assert peer.text("#" * 65_536) == ""
        assert peer.text("#" * 65_537) == "WARNING: a line of 65537 bytes: expected at most 65536\n"


def test_identities_reach_their_limit(loop: Loop) -> None:
    with RawPeer(loop.ipc).greet(identity=b"a" * 255) as peer:
        peer.send(request(1, "ping"))
        assert peer.reply()["id"] == 1
    with RawPeer(loop.ipc) as peer:
        peer.send(GREETING + ready(identity=b"a" * 256))
        assert peer.closed


@pytest.mark.parametrize("beyond", [b"\x01", b"\x01" + bytes(257)], ids=["number", "size"])
def test_subscriptions_reach_their_limit(loop: Loop, beyond: bytes) -> None:
    with RawPeer(loop.ipc + "-events").greet(b"SUB") as peer:
        number = 64 if len(beyond) == 1 else 1
        peer.send(frame(b"\x01" + b"t" * 256) * number)
        # The one who sent so much has been read once it gets the PONG.
        peer.send(PING)
        assert peer.frame()[1] == b"\x04PONG"
        loop.sockets.publish("t" * 300, {})
        assert peer.frame() == (MORE, b"t" * 300)
        peer.frame()
        peer.send(frame(beyond))
        assert peer.closed


# --- connections


@pytest.mark.posix
def test_as_many_handshakes_go_on_as_the_document_says(
    make: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """512 from one address and 1024 in all; each one more ends another."""
    # Here none ends because it takes too long.
    monkeypatch.setattr("desdaemon.server.newcomers._HANDSHAKE_S", 1e9)
    platform.raise_open_files()
    loop = make()
    host, _, port = loop.tcp.removeprefix("tcp://").rpartition(":")
    with contextlib.ExitStack() as silent:
        for address, number, ended in (("127.0.0.1", 532, 20), ("127.0.0.2", 512, 20), ("127.0.0.3", 20, 40)):
            for _ in range(number):
                silent.enter_context(socket.create_connection((host, int(port)), 30, (address, 0)))
            until(lambda ended=ended: loop.counters.get("handshakes refused", 0) == ended)  # type: ignore[misc]
        with Peer(loop.tcp) as newcomer:
            assert newcomer.final("ping") == {}


def test_unfinished_messages_reach_their_limit(make: Callable[..., Loop]) -> None:
    """64 MiB in all: of 68 parts of 1,000 KiB three find no room."""
    loop = make()
    part = bytes([LONG]) + (1 << 20).to_bytes(8, "big") + bytes(1000 << 10)
    with contextlib.ExitStack() as peers:
        for number in range(68):
            with contextlib.suppress(ConnectionError):
                peers.enter_context(RawPeer(loop.ipc).greet()).send(part)
            assert number > 64 or not loop.counters.get("unfinished messages dropped")
        until(lambda: loop.counters.get("unfinished messages dropped") == 3)


# --- load


def test_requests_in_flight_reach_their_limit(make: Callable[..., Loop]) -> None:
    with Peer(make(in_flight=3).ipc) as peer:
        asked = [peer.request("analyze", ENDLESS) for _ in range(3)]
        refused(peer, "busy", "analyze", ENDLESS)
        assert peer.final("cancel", {"all": True})["number"] == len(asked)


@pytest.mark.parametrize("limit", ["queue", "key_queue"])
def test_positions_in_flight_reach_their_limit(make: Callable[..., Loop], limit: str) -> None:
    with Peer(make(**{limit: 8}).ipc) as peer:
        assert peer.ask("analyze", {"positions": [{}] * 8, "depth": 1})["type"] == "final"
        refused(peer, "busy", "analyze", {"positions": [{}] * 9, "depth": 1})


def taken(peer: Peer) -> int:
    """How many endless searches are let in, one by one, before one is refused."""
    for number in range(1000):
        peer.request("analyze", ENDLESS)
        # A request that does not wait is answered behind those before it.
        asked = peer.request("ping")
        reply = peer.reply()
        if reply["id"] != asked:
            assert reply["error"]["code"] == "busy"
            assert peer.reply()["id"] == asked
            return number
    raise AssertionError


def test_a_client_has_half_of_what_its_key_has_left(make: Callable[..., Loop]) -> None:
    loop = make(queue=200, key_queue=40)
    with Peer(loop.ipc) as one, Peer(loop.ipc) as another, Peer(loop.tcp) as of_another_key:
        assert [taken(peer) for peer in (one, another, of_another_key)] == [20, 10, 20]


def test_a_key_has_half_of_what_all_have_left_and_a_client_always_four_positions(make: Callable[..., Loop]) -> None:
    loop = make(queue=40, key_queue=40)
    with Peer(loop.ipc) as one, Peer(loop.ipc) as another, Peer(loop.tcp) as of_another_key:
        assert taken(one) == 20
        refused(another, "busy", "analyze", {**ENDLESS, "plies": [0] * 5})
        another.request("analyze", {**ENDLESS, "plies": [0] * 4})
        refused(another, "busy", "analyze", ENDLESS)
        assert taken(of_another_key) == 8


def test_a_client_that_has_gone_loses_its_analyses_after_the_limit(make: Callable[..., Loop]) -> None:
    loop = make(grace_s=1)
    began = time.monotonic()
    with Peer(loop.ipc) as peer:
        peer.request("analyze", ENDLESS)
        until(lambda: loop.searching == 1)
    until(lambda: loop.searching == 0)
    assert time.monotonic() - began >= 1


def test_unknown_keys_are_named_up_to_their_limit(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        for number, named in ((20, 20), (21, 20)):
            keys = {f"key {each}": 0 for each in range(number)}
            assert len(peer.ask("ping", keys)["warnings"]) == named
            assert len(peer.ask("ping", {}, **keys)["warnings"]) == named


@pytest.mark.parametrize(("session_s", "kept"), [(3600, True), (1, False)])
def test_a_session_is_kept_for_its_limit_and_no_longer(make: Callable[..., Loop], session_s: int, kept: bool) -> None:
    loop = make(session_s=session_s)

    def told(line: bytes) -> bytes:
        with RawPeer(loop.ipc).greet(identity=b"me") as peer:
            peer.send(frame(line))
            return peer.frame()[1]

    fresh = told(b"moves")
    told(b"play f5")
    if not kept:
        until(lambda: not loop.sockets.peers)
    assert (told(b"moves") != fresh) is kept


@pytest.mark.parametrize(("analyses_bytes", "all_kept"), [(32 << 20, True), (1000, False)])
def test_the_cache_of_analyses_reaches_its_limit(
    make: Callable[..., Loop], analyses_bytes: int, all_kept: bool
) -> None:
    line = "f5d6c3d3c4f4"
    with Peer(make(analyses_bytes=analyses_bytes).ipc) as peer:
        for end in range(2, len(line) + 1, 2):
            for moves in (line[:end], line[: end - 2]):
                peer.final("analyze", {"moves": moves, "depth": 1, "book": "ignore"})
        kept = peer.final("cache.clear")["forgotten"]
    assert kept > 0
    assert (kept == len(line) // 2 + 1) is all_kept


def test_every_operation_without_a_book_is_tested_here() -> None:
    """The longest lists of the core's operations are in `ANSWERED`: a new list needs a row there."""
    lists = {
        (operation.name, argument.name)
        for operation in BASIC_OPERATIONS
        # Satellites have tests of their own for theirs.
        if not operation.handler and not operation.part
        for argument in operation.arguments
        if argument.kind in LISTS and argument.name not in ("allow", "avoid", "plies")
    }
    assert lists == {(op, name) for op, args in (*ANSWERED, *(row[1:3] for row in BEYOND)) for name in args} & lists


REACHED = {
    "body": "test_bodies_reach_their_limit",
    "line": "test_lines_reach_their_limit",
    **dict.fromkeys(
        ("multipv", "plies", "positions", "items", "results"),
        "test_arguments_at_their_limits_are_taken_and_beyond_them_refused",
    ),
    "in_flight": "test_requests_in_flight_reach_their_limit",
    "queue": "test_a_key_has_half_of_what_all_have_left_and_a_client_always_four_positions",
    "key_queue": "test_a_client_has_half_of_what_its_key_has_left",
    "backlog": "tests/server/test_sockets.py test_no_final_is_lost_where_a_client_reads_late",
    "backlog_bytes": "tests/server/test_envelopes.py test_envelopes_count_as_replies_that_are_not_read",
    "grace_s": "test_a_client_that_has_gone_loses_its_analyses_after_the_limit",
    "session_s": "test_a_session_is_kept_for_its_limit_and_no_longer",
    "clients": "tests/server/test_sockets.py test_more_clients_than_the_limit_push_out_the_one_unseen_for_longest",
    "batches": "tests/batches/test_batches_served.py test_few_batches_of_a_key_are_kept",
    "batch_bytes": "tests/batches/test_batches_served.py test_bytes_of_batches_are_limited",
    "analyses_bytes": "test_the_cache_of_analyses_reaches_its_limit",
}
"""The test that reaches each limit of `hello` over a socket."""


SOCKETS = "tests/server/test_sockets.py "
STATED = {
    "docs/server.md": {
        "A body has at most 1 MiB.": "test_bodies_reach_their_limit",
        "One of up to 4 MiB is answered by `too_large`; with anything larger, and with CURVE over 1 MiB,": (
            "tests/server/test_roles.py test_an_encrypted_body_reaches_its_limit"
        ),
        "A handshake may take 10 seconds.": f"{SOCKETS}test_handshakes_that_never_end_are_given_up",
        "At most 1024 go on at a time, 512 of them from one address;": (
            "test_as_many_handshakes_go_on_as_the_document_says"
        ),
        "gets in when it tries again, within 2 seconds unless its line is slow.": (
            f"{SOCKETS}test_new_connections_without_end_keep_no_newcomer_of_their_address_out"
        ),
        "Messages of which a part has come take at most 64 MiB in all;": "test_unfinished_messages_reach_their_limit",
    },
    "docs/protocol.md": {
        "At most 64 subscriptions of at most 256 bytes each;": "test_subscriptions_reach_their_limit",
        "where a frame is longer than 4 MiB (encrypted: 1 MiB and 64 bytes),": "test_bodies_reach_their_limit",
        "the handshake takes longer than 10 seconds,": f"{SOCKETS}test_handshakes_that_never_end_are_given_up",
        "An envelope of more than 16 frames or 1 KiB is a `bad_request`": (
            "tests/server/test_envelopes.py test_too_large_an_envelope_is_refused_by_the_id"
        ),
        "in UTF-8, at most 65,536 bytes.": "test_lines_reach_their_limit",
        "exactly one map with strings as keys, at most 1 MiB.": "test_bodies_reach_their_limit",
        "It may have at most 4,096 entries in a map, 32,768 in a list,": "test_maps_and_lists_reach_their_limit",
        "str of at most 64 bytes of UTF-8, or int from 0": "test_ids_that_cannot_be_echoed_are_left_out",
        "Unknown arguments and keys, at most 20 of each.": "test_unknown_keys_are_named_up_to_their_limit",
        "(for a body of more than 1 MiB and 64 bytes within its first 256)": (
            "test_an_id_of_too_long_a_body_is_found_within_its_first_256_bytes"
        ),
        "Up to 4 MiB the reply is `too_large`; beyond it, and with CURVE beyond 1 MiB,": (
            "tests/server/test_roles.py test_an_encrypted_body_reaches_its_limit"
        ),
        "The body is longer than 1 MiB,": "test_bodies_reach_their_limit",
    },
}
"""The test that reaches each other limit that a document gives, by the document's words."""

LIMITING = re.compile(r"at most [\d,]+|[\d,]+ (?:MiB|KiB|kB|seconds)\b")


def limiting(name: str) -> str:
    """What a document says of limits, in one line: of docs/server.md its section, of docs/protocol.md what stands above
    the operations, whose arguments have tests of their own.
    """
    text = " ".join((ROOT / name).read_text("utf-8").split())
    if name == "docs/server.md":
        return text.partition(" ## Limits ")[2].partition(" ## ")[0]
    return text.partition(" ## Operations ")[0]


def test_every_limit_of_a_document_is_reached_by_a_test(loop: Loop) -> None:
    with Peer(loop.ipc) as peer:
        assert set(peer.final("hello")["limits"]) == set(REACHED)
    for place in {*REACHED.values(), *STATED["docs/server.md"].values(), *STATED["docs/protocol.md"].values()}:
        *file, test = place.split()
        if "tests/batches/" in place and find_spec("desdaemon.batches") is None:
            continue
        text = (ROOT / "".join(file)).read_text("utf-8") if file else Path(__file__).read_text("utf-8")
        assert f"def {test}(" in text, place


@pytest.mark.parametrize("name", STATED)
def test_a_document_gives_no_other_limit(name: str) -> None:
    text = limiting(name)
    for words in STATED[name]:
        assert words in text, f"{name} no longer says: {words}"
        text = text.replace(words, "")
    assert [text[max(0, found.start() - 60) : found.end()] for found in LIMITING.finditer(text)] == []
