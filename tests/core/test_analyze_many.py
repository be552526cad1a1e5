"""`analyze` of many positions in one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated
from waits import until

from desdaemon.core.requests.questions import Terms, read_questions
from desdaemon.core.requests.request import ServerLimits
from desdaemon.engine.lines import LineReader
from desdaemon.protocol.othello.notation import START, board_text
from desdaemon.protocol.wire.messages import RequestError

MOST_LISTED_MOVES = 4000
MOST_POSITIONS = 1000

LINES = ["", "f5", "f5d6", "f5d6c3", "f5d6c3d3", "f5f6", "f5d6c3d3c4"]
OVER = "X" * 63 + "- O"


def items() -> list[dict[str, Any]]:
    return [{"moves": line} for line in LINES] + [{}, {"board": board_text(START.after(19))}, {"board": OVER}]


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


@pytest.mark.parametrize(
    "limits", [{"depth": 4}, {"level": 2}, {}, {"depth": 9, "multipv": 3}, {"deterministic": True}]
)
def test_answers_are_those_of_single_requests_in_order(daemon: Operated, limits: dict[str, Any]) -> None:
    replies = daemon.ends(daemon.request("analyze", {"positions": items(), **limits}))
    assert [reply["type"] for reply in replies] == ["final"]
    data = replies[-1]["data"]
    assert [found["item"] for found in data["results"]] == list(range(len(items())))
    assert data["nodes"] == sum(found["nodes"] for found in data["results"])
    assert data["results"][-1]["over"]
    daemon.final("cache.clear")
    # The moves may be mirror images: the start position is asked about twice, and kept the first time.
    single = [daemon.final("analyze", {**item, **limits}) for item in items()]
    for one, found in zip(single, data["results"], strict=True):
        told = [
            [(move["score"], move["depth"], move["selectivity"]) for move in data["moves"]] for data in (one, found)
        ]
        assert told[0] == told[1]
        assert (one["board"], one["canonical"]) == (found["board"], found["canonical"])


REFUSED = [
    ({"positions": [{}] * (MOST_POSITIONS + 1)}, "bad_request"),
    ({"positions": [{"moves": 7}]}, "bad_request"),
    ({"positions": [{"moves": ["f5"]}]}, "bad_request"),
    ({"positions": [{"board": "X" * 10_000}]}, "bad_request"),
    ({"positions": ["f5"]}, "bad_request"),
    ({"positions": [*items(), {"moves": "a1"}]}, "illegal_move"),
    ({"positions": [{"board": "XX"}]}, "bad_position"),
    ({"positions": [{}], "moves": "f5"}, "bad_request"),
    ({"positions": [{}], "board": board_text(START)}, "bad_request"),
]
OF_ANALYSES = [
    ({"positions": [{}] * MOST_POSITIONS, "multipv": 1 + MOST_LISTED_MOVES // MOST_POSITIONS}, "too_large"),
    ({"positions": [{}], "plies": [0]}, "bad_request"),
    ({"positions": [{}], "until": "cancelled"}, "bad_request"),
]


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [*[("book.get", *row) for row in REFUSED], *[("analyze", *row) for row in [*REFUSED, *OF_ANALYSES]]],
)
def test_bad_lists_are_refused(daemon: Operated, op: str, args: dict[str, Any], code: str) -> None:
    (reply,) = daemon.ends(daemon.request(op, args))
    assert (reply["type"], reply["error"]["code"], reply["error"]["field"]) == ("error", code, "positions")
    assert not daemon.searchers
    assert not daemon.client.requests


@pytest.mark.parametrize("op", ["analyze", "book.get"])
def test_unknown_keys_of_a_position_give_a_warning(daemon: Operated, op: str) -> None:
    reply = daemon.ask(op, {"positions": [{"moves": "f5", "mvoes": "d6"}]})
    assert reply["type"] == "final"
    assert reply["warnings"] == ["positions: a map has keys other than board and moves"]


def test_the_error_names_the_position(daemon: Operated) -> None:
    message = daemon.ask("analyze", {"positions": [{}, {"moves": "f5"}, {"moves": "f5f5"}]})["error"]["message"]
    assert message.startswith("positions 2: ")


def test_partials_come_where_they_are_asked_for(daemon: Operated) -> None:
    asked = {"positions": items(), "depth": 4, "partial_ms": 10_000}
    *partials, last = daemon.ends(daemon.request("analyze", asked))
    done = [reply["data"] for reply in partials if reply["data"]["done"]]
    assert sorted(data["item"] for data in done) == list(range(len(items())))
    assert {reply["type"] for reply in partials} == {"partial"}
    assert "done" not in last["data"]["results"][0]


def test_kept_analyses_answer_a_list(daemon: Operated) -> None:
    daemon.final("analyze", {"moves": "f5d6", "depth": 6})
    # A mirror image, and the position itself.
    data = daemon.final("analyze", {"positions": [{"moves": "d3c5"}, {"moves": "f5d6"}, {"moves": "f5"}], "depth": 5})
    assert ["cached" in found for found in data["results"]] == [True, True, False]
    assert "cached" in daemon.final("analyze", {"moves": "f5", "depth": 5})


def test_the_book_answers_where_its_level_suffices(daemon: Operated) -> None:
    daemon.final("book.new", {"discard": True, "level": 6, "depth": 4})
    daemon.final("book.store", {"moves": "f5d6"})
    asked = {"positions": [{"moves": "f5"}, {"moves": "f5d6c3d3"}]}
    low = daemon.ends(daemon.request("analyze", {**asked, "level": 6}))
    assert [reply["type"] for reply in low] == ["final"]
    assert [found["moves"][0]["source"] for found in low[-1]["data"]["results"]] == ["book", "search"]
    high = daemon.ends(daemon.request("analyze", {**asked, "level": 10}))
    # What a book of a lower level says is told with the partials, which were not asked for.
    assert [reply["type"] for reply in high] == ["final"]
    assert [found["moves"][0]["source"] for found in high[-1]["data"]["results"]] == ["search"] * 2
    first = daemon.ends(daemon.request("analyze", {**asked, "level": 12, "partial_ms": 10_000}))[0]
    assert (first["data"]["item"], first["data"]["done"], first["data"]["moves"][0]["source"]) == (0, False, "book")


def test_a_cancelled_list_tells_what_was_found(daemon: Operated) -> None:
    daemon.final("analyze", {"moves": "f5d6c3", "depth": 60, "nodes": 5})
    known = {"moves": "f5d6c3"}
    asked = daemon.request(
        "analyze", {"positions": [{}, known, *[{"moves": "f5"}] * 90], "depth": ENDLESS_DEPTH + 1, "book": "ignore"}
    )
    until(lambda: daemon.searchers[0].begun.is_set() and daemon.services.scheduler.running)
    queued = daemon.services.scheduler.queued
    daemon.final("cancel", {"target": asked, "keep": True})
    reply = daemon.ends(asked)[-1]
    assert (reply["type"], reply["data"]["finished"]) == ("final", False)
    found = {data["item"]: data for data in reply["data"]["results"]}
    assert 1 in found
    assert "finished" not in found[1]
    assert all(data["finished"] is False for item, data in found.items() if item != 1)
    # A list waits with a few of its searches only.
    assert queued <= 2
    until(lambda: daemon.services.scheduler.running == daemon.services.scheduler.queued == 0)
    assert daemon.services.operations.status()["queued"] == 0


def test_a_list_counts_its_positions(tmp_path: Path) -> None:
    daemon = Operated(tmp_path, limits=ServerLimits(queue=60, key_queue=40))
    endless = {"depth": ENDLESS_DEPTH, "book": "ignore"}
    error = daemon.ask("analyze", {"positions": [{}] * 41, **endless})["error"]
    assert (error["code"], error["message"]) == ("busy", "41 positions in a request: expected at most 40")
    assert daemon.code("analyze", {"positions": [{}] * 14, "multipv": 3, **endless}) == "busy"
    first = daemon.request("analyze", {"positions": [{}] * 20, **endless})
    (account,) = [found for found in daemon.final("status")["accounts"] if found["in_flight"]]
    assert account["in_flight"] == 20
    assert daemon.code("analyze", {"positions": [{}] * 20, **endless}) == "busy"
    daemon.final("cancel", {"target": first})
    assert daemon.ends(first)[-1]["error"]["code"] == "cancelled"
    assert daemon.final("analyze", {"positions": [{}] * 40, "depth": 3})["results"]


def test_a_budget_is_shared_by_the_positions(daemon: Operated) -> None:
    asked = {"positions": [{"moves": line} for line in LINES[:5]], "game_nodes": 100_000, "book": "ignore"}
    daemon.final("analyze", asked)
    assert daemon.searchers[0].calls[0][2].nodes == 100_000 // 5


def test_moves_that_are_not_legal_in_a_position_are_ignored_there(daemon: Operated) -> None:
    data = daemon.final("analyze", {"positions": [{}, {"moves": "f5"}], "allow": ["f5", "d6"], "depth": 3})
    assert [found["moves"][0]["move"] for found in data["results"]] == ["f5", "d6"]


def test_compiled_code_reads_the_questions_that_python_reads() -> None:
    values = {
        "level": 2,
        "positions": [*items(), {"moves": "F5 d6"}, {"moves": "d3c3e6d2d1e1b2c1paa3"}, {"moves": "d3c3e6d2d1e1b2c1a3"}]
        * 9,
    }
    terms = Terms(values, 4)
    questions = read_questions(terms, values)
    assert read_questions(terms, values, reader=LineReader()) == questions


@pytest.mark.parametrize(("args", "code"), [row for row in REFUSED if row[1] in ("illegal_move", "bad_position")])
def test_compiled_code_refuses_what_python_refuses(args: dict[str, Any], code: str) -> None:
    with pytest.raises(RequestError) as plain:
        read_questions(Terms(args, 4), args)
    with pytest.raises(RequestError) as refused:
        read_questions(Terms(args, 4), args, reader=LineReader())
    assert refused.value.data() == plain.value.data()
    assert plain.value.code == code
