"""Whatever bytes come: the daemon lives, stays small, and answers the others at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise import NAMES, OPS, START, Noise
from served import CODES, Peer, Served, checked, serving
from waits import until

GROWTH_MB = 64
BATCH = 500


def is_map(body: bytes) -> bool:
    return bool(body) and (0x80 <= body[0] <= 0x8F or body[0] in (0xDE, 0xDF))


def hear(peer: Peer) -> int:
    """Read all that has come; how many replies. Each has the form of the contract, and none is `internal`."""
    count = 0
    while peer.socket.poll(0):
        body = peer.socket.recv_multipart()[-1]
        count += 1
        if is_map(body):
            reply = checked(body)
            assert reply.get("error", {}).get("code") in {None, *CODES} - {"internal"}, reply
        else:
            body.decode()
    return count


def end_jobs(admin: Peer) -> None:
    for entry in admin.final("jobs")["jobs"]:
        if entry["state"] in ("queued", "running"):
            admin.final("cancel", {"job": entry["job"]})


def disturb(served: Served, messages: int, seed: int) -> None:
    with Peer(served.ipc) as admin:
        admin.final("book.new", {"discard": True, "level": 1, "depth": 10})
        small = 0.0
        heard = 0
        for batch in range(0, messages, BATCH):
            # A client is gone now and then; on TCP one may do less than on the ipc socket, so both are tried.
            with Peer(served.tcp if batch // BATCH % 2 else served.ipc) as peer:
                noise = Noise(seed + batch)
                for number in range(BATCH):
                    peer.socket.send_multipart(noise.message())
                    if number % 50 == 0:
                        assert admin.final("ping") == {}
                        heard += hear(peer)
                assert admin.final("ping") == {}
                heard += hear(peer)
            end_jobs(admin)
            if batch >= messages // 5:
                small = small or served.memory_mb
        assert served.process.poll() is None
        # Most noise is no request; how much of it is depends on the draw and on how fast answers come.
        assert heard > messages // 8

        def idle() -> bool:
            # A job goes on without its client, and some are begun only now.
            end_jobs(admin)
            return bool(admin.final("status")["running"] == 0)

        until(idle)
        assert served.memory_mb < small + GROWTH_MB
    assert "Traceback" not in served.log.read_text()


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Served]:
    """A daemon that may be disturbed, for its clients are forgotten soon."""
    with serving(tmp_path, "--bind", "tcp://127.0.0.1:0", "--limit", "grace_s=1") as served:
        with Peer(served.ipc) as peer:
            # What the engine takes once is no growth.
            peer.final("analyze", {"level": 1})
        yield served


def test_three_thousand_random_messages_do_no_harm(lone: Served) -> None:
    disturb(lone, 3_000, seed=1)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.sampled_from(("f5d6", "pa", START, "X" * 64 + " O", "../x")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, database=None)
@given(st.sampled_from(OPS), st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=9), VALUES, max_size=5))
def test_whatever_the_arguments_are_there_is_one_answer(daemon: Served, op: str, args: dict[str, object]) -> None:
    if op in ("book.new", "book.enumerate"):
        op = "ping"
    with Peer(daemon.tcp) as peer:
        number = peer.request(op, args)
        peer.request("cancel", {"target": number})
        last = peer.replies(number)[-1]
        assert last.get("error", {}).get("code") != "internal", last
        assert peer.final("ping") == {}


@pytest.mark.slow
def test_a_hundred_thousand_random_messages_do_no_harm(lone: Served) -> None:
    disturb(lone, 100_000, seed=10**6)


def test_a_flood_of_one_client_harms_no_other(lone: Served) -> None:
    with Peer(lone.ipc) as flood, Peer(lone.ipc) as other:
        for number in range(3_000):
            flood.request("analyze", {"level": 60, "book": "ignore"}, id=number)
        began = time.monotonic()
        assert other.final("analyze", {"level": 1})["moves"]
        assert time.monotonic() - began < 30
        # All but those that are searched or wait.
        codes = {flood.reply()["error"]["code"] for _ in range(3_000 - other.final("hello")["limits"]["in_flight"])}
        assert codes == {"busy"}
    with Peer(lone.ipc) as other:
        until(lambda: other.final("status")["running"] == 0)


def test_a_thousand_connections_are_served(lone: Served) -> None:
    with Peer(lone.ipc) as other:
        for number in range(1_000):
            if number == 200:
                before = lone.memory_mb
            with Peer(lone.ipc if number % 2 else lone.tcp) as peer:
                if number % 3:
                    peer.request("analyze", {"level": 60, "book": "ignore"})
                if number % 5 == 0:
                    peer.final("ping")
        assert other.final("ping") == {}
        until(lambda: other.final("status")["running"] == 0)
        assert lone.memory_mb < before + GROWTH_MB
