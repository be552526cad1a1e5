"""The wire protocol from its contract alone, continued: ids in flight, text, jobs, and every operation."""

from __future__ import annotations

import msgpack
import pytest
import zmq
from served import ENDLESS, Peer, Served, line_of
from waits import until

# --- ids in flight, load


def test_nobody_cancels_the_request_of_another(admin: Peer, editor: Peer) -> None:
    admin.request("analyze", {"moves": line_of(61, 6), **ENDLESS}, id="mine")
    assert editor.final("cancel", {"target": "mine"}) == {"cancelled": False}
    assert admin.final("cancel", {"target": "mine"}) == {"cancelled": True}


def test_an_id_in_flight_cannot_be_used_again(admin: Peer) -> None:
    admin.request("analyze", {"moves": line_of(62, 6), **ENDLESS}, id="same")
    admin.request("ping", id="same")
    reply = admin.reply()
    assert (reply["id"], reply["type"], reply["error"]["code"]) == ("same", "error", "duplicate_id")
    admin.request("cancel", {"target": "same"}, id="other")
    replies = [admin.reply(), admin.reply()]
    assert {(reply["id"], reply["type"]) for reply in replies} == {("same", "error"), ("other", "final")}
    assert admin.ask("ping", id="same")["type"] == "final"


# --- text


def test_text_frames_are_one_answer_each(admin: Peer) -> None:
    assert "f5" in admin.text("moves").lower()
    admin.text("play f5")
    assert "f5" not in admin.text("moves").lower()
    assert admin.text("") == ""
    assert "nonsense" in admin.text("nonsense")
    for odd in (b"\xff\xfe", b"moves\0", b"\n", b"moves\nmoves", b"\x00", b"x" * 100_000):
        admin.send(odd)
        admin.receive().decode()
    assert admin.final("ping") == {}


def test_text_frames_of_a_client_are_answered_in_order(admin: Peer) -> None:
    for line in ("init", "moves", "play f5", "moves", "undo", "moves"):
        admin.send(line.encode())
    answers = [admin.receive().decode() for _ in range(6)]
    assert answers[1] == answers[5] != answers[3]


def test_every_client_has_a_board_of_its_own(daemon: Served, admin: Peer) -> None:
    with Peer(daemon.ipc) as other:
        admin.text("init")
        before = other.text("moves")
        admin.text("play f5")
        assert other.text("moves") == before != admin.text("moves")


def test_the_text_operation_shares_the_board(admin: Peer) -> None:
    admin.final("text", {"line": "init"})
    data = admin.final("text", {"line": "play f5"})
    assert data.keys() >= {"out", "err"}
    assert data["err"] == ""
    assert admin.final("text", {"line": "moves"})["out"] == admin.text("moves")
    assert "nonsense" in admin.final("text", {"line": "nonsense"})["err"]
    assert admin.refused("text", {}) == "bad_request"
    assert admin.refused("text", {"line": 3}) == "bad_request"
    assert "f5" not in admin.final("text", {"line": "moves"})["out"].lower()


# --- jobs


@pytest.mark.needs("book.growth")
def test_jobs_are_listed_watched_and_cancelled(daemon: Served, admin: Peer, editor: Peer) -> None:
    with zmq.Context() as context, context.socket(zmq.SUB) as events:
        events.connect(daemon.events(daemon.ipc))
        events.subscribe("job.")
        number = admin.request("book.learn", {"depth": 40, "per-move": 10, "cumulative": 20, "leaf": 10, "level": 12})
        first = admin.reply()
        assert (first["id"], first["type"]) == (number, "partial")
        job = first["data"]["job"]
        listed = {entry["job"]: entry for entry in editor.final("jobs")["jobs"]}
        assert listed[job].keys() >= {"job", "op", "client", "state", "done", "total", "started"}
        assert (listed[job]["op"], listed[job]["state"]) == ("book.learn", "running")
        assert events.poll(20_000)
        topic, body = events.recv_multipart()
        assert topic.decode() == f"job.{job}"
        assert isinstance(msgpack.unpackb(body), dict)
        assert editor.final("book.get", {"moves": "f5"}).keys() >= {"found"}
        assert editor.final("cancel", {"job": job}) == {"cancelled": True}
    while (reply := admin.reply())["type"] == "partial":
        assert reply["id"] == number
    assert reply["error"]["code"] == "cancelled"
    assert admin.final("cancel", {"job": job}) == {"cancelled": False}


def test_the_last_event_of_a_job_has_the_book_s_size(daemon: Served, admin: Peer) -> None:
    with zmq.Context() as context, context.socket(zmq.SUB) as events:
        events.connect(daemon.events(daemon.ipc))
        events.subscribe("job.")
        # Once one is heard, the daemon knows of the subscription.
        until(lambda: admin.final("book.info") and events.poll(100))
        found = admin.final("book.info")
        while True:
            assert events.poll(20_000)
            event = msgpack.unpackb(events.recv_multipart()[1])
            if event["op"] == "book.info" and event["state"] == "done":
                break
        assert event["positions"] == found["positions"] > 0


def test_a_silent_command_has_no_text(admin: Peer) -> None:
    for op, args in (("book.on", {}), ("book.randomness", {"discs": 0}), ("book.verbose", {"verbosity": 1})):
        assert admin.final(op, args).keys().isdisjoint({"text", "notes"}), op


# --- every operation whatever it is, and the REQ socket
