"""`games.get`: what people played, for one position or many, by the index that the daemon finds."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from operated import Operated
from served import Peer, serving

from desdaemon.book.explorer import cli as games
from desdaemon.book.explorer import files as explorer
from desdaemon.book.explorer import operations
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.games.formats import parse_game
from desdaemon.protocol.othello.scores import BlackScore

GAMES = (
    ("f5d6c3d3c4", "Ann", "Bob", "1997", 12),
    ("d3c3c4", "Bob", "Ann", "2001", -4),
    ("f5f6e6", "Cid", "Ann", "", None),
)


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operated]:
    """A daemon with an index in its user's data folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    played = [
        FileGame(
            parse_game(moves, "txt")._replace(black=black, white=white),
            event="Rome",
            date=date,
            result=None if result is None else BlackScore(result),
        )
        for moves, black, white, date, result in GAMES
    ]
    write_games(str(tmp_path / "three.sgf"), played)
    assert games.main(["index", str(tmp_path / "three.sgf")]) == 0
    yield Operated(tmp_path / "daemon")
    # Its last file stays mapped.
    explorer._opened.cache_clear()


def tallies(data: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(move["move"], move["games"], move["wins"], move["losses"], move["mean"]) for move in data["moves"]]


def test_a_position_is_looked_up(indexed: Operated) -> None:
    data = indexed.final("games.get", {"moves": "f5", "games": 5})
    assert sorted(tallies(data)) == [("d6", 1, 0, 1, -12.0), ("f6", 2, 1, 0, 4.0)]
    assert data["games"][0] == {
        "black": "Bob",
        "white": "Ann",
        "year": 2001,
        "event": "Rome",
        "file": "three.sgf",
        "result": -4,
        "move": "f6",
    }
    assert [game["year"] for game in data["games"]] == [2001, 1997, None]
    # The same in a mirror.
    assert sorted(tallies(indexed.final("games.get", {"moves": "c4"}))) == [
        ("c3", 2, 1, 0, 4.0),
        ("e3", 1, 0, 1, -12.0),
    ]
    assert indexed.final("games.get", {"moves": "f5d6c3d3c4"}) == {"moves": []}


def test_many_positions_are_looked_up_in_order(indexed: Operated) -> None:
    items = [{}, {"moves": "f5"}, {"moves": "f5f6"}, {"board": "-" * 64 + "X"}, {"moves": "e6"}] * 50
    single = [indexed.final("games.get", item) for item in items[:5]]
    assert indexed.final("games.get", {"positions": items}) == {"results": single * 50}
    assert indexed.final("games.get", {"positions": []}) == {"results": []}


@pytest.mark.parametrize(
    ("chosen", "moves"),
    [
        ({"player": "BOB"}, {"d6", "f6"}),
        ({"black": "ann"}, {"d6"}),
        ({"white": "bob"}, {"d6"}),
        ({"event": "paris"}, set()),
        ({"event": "three"}, {"d6", "f6"}),
        ({"from_year": 1998}, {"f6"}),
        ({"to_year": 1998}, {"d6"}),
        ({"from_year": 1998, "player": "bob", "games": 3}, {"f6"}),
    ],
)
def test_a_filter_lets_games_through(indexed: Operated, chosen: dict[str, object], moves: set[str]) -> None:
    data = indexed.final("games.get", {"moves": "f5", **chosen})
    assert {move["move"] for move in data["moves"]} == moves


def test_wrong_requests_are_refused(indexed: Operated, tmp_path: Path) -> None:
    assert indexed.code("games.get", {"moves": "a1"}) == "illegal_move"
    assert indexed.code("games.get", {"games": 51}) == "bad_request"
    assert indexed.code("games.get", {"player": "x" * 101}) == "too_large"
    assert indexed.code("games.get", {"positions": [{}], "moves": "f5"}) == "bad_request"
    assert indexed.code("games.get", {"positions": [{}] * 100, "games": 50}) == "too_large"
    assert indexed.code("games.get", {"positions": [{}, {"moves": "a1"}]}) == "illegal_move"


def test_nobody_waits_for_look_ups_of_games(indexed: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deferred work, such as look-ups in the book, is done while one takes long."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(context: object, request: object) -> dict[str, object]:
        begun.set()
        assert go_on.wait(60)
        return {"moves": []}

    monkeypatch.setattr(operations, "get", slow)
    asked = indexed.request("games.get")
    assert begun.wait(60)
    assert indexed.final("cache.clear")["forgotten"] == 0
    go_on.set()
    assert indexed.ends(asked)[-1]["type"] == "final"


# Windows lets nobody write over a file that is mapped.
@pytest.mark.posix
def test_an_index_is_taken_up_when_it_changes_and_missed_when_it_is_gone(indexed: Operated, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("f5d6\n")
    assert indexed.final("games.get")["moves"][0]["games"] == 3
    assert games.main(["index", str(tmp_path / "one.txt")]) == 0
    assert indexed.final("games.get")["moves"][0]["games"] == 1
    file = tmp_path / "desdaemon" / "games.index"
    file.write_bytes(bytes(3000))
    for _ in range(2):
        reply = indexed.ask("games.get")
        assert reply["error"]["code"] == "not_found"
        assert str(tmp_path) not in reply["error"]["message"]
        file.unlink(missing_ok=True)


@pytest.mark.posix
def test_a_server_finds_the_index_that_its_options_name(indexed: Operated, tmp_path: Path) -> None:
    # A server works in its data folder, not where it was started.
    index = os.path.relpath(tmp_path / "desdaemon" / "games.index", ROOT)
    with serving(tmp_path / "served", "-games-file", index) as served, Peer(served.ipc) as peer:
        assert peer.final("games.get", {"moves": "f5"})["moves"][0]["move"] in ("d6", "f6")
        assert "Ann 1" in peer.final("text", {"line": "games show 1"})["out"]
