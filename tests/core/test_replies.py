"""Every reply has the fields that docs/protocol.md gives it, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fake_engine import ENDLESS_DEPTH
from operated import Operated
from reply_checks import PARTIALS, REPLIES, final_faults, shape_faults
from waits import until

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.book_rows import BookCommand
from desdaemon.protocol.wire import messages
from desdaemon.protocol.wire.replies import BOOK_RESULTS, ENVELOPE, EVENTS, SHAPES

OVER = "X" * 63 + "- O"


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    daemon = Operated(tmp_path, slots=2)
    daemon.final("book.new", {"discard": True, "level": 6, "depth": 4})
    daemon.final("book.store", {"moves": "f5d6"})
    return daemon


def sound(shape: str, data: dict[str, Any]) -> None:
    assert shape_faults(shape, data) == []
    assert json.loads(json.dumps(data)) == data


def shapes_in(type: str) -> set[str]:
    return set(re.findall(r"\w+", type)) & set(SHAPES)


def test_every_operation_and_every_shape_is_described() -> None:
    assert set(REPLIES) == {operation.name for operation in messages.BASIC_OPERATIONS}
    assert set(BOOK_RESULTS) <= {operation.name for operation in messages.BOOK_OPERATIONS}
    used = {shape for shapes in REPLIES.values() for shape in shapes} | set(PARTIALS.values()) | set(EVENTS.values())
    for fields in [*SHAPES.values(), *BOOK_RESULTS.values()]:
        for field in fields:
            used |= shapes_in(field.type)
    assert used | {"error", "job_result"} == set(SHAPES)


def test_every_field_has_its_unit_and_its_point_of_view() -> None:
    plain = {"job", "pid", "holder", "protocol", "item", "cursor", "seq", "v", "priority", "after", "id"}
    for fields in [*SHAPES.values(), *BOOK_RESULTS.values(), ENVELOPE]:
        for field in fields:
            assert field.help.endswith("."), field
            number = field.type in ("int", "float", "[int]") and field.name not in plain
            assert bool(field.unit) == number or field.type == "{int}", field
            assert not field.view or field.unit in ("discs", "paths", "games"), field
            sided = field.name in ("score", "lower", "upper", "wins", "losses", "won", "lost")
            assert bool(field.view) == (sided and field.unit != "records"), field


def test_every_feature_has_its_revision_and_every_field_its_beginning() -> None:
    beginnings = {*messages.FEATURES, *(feature.revision for feature in messages.FEATURES.values())}
    for fields in [*SHAPES.values(), *BOOK_RESULTS.values()]:
        assert {field.since for field in fields} <= beginnings
    for operation in messages.OPERATIONS:
        assert {operation.since, *(argument.since for argument in operation.arguments)} <= beginnings
        for argument in operation.arguments:
            assert bool(argument.default) != argument.required, (operation.name, argument)


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
        ("analyze", {"positions": [{"moves": "f5"}, {"board": OVER}], "level": 9}, "analyses"),
        ("book.get", {"moves": "f5"}, "book_position"),
        ("book.get", {"moves": "f5", "children": True}, "book_position"),
        ("book.get", {"positions": [{"moves": "f5"}, {"moves": "d3"}]}, "book_positions"),
        ("book.get", {"moves": "f5d6c3d3c4"}, "book_position"),
        ("jobs", {}, "jobs"),
        ("cancel", {"target": 10**6}, "cancelled"),
        ("cancel", {"all": True}, "cancelled"),
        ("cache.clear", {}, "cleared"),
        ("shutdown", {}, "nothing"),
    ],
)
def test_finals_have_the_fields_of_the_tables(daemon: Operated, op: str, args: dict[str, Any], shape: str) -> None:
    *partials, last = daemon.ends(daemon.request(op, args))
    assert last["type"] == "final", last
    sound(shape, last["data"])
    for partial in partials:
        sound("analysis", partial["data"])
        assert "done" in partial["data"]


def test_kept_answers_have_the_fields_of_the_tables(daemon: Operated) -> None:
    for _ in range(2):
        data = daemon.final("analyze", {"moves": "f5", "level": 9})
        sound("analysis", data)
    assert data["cached"]


def test_a_cancelled_request_has_its_fields(daemon: Operated) -> None:
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


@pytest.mark.needs("book.growth")
@pytest.mark.parametrize(
    "command", [command for command in BOOK_COMMANDS if command.about != "search"], ids=lambda c: c.name
)
def test_every_command_of_the_book_has_its_reply(daemon: Operated, tmp_path: Path, command: BookCommand) -> None:
    (tmp_path / "games.txt").write_text("f5d6c3d3c4\nf5f6\n")
    (tmp_path / "steps.txt").write_text("learn 4 2 2 2 1\n")
    for name in ("used.book", "other.book"):
        daemon.final("book.save", {"file": name})
    daemon.final("book.edit", {"moves": "f5", "move": "d6", "score": 2})
    reads = {"load", "import", "merge", "diff", "salvage"}
    file = "steps.txt" if command.name == "schedule" else "other.book" if command.name in reads else "new.txt"
    if command.name == "uncount":
        (tmp_path / "won.txt").write_text("f5d6 37-27\n")
        daemon.final("book.add", {"files": ["won.txt"]})
    values = {
        "files": ["games.txt"],
        "source": "won.txt",
        "file": file,
        "plies": 1,
        "games": 1,
        "loser": "black",
        "move": "d6",
    }
    numbers = {"depth": 4, "per-move": 2, "cumulative": 2, "leaf": 2, "score": 2}
    required = {name.name for name in command.parameters if name.required} | {"loser"}
    known = {**numbers, **values}
    args = {name.name: known[name.name] for name in command.parameters if name.name in required}
    *partials, last = daemon.ends(daemon.request(command.op, {"moves": "f5", **args}))
    assert last["type"] == "final", last
    assert final_faults(command.op, last["data"]) == []
    for partial in partials:
        sound("progress", partial["data"])


def test_a_book_of_another_process_is_told(daemon: Operated, tmp_path: Path) -> None:
    daemon.final("book.save", {"file": "a.book"})
    other = Operated(tmp_path)
    other.final("book.load", {"discard": True, "file": "a.book"})
    data = other.final("status")
    sound("status", data)
    assert not data["book"]["writable"]


def test_a_wrong_reply_is_found() -> None:
    good = {"moves": ["f5"], "board": "x", "over": False, "discs": [2, 2]}
    assert shape_faults("legal", good) == []
    for wrong in (
        {**good, "more": 1},
        {**good, "over": 1},
        {**good, "discs": [2, "2"]},
        {**good, "discs": [True, 2]},
        {name: value for name, value in good.items() if name != "board"},
        [],
    ):
        assert shape_faults("legal", wrong)
