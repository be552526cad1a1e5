"""Files of very many games or wrong lines: few complaints, little memory."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT
from dialogue import Dialogue
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.protocol.errors import MOST_COMPLAINTS, BadInput
from desdaemon.protocol.games import contents
from desdaemon.protocol.games.bases import FileGame, parse_games, read_games
from desdaemon.protocol.games.contents import content_from, content_in
from desdaemon.protocol.system import packed

WRONG = 1234
_SGF = "(;GM[2]EV[\u00c4 (;B]PB[a [b\\]]C[two\nlines]AB[ed][de]AW[dd][ee];B[fe](;W[fd])(;W[ff]))"
_GGF = "(;GM[Othello]PB[A]PW[B]TY[8]B[f5//1.5]W[d6](;B[c3])(;B[c4]);)"
_PGN = '[Event "A"]\n[Date "2020.01.02"]\n\n1. f5 {a [remark]\nof lines} d6 (1... f4) 2. c3 *\n'
_JSON = '{"players": {"p1": "A", "p2": "B"}, "variant": "flipello", "moves": "f5 d6"}'
TEXTS = {
    "txt": "f5d6c3\n\n# no game\nf5f6\n1. f5\r\n2. d6\n3. c3\n\u00e4\nf5f5\nf5d6c3d3\nf5f6e6\nf5f4\n",
    "ggf": "\n".join([_GGF, _GGF, "(;GM[Othello]PC[x", _GGF, _GGF + _GGF, "", _GGF]),
    "sgf": "\n".join([_SGF, _SGF, "(;GM[2]PB[x", _SGF, _SGF + _SGF, "", _SGF]),
    "pgn": "\n".join([_PGN, _PGN, _PGN.replace("c3", "a1"), _PGN, "", _PGN, _PGN, _PGN]),
    "ndjson": "\n".join([_JSON, f"[{_JSON}, {_JSON}]", "{}", "", _JSON, _JSON, _JSON]),
}
MORE = f"and {WRONG - MOST_COMPLAINTS:,} more"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "games.txt"
    path.write_text("f5d6c3\n" + "f5f5\n" * WRONG)
    return path


@pytest.mark.needs("clients.programs")
def test_openings_count_complaints(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from desdaemon.clients.programs.openings import openings_of_file

    assert len(openings_of_file(str(wrong), 2).openings) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith(MORE)


@pytest.mark.needs("clients.gamefiles")
def test_base_commands_count_complaints(wrong: Path) -> None:
    _, complaints = Dialogue().both(f"base convert {wrong} {wrong.with_name('out.txt')}")
    assert len(complaints.splitlines()) == MOST_COMPLAINTS + 1
    assert complaints.endswith(f"{MORE}\n")


@pytest.mark.needs("clients.gamefiles")
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


@pytest.mark.posix
def test_lines_take_no_more_memory_than_their_text(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_bytes(b"#\n" * (4 << 20) + b"f5d6c3\n")
    assert read_within(path, 100) == "1 0"


LONG = "remark" * 12_000
LONG_GAMES = {
    "txt": f"f5d6c3\n# {LONG}\n",
    "ggf": f"(;GM[Othello]CO[{LONG}]B[f5];)\n",
    "sgf": f"(;GM[2]C[{LONG}];B[fe])\n",
    "pgn": f'[Event "A"]\n\n1. f5 {{{LONG}}} d6 *\n\n',
    "ndjson": f'{{"moves": "f5d6", "event": "{LONG}"}}\n',
}


@pytest.mark.posix
@pytest.mark.parametrize("format", LONG_GAMES)
def test_a_large_file_takes_no_more_memory_than_its_games(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"games.{format}"
    with path.open("w") as file:
        file.writelines([LONG_GAMES[format]] * 300)
    assert path.stat().st_size > 20 << 20
    assert read_within(path, 60) == "300 0"


def test_a_game_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    path.write_text("(;GM[2];B[fe])\n(;GM[2];C[" + "x" * contents.LONGEST_GAME)
    with pytest.raises(BadInput, match=f"line 2: expected a game of at most {contents.LONGEST_GAME} characters"):
        list(read_games(str(path)))


def test_a_large_binary_file_and_a_large_pipe_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LARGEST_WHOLE", 1000)
    path = tmp_path / "games.wtb"
    path.write_bytes(bytes(2000))
    with pytest.raises(BadInput, match="2000 bytes, expected at most 1000"):
        list(read_games(str(path)))
    with pytest.raises(BadInput, match="more than 1000 bytes: give the file's name"):
        content_from(io.BytesIO(bytes(2000)), "standard input")


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three different games."""
    path = tmp_path / "three.txt"
    path.write_text("f5d6c3\nf5f6e6\nf5f4e3\n")
    return path


@pytest.mark.needs("clients.gamefiles")
def test_base_commands_refuse_more_games_than_their_limit(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desdaemon.clients.gamefiles.bases.MOST_DIFFERENT", 2)
    target = three.with_name("out.txt")
    for command in (f"unique {three} {target}", f"problem {three} 58 {target}", f"compare {three} {three}"):
        assert "expected at most 2 different" in Dialogue().refused(f"base {command}")
    assert not target.exists()


@pytest.mark.needs("clients.programs")
def test_openings_refuse_more_games_than_their_limit(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from desdaemon.clients.programs import openings

    monkeypatch.setattr(openings, "MOST_IN_FILE", 2)
    with pytest.raises(BadInput, match="expected at most 2 different openings"):
        openings.openings_of_file(str(three))


@pytest.mark.posix
def test_wrong_lines_after_a_game_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_bytes(b"f5d6c3\n" + b"?\n" * 150_000)
    assert read_within(path, 40) == "1 150000"


@pytest.mark.posix
def test_a_packed_file_that_holds_too_much_is_refused(tmp_path: Path) -> None:
    """180 MiB of tiny games, packed just below the ratio that is accepted."""
    path = tmp_path / "games.txt.gz"
    part = b"f5\n" * 20_000 + b"# " + random.Random(1).randbytes(1200).hex().encode() + b"\n"
    with gzip.open(path, "wb", 1) as stream:
        for _ in range(3100):
            stream.write(part)
    assert path.stat().st_size * packed.RATIO > 180 << 20
    assert "unpacked: unpack it first" in read_within(path, 350)


CUTS = st.lists(st.integers(0, 40), max_size=4).map(sorted)


@given(st.text(st.sampled_from("a \u00e9\r\n\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"), max_size=20), st.integers(1, 9))
def test_lines_are_those_of_splitlines(text: str, piece: int) -> None:
    """However the file is cut into pieces; CR and CR LF count as LF."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "_PIECE", piece)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
        assert list(content_in(text.encode(), "x.txt").lines()) == lines


@pytest.mark.parametrize("format", ["txt", "ggf", "sgf", "pgn", "ndjson"])
def test_games_are_the_same_however_a_file_is_cut(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that cannot be read, and their lines."""
    data = TEXTS[format].encode()

    def read(piece: int) -> tuple[list[FileGame], list[str]]:
        monkeypatch.setattr(contents, "_PIECE", piece)
        complaints: list[str] = []
        return list(parse_games(data, f"x.{format}", complaints.append)), complaints

    whole = read(1 << 20)
    assert len(whole[0]) >= 6
    assert whole[1]
    for piece in (7, 30, 64, 101, 333):
        assert read(piece) == whole
