"""`desdaemon games index` and `games show`: what a person types and reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from live import converse

from desdaemon.book.explorer import cli as games
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.games.formats import parse_game


def base(folder: Path) -> Path:
    """An index of three games."""
    lines = (("f5d6c3d3c4", "Ann", "Bob", "1997"), ("d3c3c4", "Bob", "Ann", "2001"), ("f5f6e6", "Cid", "Ann", ""))
    played = [
        FileGame(parse_game(moves, "txt")._replace(black=black, white=white), event="Rome", date=date)
        for moves, black, white, date in lines
    ]
    write_games(str(folder / "three.pgn"), played)
    assert games.main(["index", str(folder), "--out", str(folder / "games.index"), "--json"]) == 0
    return folder / "games.index"


def shown(index: Path, *lines: str) -> tuple[list[list[str]], list[str]]:
    """The words of each line printed, and the warnings."""
    done = converse("".join(f"{line}\n" for line in (*lines, "quit")).encode(), "-q", "-games-file", str(index))
    printed = done.stdout.decode().splitlines()
    assert all(len(line) <= 80 or str(index.parent) in line for line in printed)
    return [words for line in printed if (words := line.strip("> ").split())], done.stderr.decode().splitlines()


def test_an_index_is_made_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = base(tmp_path)
    account = json.loads(capsys.readouterr().out)
    assert (account["games"], account["files"], account["bad"], account["visits"]) == (3, 1, 0, 11)
    table, warnings = shown(index, "play f5", "games show")
    assert not warnings
    # D3 C3 is F5 F6 in a mirror.
    assert table[1:3] == [["f6", "2", "2001", "Ann", "2"], ["d6", "1", "1997", "Bob", "1"]]
    assert [row[0] for row in table[3:]] == ["2001", "1997", "Cid"]
    assert table[3] == ["2001", "Bob", "?", "Ann", "Rome", "f6"]


@pytest.mark.parametrize(
    ("asked", "moves"),
    [
        ("games show 0 black bob", ["f6"]),
        ("games show 0 player CID", ["f6"]),
        ("games show 0 years 1990-1999", ["d6"]),
        ("games show 0 years 2001", ["f6"]),
        ("games show 0 years 1990-", ["d6", "f6"]),
        ('games show 0 event "rom" white bob', ["d6"]),
    ],
)
def test_a_filter_lets_games_through(tmp_path: Path, asked: str, moves: list[str]) -> None:
    table, warnings = shown(base(tmp_path), "play f5", asked)
    assert not warnings
    assert sorted(row[0] for row in table[1:]) == moves


def test_losses_are_those_of_the_book(tmp_path: Path) -> None:
    index, book = base(tmp_path), f"book save {tmp_path / 'b.book'}"
    lines = ("book enumerate 3", book, "play f5", "games show 0")
    table, _ = shown(index, *lines)
    assert "loss" not in next(row for row in table if row[:2] == ["move", "games"])
    table, _ = shown(index, *lines[:-1], "book edit d6 2", "book edit f6 -4", lines[-1])
    heading = next(number for number, row in enumerate(table) if row[:2] == ["move", "games"])
    assert table[heading][-4] == "loss"
    assert sorted((row[0], row[2]) for row in table[heading + 1 : heading + 3]) == [("d6", "0"), ("f6", "6")]
    assert " ".join(table[heading + 3]) == "4.00 discs lost a move by the book's scores"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("games", "expected games show"),
        ("games zzz", "expected games show"),
        ("games show 51", "expected a whole number from 0 to 50"),
        ("games show plaier x", 'did you mean "player"?'),
        ("games shwo", 'did you mean "show"?'),
        ("games show years 19x0", "expected 1990-1999"),
        ("games show white", "expected a name"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(tmp_path: Path, asked: str, told: str) -> None:
    _, warnings = shown(base(tmp_path), asked)
    assert len(warnings) == 1
    assert told in warnings[0]


@pytest.mark.posix
def test_a_missing_or_foreign_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(bytes(5000))
    os.mkfifo(tmp_path / "pipe")
    for name, told in (
        ("none", "desdaemon games index FOLDER"),
        ("foreign", "not an index of games"),
        ("pipe", "expected a regular file"),
        ("", "expected a regular file"),
    ):
        _, warnings = shown(tmp_path / name, "games show")
        assert len(warnings) == 1
        assert told in warnings[0]


def test_what_cannot_be_indexed_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert games.main(["index", str(tmp_path / "empty"), "--out", str(tmp_path / "i")]) == 1
    base(tmp_path)
    assert games.main(["index", str(tmp_path), "--out", str(tmp_path / "no" / "i")]) == 1
    assert not (tmp_path / "no").exists()
