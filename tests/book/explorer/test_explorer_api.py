"""`Explorer`: the index of games in a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from desdaemon import BadInput, Board, Explorer
from desdaemon.book.explorer import cli as games


def test_an_index_is_asked_in_a_program(tmp_path: Path) -> None:
    (tmp_path / "two.pgn").write_text(
        '[Black "Ann"]\n[White "Bob"]\n[Date "1997"]\n\n1. f5 d6 *\n\n[Black "Cid"]\n[White "Ann"]\n\n1. d3 c3 *\n'
    )
    assert games.main(["index", str(tmp_path), "--out", str(tmp_path / "i")]) == 0
    explorer = Explorer(tmp_path / "i")
    played = explorer.look_up("f5", games=2)
    assert {(move.move, move.games, move.players) for move in played.moves} == {
        ("d6", 1, (("Bob", 1),)),
        ("f6", 1, (("Ann", 1),)),
    }
    assert [(game.black, game.year) for game in played.games] == [("Ann", 1997), ("Cid", 0)]
    assert [move.move for move in explorer.look_up(Board().play("f5"), black="CID").moves] == ["f6"]
    assert [len(each.moves) for each in explorer.look_up_many(["", "f5", "f5f6"], from_year=1990)] == [1, 1, 0]
    with pytest.raises(TypeError):
        explorer.look_up("f5", blakc="x")
    with pytest.raises(BadInput, match="desdaemon games index"):
        Explorer(tmp_path / "none")


# Windows lets nobody cut a file that is mapped.
@pytest.mark.posix
def test_an_index_that_is_cut_short_or_replaced_meanwhile_is_told_or_taken_up(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("f5d6c3\n")
    index = tmp_path / "i"
    assert games.main(["index", str(tmp_path / "one.txt"), "--out", str(index)]) == 0
    explorer, whole = Explorer(index), index.read_bytes()
    index.write_bytes(whole[:100])
    with pytest.raises(BadInput, match="damaged"):
        explorer.look_up("f5")
    index.write_bytes(whole)
    assert [move.move for move in explorer.look_up("f5").moves] == ["d6"]
