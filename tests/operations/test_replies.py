"""Every reply has the fields that docs/replies.md gives it, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated, until

from desdaemon.protocol.wire import messages
from desdaemon.protocol.wire.replies import REPLIES, SHAPES, faults

OVER = "X" * 63 + "- O"


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    daemon = Operated(tmp_path, slots=2)
    daemon.final("book.new", {"level": 6, "depth": 4})
    daemon.final("book.store", {"moves": "f5d6"})
    return daemon


def sound(shape: str, data: dict[str, Any]) -> None:
    assert faults(shape, data) == []
    assert json.loads(json.dumps(data)) == data


def test_every_operation_and_every_shape_is_described() -> None:
    assert set(REPLIES) == {operation.name for operation in messages.BASIC_OPERATIONS}
    used = {shape for shapes in REPLIES.values() for shape in shapes} | {"progress", "done"}
    for fields in SHAPES.values():
        for field in fields:
            assert field.help.endswith("."), field
            used |= {word for word in field.type.replace("[", " ").replace("]", " ").split() if word in SHAPES}
    assert used == set(SHAPES)


@pytest.mark.parametrize(
    ("op", "args", "shape"),
    [
        ("ping", {}, "nothing"),
        ("hello", {}, "hello"),
        ("metrics", {}, "metrics"),
        ("status", {}, "status"),
        ("text", {"line": "moves"}, "text"),
        ("legal", {"moves": "f5"}, "legal"),
        ("legal", {"board": OVER}, "legal"),
        ("analyze", {"moves": "f5", "level": 3}, "analysis"),
        ("analyze", {"moves": "f5", "level": 3, "multipv": 60}, "analysis"),
        ("analyze", {"moves": "f5", "level": 9}, "analysis"),
        ("analyze", {"moves": "f5", "level": 9, "book": "only"}, "analysis"),
        ("analyze", {"board": OVER}, "analysis"),
        ("analyze", {"depth": 3, "nodes": 1, "book": "ignore"}, "analysis"),
        ("analyze", {"moves": "f5d6", "plies": [0, 1, 2], "level": 9}, "game"),
        ("book.get", {"moves": "f5"}, "look"),
        ("book.get", {"moves": "f5", "children": True}, "look"),
        ("book.get", {"positions": [{"moves": "f5"}, {"moves": "d3"}]}, "looks"),
        ("book.get", {"moves": "f5d6c3d3c4"}, "look"),
        ("jobs", {}, "jobs"),
        ("cancel", {"target": 10**6}, "cancelled"),
        ("cancel", {"all": True}, "cancelled"),
        ("cache.clear", {}, "cleared"),
        ("shutdown", {}, "nothing"),
    ],
)
def test_finals(daemon: Operated, op: str, args: dict[str, Any], shape: str) -> None:
    *partials, last = daemon.ends(daemon.request(op, args))
    assert last["type"] == "final", last
    sound(shape, last["data"])
    for partial in partials:
        sound("analysis", partial["data"])
        assert "done" in partial["data"]


def test_kept_answers_and_batches(daemon: Operated) -> None:
    for _ in range(2):
        data = daemon.final("analyze", {"moves": "f5", "level": 9})
        sound("analysis", data)
    assert data["cached"]
    asked = daemon.final("analyze.batch", {"items": [{}, {"moves": "a1"}], "level": 3})
    sound("batch", asked)
    until(lambda: daemon.final("batch.results", {"job": asked["job"]})["done"])
    page = daemon.final("batch.results", {"job": asked["job"]})
    sound("page", page)
    assert {"data", "error"} <= {name for result in page["results"] for name in result}
    sound("jobs", daemon.final("jobs"))
    sound("status", daemon.final("status"))
    sound("forgotten", daemon.final("batch.forget", {"job": asked["job"]}))


def test_what_a_cancel_leaves(daemon: Operated) -> None:
    for args, shape in (({}, "analysis"), ({"moves": "f5", "plies": [0, 1]}, "game")):
        asked = daemon.request("analyze", {"depth": ENDLESS_DEPTH + 1, "book": "ignore", **args})
        until(lambda: any(searcher.begun.is_set() for searcher in daemon.searchers))
        daemon.final("cancel", {"all": True})
        reply = daemon.ends(asked)[-1]
        sound(shape, reply["data"])
        sound("error", reply["error"])
        until(lambda: daemon.services.scheduler.running == 0)
        for searcher in daemon.searchers:
            searcher.begun.clear()


def test_jobs_of_the_book(daemon: Operated) -> None:
    for op, args in (
        ("book.store", {"moves": "f5f6"}),
        ("book.fix", {}),
        ("book.info", {}),
        ("book.verify", {}),
        ("book.save", {"file": "a.book"}),
        ("book.on", {}),
    ):
        *partials, last = daemon.ends(daemon.request(op, args))
        # Each command adds fields of its own, which docs/book.md is about.
        assert faults("done", last["data"], open_ended=True) == [], op
        for partial in partials:
            sound("progress", partial["data"])


def test_a_book_of_another_process(daemon: Operated, tmp_path: Path) -> None:
    daemon.final("book.save", {"file": "a.book"})
    other = Operated(tmp_path)
    other.final("book.load", {"file": "a.book"})
    data = other.final("status")
    sound("status", data)
    assert not data["book"]["writable"]


def test_what_is_wrong_with_a_reply_is_found() -> None:
    good = {"moves": ["f5"], "board": "x", "over": False, "discs": [2, 2]}
    assert faults("legal", good) == []
    for wrong in (
        {**good, "more": 1},
        {**good, "over": 1},
        {**good, "discs": [2, "2"]},
        {**good, "discs": [True, 2]},
        {name: value for name, value in good.items() if name != "board"},
        [],
    ):
        assert faults("legal", wrong)
