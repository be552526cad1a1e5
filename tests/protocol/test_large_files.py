"""Files of very many games or wrong lines: few complaints, little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialogue import Dialogue

from desdaemon.book.explorer.build import build
from desdaemon.clients.analysis import analyze
from desdaemon.clients.programs.openings import openings_of_file
from desdaemon.protocol.errors import MOST_COMPLAINTS

WRONG = 1234
MORE = f"and {WRONG - MOST_COMPLAINTS:,} more"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "games.txt"
    path.write_text("f5d6c3\n" + "f5f5\n" * WRONG)
    return path


def test_analyze_counts_complaints(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze.main([str(wrong), "--list"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MOST_COMPLAINTS + 1
    assert lines[-1].endswith(MORE)


def test_the_index_counts_complaints(wrong: Path) -> None:
    said: list[str] = []
    account = build([str(wrong)], str(wrong.with_name("index")), said.append, lambda *_: None)
    assert len(said) == MOST_COMPLAINTS + 1
    assert said[-1] == MORE
    assert account.games == 1


def test_openings_count_complaints(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(openings_of_file(str(wrong), 2).openings) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith(MORE)


def test_base_commands_count_complaints(wrong: Path) -> None:
    _, complaints = Dialogue().both(f"base convert {wrong} {wrong.with_name('out.txt')}")
    assert len(complaints.splitlines()) == MOST_COMPLAINTS + 1
    assert complaints.endswith(f"{MORE}\n")


def test_solve_counts_complaints(tmp_path: Path) -> None:
    path = tmp_path / "problems.obf"
    path.write_text("nonsense\n" * WRONG)
    _, complaints = Dialogue().both(f"solve {path}")
    assert len(complaints.splitlines()) == MOST_COMPLAINTS + 2
    assert MORE in complaints


def test_load_tells_what_is_wrong_with_the_first_game(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("f5f5\n" * WRONG + "f5d6\n")
    assert "game 1" in Dialogue().refused(f"load {path}")
