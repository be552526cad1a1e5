"""Several clients and one daemon: a job and those who look on, interactive work before it, clients that come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import zmq
from served import Peer, Served, line_of
from waits import until

from desdaemon.clients import Client

LEARN = {"depth": 20, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 3}


def state_of(peer: Peer, job: int) -> str:
    return next(str(entry["state"]) for entry in peer.final("jobs")["jobs"] if entry["job"] == job)


@pytest.fixture
def learning(daemon: Served, admin: Peer) -> Iterator[int]:
    """A job that would go on for long; its number. Its client goes away at once."""
    with Peer(daemon.tcp) as editor:
        editor.request("book.learn", LEARN)
        reply = editor.reply()
        assert reply["type"] == "partial"
        job: int = reply["data"]["job"]
    yield job
    admin.final("cancel", {"job": job})
    until(lambda: state_of(admin, job) == "cancelled")


def test_a_job_goes_on_without_its_client(learning: int, admin: Peer) -> None:
    before = admin.final("status")["book"]["positions"]
    until(lambda: admin.final("status")["book"]["positions"] > before)
    assert state_of(admin, learning) == "running"


def test_look_ups_do_not_wait_for_a_job(learning: int, admin: Peer, editor: Peer) -> None:
    for number in range(300):
        assert editor.final("book.get", {"moves": line_of(number % 20, number % 6)}).keys() >= {"found"}
    assert state_of(admin, learning) == "running"


def test_an_analysis_goes_before_a_job(learning: int, admin: Peer) -> None:
    for seed in range(10):
        assert admin.final("analyze", {"moves": line_of(seed, 9), "level": 3, "book": "ignore"})["moves"]
    assert state_of(admin, learning) == "running"


def test_everybody_hears_how_far_a_job_is(learning: int, daemon: Served) -> None:
    with Client.connect(daemon.tcp) as client:
        topic, data = next(client.events(f"job.{learning}"))
        assert topic == f"job.{learning}"
        assert data.keys() >= {"job", "phase", "done", "total"}
        assert any(job["job"] == learning for job in client.jobs())


def test_writers_take_turns(learning: int, admin: Peer, editor: Peer) -> None:
    number = editor.request("book.store", {"moves": line_of(90, 6)})
    until(lambda: any(entry["state"] == "queued" for entry in admin.final("jobs")["jobs"]))
    admin.final("cancel", {"job": learning})
    assert editor.replies(number)[-1]["data"]["added"] > 0


def test_the_one_who_asked_may_cancel_by_its_own_id(admin: Peer) -> None:
    number = admin.request("book.learn", LEARN)
    job = admin.reply()["data"]["job"]
    assert admin.final("cancel", {"target": number}) == {"cancelled": True}
    until(lambda: state_of(admin, job) == "cancelled")
    # Giving the command again goes on: what was found is there, and the book is sound.
    assert admin.final("book.verify")["changed"] == 0


def test_somebody_who_comes_back_in_time_gets_what_was_missed(daemon: Served) -> None:
    with zmq.Context() as context:
        answers: list[dict[str, Any]] = []
        for attempt in range(2):
            peer = Peer.__new__(Peer)
            peer.kind, peer.last, peer.context, peer._ops = zmq.DEALER, 0, context, {}
            peer.socket = context.socket(zmq.DEALER)
            peer.socket.routing_id = b"the same as ever"
            peer.socket.linger = 0
            peer.socket.connect(daemon.ipc)
            if attempt == 0:
                peer.request("analyze", {"moves": line_of(91, 7), "time_ms": 700, "book": "ignore"}, id="long")
                peer.final("ping")
            else:
                peer.request("ping")
                answers = [peer.reply(), peer.reply()]
            peer.socket.close(linger=0)
    assert {(answer["id"], answer["type"]) for answer in answers} == {("long", "final"), (1, "final")}


def test_two_hundred_clients_all_get_their_turn(daemon: Served) -> None:
    with Peer(daemon.ipc) as greedy:
        for seed in range(30):
            greedy.request("analyze", {"moves": line_of(seed, 10), "level": 8, "book": "ignore"})
        peers = [Peer(daemon.ipc) for _ in range(200)]
        for seed, peer in enumerate(peers):
            peer.request("analyze", {"moves": line_of(1000 + seed, 12), "level": 2, "book": "ignore"})
        for peer in peers:
            assert peer.reply()["data"]["moves"]
            peer.close()
