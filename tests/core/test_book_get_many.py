"""`book.get` of many positions in one request, and answers whose bytes are kept."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from operated import Operated

from desdaemon.core.requests import book_operations as wire
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.wire import codec, positions
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import last_position, read_line

LINES = ["", "f5", "f5d6", "f5d6c3", "f5d6c3d3", "f5f6", "d3", "f5d6c3d3c4"]


def items() -> list[dict[str, Any]]:
    return [{"moves": line} for line in LINES] + [{}, {"board": "-" * 64 + "X"}]


def test_answers_are_those_of_single_requests_in_order(daemon: Operated) -> None:
    single = [daemon.final("book.get", item) for item in items()]
    assert any(found["found"] for found in single)
    assert not all(found["found"] for found in single)
    assert daemon.final("book.get", {"positions": items()}) == {"results": single}
    assert daemon.final("book.get", {"positions": []}) == {"results": []}


def test_what_takes_long_is_answered_beside_the_loop(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = daemon.final("book.get", {"positions": items()})
    monkeypatch.setattr(wire, "_AT_ONCE_S", -1.0)
    assert daemon.final("book.get", {"positions": items()}) == wanted
    wrong = daemon.ask("book.get", {"positions": [{}, {}, {"moves": "a1"}]})
    assert wrong["error"]["code"] == "illegal_move"


def test_kept_bytes_are_the_bytes_of_the_message() -> None:
    plain = {"found": True, "score": -4, "links": [{"move": "f5", "score": -4}], "leaf": None}
    one, many = codec.Prepared(plain), codec.PreparedList({"results": [codec.Prepared(plain), codec.Prepared({})]})
    for data in (one, many):
        for _ in range(2):
            message = {"v": 1, "id": 7, "type": "final", "seq": 0, "data": data, "warnings": ["w"]}
            assert msgpack.unpackb(codec.encode(message)) == message


def test_known_lines_name_the_same_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_MOST_KNOWN", 5)
    passing = "f5f4c3f6g7"
    split = ("f5d6c3d3c4f4f6f3", "f5 d6 c3 d3", "f5d6c3d3 c4", "f5d6c3d3P@c4")
    for _ in range(2):
        for line in [*LINES, "F5 D6", "f5d6 c3", passing, *split]:
            assert last_position({"moves": line}) == read_line({"moves": line}).last
    for black_passes in ("h8", "  h8", "pah8", "passh8", " pass h8", "P@@@h8", "psh8"):
        args = {"board": "O" * 62 + "X- X", "moves": f"{black_passes:>14}"}
        assert last_position(args) == read_line(args).last
    assert last_position({}) == START
    for line in ("f5d6a1", "f5d6x9", "f5d6c3c3", "f5d6c3d3c4c4", "f5d6c3d3a1f4", "f5d6c3d3c4x9", "f5d6c3d3p@a1f4"):
        with pytest.raises(RequestError) as caught:
            last_position({"moves": line})
        with pytest.raises(RequestError) as wanted:
            read_line({"moves": line})
        assert (caught.value.code, caught.value.message) == (wanted.value.code, wanted.value.message)
