"""The wire protocol from its contract alone: every operation and every error code, over a DEALER and a REQ socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from served import CODES, ENDLESS, PRETENDING, Peer, Served, line_of, serving
from waits import until

FINALS: dict[str, dict[str, Any]] = {
    "ping": {},
    "hello": {},
    "metrics": {},
    "status": {},
    "text": {"line": "moves"},
    "analyze": {"moves": "f5d6c3", "level": 1, "plies": [0, 2]},
    "legal": {"moves": "f5d6c3"},
    "book.store": {"moves": "f5d6c3d3"},
    "book.get": {"moves": "f5d6c3"},
    "book.deviate": {"moves": "f5d6c3d3", "relative": 0, "absolute": 0},
    "book.enhance": {"midgame-error": 0, "endcut-error": 0},
    "book.fill": {"plies": 1},
    "book.fix": {},
    "book.negamax": {},
    "book.deepen": {"level": 1},
    "book.reduce": {"depth": 30, "per-move": 129, "cumulative": 129},
    "book.export": {"file": "both.txt"},
    "book.import": {"file": "both.txt"},
    "book.merge": {"file": "both.txt"},
    "book.save": {},
    "book.load": {"file": "shared.book"},
    "jobs": {},
    "cancel": {"target": "nobody's"},
}
JOBS = {op for op in FINALS if op.startswith("book.")} - {"book.get"}
ERRORS: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("bad_request", "legal", 3, {}),
    ("bad_request", "analyze", {"level": "high"}, {}),
    ("unsupported_version", "ping", {}, {"v": 2}),
    ("unknown_op", "teleport", {}, {}),
    ("bad_position", "legal", {"board": "X"}, {}),
    ("illegal_move", "analyze", {"moves": "a1"}, {}),
    ("not_found", "cancel", {"job": 10**9}, {}),
    ("not_found", "book.load", {"file": "nowhere"}, {}),
    ("too_large", "legal", {"x": b"\0" * (1 << 20)}, {}),
    ("forbidden", "book.load", {"file": "../x"}, {}),
]
# Two requests of one client at once are what makes this one, and a REQ socket cannot make them.
DEALER_ONLY = {"duplicate_id"}
ELSEWHERE = {"busy", "cancelled", "shutting_down", "internal"}


KINDS = {"DEALER": zmq.DEALER, "REQ": zmq.REQ}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def peer(daemon: Served, request: pytest.FixtureRequest) -> Iterator[Peer]:
    with Peer(daemon.ipc, request.param) as found:
        yield found


@pytest.mark.needs("book.growth")
@pytest.mark.needs("book.reports")
def test_every_operation_of_the_contract_is_answered(peer: Peer) -> None:
    for op, args in FINALS.items():
        named = {**args, "file": f"both-{peer.kind}.book"} if op == "book.save" else args
        data = peer.final(op, named)
        assert data.keys() >= ({"job", "added", "changed", "positions", "time_s"} if op in JOBS else set()), op


@pytest.mark.parametrize(("code", "op", "args", "envelope"), ERRORS, ids=[f"{row[0]}-{row[1]}" for row in ERRORS])
def test_each_error_has_its_code(peer: Peer, code: str, op: str, args: Any, envelope: dict[str, Any]) -> None:
    number = peer.request(op, args, **envelope)
    reply = peer.reply()
    assert (reply["type"], reply["error"]["code"]) == ("error", code)
    assert reply["id"] == number


def test_a_role_that_does_not_suffice_is_forbidden(daemon: Served) -> None:
    with Peer(daemon.tcp, zmq.REQ) as peer:
        assert peer.refused("shutdown") == "forbidden"


@pytest.mark.needs("book.growth")
def test_a_job_cancelled_by_somebody_else_says_so(daemon: Served, admin: Peer) -> None:
    with Peer(daemon.ipc, zmq.REQ) as peer:
        number = peer.request("book.learn", {"depth": 20, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 12})
        found: list[int] = []
        until(lambda: found or found.extend(j["job"] for j in admin.final("jobs")["jobs"] if j["state"] == "running"))
        assert admin.final("cancel", {"job": found[0]}) == {"cancelled": True}
        assert peer.replies(number)[-1]["error"]["code"] == "cancelled"


def test_a_full_queue_is_busy(tmp_path: Path) -> None:
    with serving(tmp_path, "--limit", "queue=1") as served, Peer(served.ipc) as other, Peer(served.ipc, zmq.REQ) as req:
        for seed in range(4):
            other.request("analyze", {"moves": line_of(seed, 5), **ENDLESS})
        assert other.reply()["error"]["code"] == "busy"
        # A game: something small is let in whatever others do.
        assert req.refused("analyze", {**ENDLESS, "plies": [0] * 9}) == "busy"
        assert req.final("ping") == {}


def test_a_server_that_ends_refuses_requests(tmp_path: Path) -> None:
    with (
        serving(tmp_path, program=PRETENDING, FINISH_S="600", ENDLESS=f"0:{tmp_path / 'begun'}") as served,
        Peer(served.ipc) as other,
        Peer(served.ipc, zmq.REQ) as req,
    ):
        assert req.final("ping") == {}
        # What has a limit may finish, so that there is time to ask for something else.
        searching = other.request("analyze", {"time_ms": 800})
        until(lambda: other.final("status")["running"] == 1)
        assert other.final("shutdown") == {}
        assert req.refused("analyze", {"level": 1}) == "shutting_down"
        assert other.final("cancel", {"target": searching}) == {"cancelled": True}
        assert served.process.wait(60) == 0


def test_an_internal_error_has_its_code(tmp_path: Path) -> None:
    with serving(tmp_path, program=PRETENDING, FAIL="1") as served, Peer(served.ipc, zmq.REQ) as peer:
        error = peer.ask("analyze", {"level": 1})["error"]
        assert (error["code"], "Traceback" in error["message"]) == ("internal", False)
        assert peer.final("ping") == {}


def test_every_error_code_is_tested_here() -> None:
    assert {row[0] for row in ERRORS} | DEALER_ONLY | ELSEWHERE == CODES
