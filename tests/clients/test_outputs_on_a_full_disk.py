"""Results that replace a file on a full disk: the old file stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from full_disk import room_for
from pretended_players import fake
from test_analyze import analysed, games

from desdaemon.clients.analysis import analyze
from desdaemon.clients.analysis.reports import Collection
from desdaemon.clients.match import match
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import files

OLD = "old" * 5000

pytestmark = pytest.mark.posix


def test_a_disk_that_is_full_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with room_for(4096), pytest.raises(OSError, match="File too large") as caught:
        files.replace(place, bytes(9000))
    assert caught.value.filename == str(place)
    assert not list(tmp_path.iterdir())


def test_an_analysis_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    page.write_text(OLD)
    with room_for(4096), pytest.raises(BadInput, match="File too large"):
        analyze._write(str(page), "new" * 5000)
    assert page.read_text() == OLD
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]


@pytest.mark.parametrize("output", ["x.jsonl", "x.csv", "x.sgf", "game-1.html", "index.html"])
def test_analyses_of_many_games_that_cannot_be_written_leave_the_old_files(tmp_path: Path, output: str) -> None:
    place = tmp_path / output
    place.write_text(OLD)
    name = str(place)
    outputs = {"jsonl": (name, "", ""), "csv": ("", name, ""), "sgf": ("", "", name)}.get(output[2:], ("", "", ""))
    game = analysed(next(iter(games()))._replace(number=1))

    def add() -> None:
        with Collection(*outputs, "sgf", str(tmp_path) if output.endswith("html") else "", "") as found:
            while True:
                found.add(game)

    with room_for(8192), pytest.raises((BadInput, OSError), match="File too large"):
        add()
    assert place.read_text() == OLD
    assert [file.name for file in tmp_path.iterdir()] == [output]


def test_analyses_that_end_with_another_error_replace_the_old_file(tmp_path: Path) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text(OLD)

    def interrupted() -> None:
        with Collection(str(lines), "", "", "", "", "") as found:
            found.add(analysed(next(iter(games()))))
            raise BadInput("the daemon is gone")

    with pytest.raises(BadInput, match="gone"):
        interrupted()
    assert lines.read_text().count("\n") == 1


def test_a_match_whose_pages_cannot_be_written_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are written once there is room again, and the trouble is told once."""
    real, refused = files.replace, []

    def full(path: Path, content: bytes) -> None:
        if len(refused) < 3:
            refused.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr("desdaemon.clients.match.page.files.replace", full)
    assert match.main([fake("gtp"), fake("gtp"), "--games", "4", "--page", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert len(refused) == 3
    assert err.count("No space left on device: the match goes on") == 1
    assert "Elo" in out
    names = {f"game-{number:04}.html" for number in range(1, 5)}
    assert {file.name for file in tmp_path.iterdir()} == {*names, "index.html"}
    assert "finished" in (tmp_path / "index.html").read_text()
