"""Files of very many games or wrong lines: few complaints, little memory."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT
from dialogue import Dialogue
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.book.explorer.build import build
from desdaemon.clients.analysis import analyze
from desdaemon.clients.programs.openings import openings_of_file
from desdaemon.protocol.errors import MOST_COMPLAINTS
from desdaemon.protocol.games.move_lists import _LINE
from desdaemon.protocol.system import packed

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


def test_load_keeps_one_complaint(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("f5f5\n" * WRONG + "f5d6\n")
    assert f"game {WRONG}" in Dialogue().refused(f"load {path}")


READ = f"""{IMPORT}
import resource
from desdaemon.protocol.games import bases
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 20, resource.RLIM_INFINITY))
complaints = 0
def count(line):
    global complaints
    complaints += 1
try:
    print(sum(1 for game in bases.read_games(sys.argv[1], count)), complaints)
except bases.BadInput as error:
    print(error)
"""


def read_within(path: Path, megabytes: int) -> str:
    """What a child with an address space of so many MiB says of a file of games: their number, and the complaints."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), str(megabytes)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_lines_take_no_more_memory_than_their_text(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_bytes(b"#\n" * (4 << 20) + b"f5d6c3\n")
    assert read_within(path, 100) == "1 0"


def test_wrong_lines_after_a_game_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_bytes(b"f5d6c3\n" + b"?\n" * 150_000)
    assert read_within(path, 40) == "1 150000"


def test_a_packed_file_that_holds_too_much_is_refused(tmp_path: Path) -> None:
    """180 MiB of tiny games, packed just below the ratio that is accepted."""
    path = tmp_path / "games.txt.gz"
    part = b"f5\n" * 20_000 + b"# " + random.Random(1).randbytes(1200).hex().encode() + b"\n"
    with gzip.open(path, "wb", 1) as stream:
        for _ in range(3100):
            stream.write(part)
    assert path.stat().st_size * packed.RATIO > 180 << 20
    assert "unpacked: unpack it first" in read_within(path, 350)


@given(st.text(st.sampled_from("a \r\n\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")))
def test_lines_are_those_of_splitlines(text: str) -> None:
    assert [found[0] for found in _LINE.finditer(text)] == text.splitlines(keepends=True)
