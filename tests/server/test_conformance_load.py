"""The wire protocol from its contract alone, continued: cancelling, load, text, the book, roles, and ends."""

from __future__ import annotations

from pathlib import Path

import msgpack
import zmq
from served import ENDLESS, Peer, Served, line_of, serving

# --- cancelling, ids in flight, load


def test_cancelling_an_analysis(admin: Peer) -> None:
    for wanted in (77, "by name"):
        admin.request("analyze", {"moves": line_of(60, 6), **ENDLESS}, id=wanted)
        number = admin.request("cancel", {"target": wanted})
        found = {}
        while len(found) < 2:
            reply = admin.reply()
            if reply["type"] != "partial":
                found[reply["id"]] = reply
        assert found[number]["data"] == {"cancelled": True}
        assert found[wanted]["error"]["code"] == "cancelled"
        assert admin.final("cancel", {"target": wanted}) == {"cancelled": False}
    assert admin.refused("cancel", {}) == "bad_request"
    assert admin.refused("cancel", {"target": [1]}) == "bad_request"
    assert admin.refused("cancel", {"job": 10**9}) == "not_found"


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


def test_too_many_in_flight_are_busy(admin: Peer) -> None:
    most = admin.final("hello")["limits"]["in_flight"]
    wanted = {admin.request("analyze", {"moves": line_of(63, 6), **ENDLESS}) for _ in range(most + 1)}
    reply = admin.reply()
    assert (reply["id"] in wanted, reply["type"], reply["error"]["code"]) == (True, "error", "busy")
    wanted.remove(reply["id"])
    for number in list(wanted):
        admin.request("cancel", {"target": number}, id=f"c{number}")
    while wanted:
        reply = admin.reply()
        if reply["id"] in wanted and reply["type"] != "partial":
            wanted.remove(reply["id"])
            assert reply["error"]["code"] == "cancelled"


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


def test_stop_ends_a_search_of_the_same_client(admin: Peer) -> None:
    admin.text("level 60")
    admin.send(b"hint")
    admin.send(b"stop")
    admin.receive()
    admin.receive()
    admin.text("level 1")


# --- the book


def test_look_ups_and_stores(admin: Peer) -> None:
    line = line_of(70, 8)
    assert admin.final("book.get", {"moves": line})["found"] is False
    replies = admin.replies(admin.request("book.store", {"moves": line}))
    for partial in replies[:-1]:
        assert partial["data"].keys() >= {"job", "phase", "done", "total", "eta_s", "positions"}
    data = replies[-1]["data"]
    assert data.keys() >= {"job", "added", "changed", "positions", "time_s"}
    assert data["added"] > 0
    look = admin.final("book.get", {"moves": line})
    assert look.keys() >= {"found", "level", "score", "lower", "upper", "wins", "draws", "losses"}
    assert look.keys() >= {"lines", "grade", "links", "leaf"}
    assert look["found"] is True
    assert look["leaf"].keys() >= {"move", "score", "level"}
    before = admin.final("book.get", {"moves": line[:-2]})
    assert {link["move"] for link in before["links"]} >= {line[-2:]}
    assert all(link.keys() >= {"move", "score"} for link in before["links"])
    answer = admin.final("analyze", {"moves": line[:-2], "book": "only"})
    assert {move["source"] for move in answer["moves"]} == {"book"}
    assert admin.final("book.get", {"moves": line_of(71, 30)})["found"] is False


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
        events.poll(300)
        found = admin.final("book.info")
        while True:
            assert events.poll(20_000)
            event = msgpack.unpackb(events.recv_multipart()[1])
            if event["op"] == "book.info" and event["state"] == "done":
                break
        assert event["positions"] == found["positions"] > 0


def test_what_a_command_does_not_print_is_not_there(admin: Peer) -> None:
    for op, args in (("book.on", {}), ("book.randomness", {"discs": 0}), ("book.verbose", {"verbosity": 1})):
        assert admin.final(op, args).keys().isdisjoint({"text", "notes"}), op


# --- every operation whatever it is, and the REQ socket


def test_every_operation_ends_in_one_final_or_error(admin: Peer) -> None:
    harmless = [op for op in admin.final("hello")["ops"] if op not in ("shutdown", "book.new", "book.enumerate")]
    for op in harmless:
        for args in (None, {}, {"file": "../x", "line": 3, "job": -1, "depth": "x", "moves": "f5", "level": 1}):
            number = admin.request(op, args)
            # Some would go on for hours.
            admin.request("cancel", {"target": number})
            replies = admin.replies(number)
            assert replies[-1]["type"] in ("final", "error"), op
            assert replies[-1].get("error", {}).get("code") != "internal", (op, args, replies[-1])
    begin_again(admin)


def begin_again(peer: Peer) -> None:
    """The book as it was: what has been asked for above may have set any level and depth."""
    peer.final("book.load", {"discard": True, "file": "shared.book"})
    peer.final("book.level", {"level": 1})
    peer.final("book.depth", {"depth": 20})


# --- roles, ends, and what only a daemon of its own can show


def test_without_a_book_nothing_is_found(tmp_path: Path) -> None:
    with serving(tmp_path) as served, Peer(served.ipc) as peer:
        reply = peer.ask("book.get", {"moves": "f5"})
        assert reply.get("data", {}).get("found") is False or reply["error"]["code"] == "not_found"
        assert peer.refused("book.store", {"moves": "f5"}) == "not_found"
        assert peer.final("status")["book"]["positions"] == 0
