"""Files that a dialogue with a GUI is written into or reads: finished games, searches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import referee
from gtp_dialogue import Talk
from live import converse
from test_kept_files import SHORT_GAME, writes_down

from desdaemon.protocol.games.bases import read_games


@pytest.mark.parametrize(
    ("protocol", "lines"),
    [
        ("gtp", [f"play {'bw'[at % 2]} {move}" for at, move in enumerate(re.findall("..", SHORT_GAME))]),
        ("nboard", [f"move {move}" for move in re.findall("..", SHORT_GAME)]),
        ("xboard", ["new", "force", *(f"usermove {move}" for move in re.findall("..", SHORT_GAME))]),
    ],
)
def test_finished_games_are_kept_in_the_protocols_of_guis_too(tmp_path: Path, protocol: str, lines: list[str]) -> None:
    path = tmp_path / "games.ggf"
    done = converse("\n".join([*lines, ""]).encode(), f"-{protocol}", "-game-file", str(path))
    assert done.returncode == 0
    (game,) = read_games(str(path))
    assert [played.move for played in game.record.moves] == list(map(referee.square, re.findall("..", SHORT_GAME)))


def test_a_game_that_nboard_sends_again_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    moves = re.findall("..", SHORT_GAME.upper())
    ggf = "".join(f"{'BW'[at % 2]}[{move}]" for at, move in enumerate(moves))
    again = f"set game (;GM[Othello]{ggf};)\n"
    assert converse(again.encode() * 3, "-nboard", "-game-file", str(path)).returncode == 0
    assert len(list(read_games(str(path)))) == 1


@pytest.mark.parametrize(
    ("protocol", "lines", "searches"),
    [
        ("-gtp", b"genmove b\nreg_genmove w\nquit\n", 2),
        ("-nboard", b"set depth 4\nhint 1\nquit\n", 1),
    ],
)
def test_every_search_for_a_gui_is_written_down(tmp_path: Path, protocol: str, lines: bytes, searches: int) -> None:
    writes_down(tmp_path, protocol, lines, searches)


def test_loadsgf_loads_a_game(tmp_path: Path, shared_data: Path) -> None:
    path = shared_data / "transcripts" / "quarry_game.sgf"
    if not path.is_file():
        pytest.skip("the recorded game is not here")
    talk = Talk()
    assert talk.say(f"loadsgf {path} 3") == "black"
    assert len(talk.session.game.moves) == 2
    talk.say(f"loadsgf {path}")
    assert talk.say("final_score") == "W+42"
    assert talk.fails(f"loadsgf {tmp_path}").startswith("cannot load file")
    assert talk.fails("loadsgf").startswith("syntax error")
