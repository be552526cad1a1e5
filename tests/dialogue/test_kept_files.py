"""Files that a dialogue is written into: finished games, searches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from full_disk import room_for
from live import converse

from desdaemon.protocol.games.bases import read_games

SHORT_GAME = "e6f4e3f6g5d6e7f5c5"
"""Black leaves White no disc with its fifth move."""


@pytest.mark.parametrize("format", [pytest.param("ggf", marks=pytest.mark.needs("clients.gamefiles")), "txt"])
def test_every_finished_game_is_added(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"games.{format}"
    lines = f"play {SHORT_GAME}\ninit\nplay f5d6\ninit\nmode 2\n"
    for _ in range(2):
        done = converse(lines.encode(), "-q", "-level", "1", "-game-file", str(path))
        assert (done.returncode, done.stderr) == (0, b"")
    games = [found.record for found in read_games(str(path))]
    assert len(games) == 4
    assert all(game.final.over for game in games)
    assert [len(game.moves) for game in games[::2]] == [9, 9]
    assert games[1].moves != games[0].moves


@pytest.mark.posix
def test_a_game_that_finds_no_room_leaves_the_old_games(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    game = f"play {SHORT_GAME}\n".encode()
    assert converse(game, "-q", "-game-file", str(path)).returncode == 0
    before = path.read_bytes()
    with room_for(len(before) + 5):
        done = converse(game, "-q", "-game-file", str(path))
    assert b"File too large: games are not saved" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("option", ["-ui-log-file", "-search-log-file"])
def test_a_log_that_finds_no_room_is_told_once_and_ends_nothing(option: str) -> None:
    done = converse(b"play f5\nhint 1\nhint 1\nversion\n", "-q", "-level", "1", option, "/dev/full")
    told = f'WARNING: {option[1:]} "/dev/full": No space left on device: nothing more is logged\n'
    assert (done.returncode, done.stderr.decode()) == (0, told)
    assert b"desdaemon" in done.stdout


def test_unusable_files_are_told(tmp_path: Path) -> None:
    done = converse(b"", "-q", "-game-file", "games.xyz")
    assert done.returncode == 1
    assert b'-game-file "games.xyz": expected a file name that ends in .txt' in done.stderr
    done = converse(b"", "-q", "-search-log-file", str(tmp_path / "no" / "log"))
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    lines = f"play {SHORT_GAME}\ninit\nplay {SHORT_GAME}\nmoves\n".encode()
    done = converse(lines, "-q", "-game-file", str(tmp_path / "no" / "games.txt"))
    assert done.returncode == 0
    assert done.stderr.count(b"games are not saved") == 1


def writes_down(tmp_path: Path, protocol: str, lines: bytes, searches: int) -> None:
    """Check the search log of a dialogue, and that the answers are the same with one and without."""
    path = tmp_path / "searches.log"
    plain = converse(lines, protocol, "-level", "4")
    done = converse(lines, protocol, "-level", "4", "-search-log-file", str(path))
    if protocol == "-q":
        assert done.stdout == plain.stdout
    parts = path.read_text(encoding="utf-8").split("\n\n")
    assert len(parts) == searches
    for part in parts:
        head, names, rule, *rows, last = part.strip().splitlines()
        assert re.fullmatch(r"[-XO]{64} [XO]; depth 4", head)
        assert names.startswith(" depth|score|")
        assert rule == last
        assert rows[-1].startswith("    4   +")
        assert len(rows) >= 2


def test_every_search_is_written_down(tmp_path: Path) -> None:
    writes_down(tmp_path, "-q", b"hint 2\ngo\nplay nonsense\n", 2)
