"""Packed files: what people pack is read, what would fill memory or hours is refused at once."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import IMPORT, ROOT

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.system import packed

GAMEFILES = pytest.mark.needs("clients.gamefiles")

PACKERS = {"bz2": bz2.compress, "xz": lzma.compress, "gz": lambda data: gzip.compress(data, 9)}
MIB = 1 << 20
BOMBS = {"line ends": b"\n", "zeros": b"\0", "games": b"f5\n"}

LIMITED = f"""{IMPORT}
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from desdaemon.cli.main import program
program()
"""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """200 MiB of each of `BOMBS`, packed into some thousand bytes: the same stream again and again."""
    folder = tmp_path_factory.mktemp("bombs")
    made = {}
    for name, unit in BOMBS.items():
        path = folder / f"{name.replace(' ', '-')}.txt.bz2"
        path.write_bytes(bz2.compress(unit * (MIB // len(unit))) * 200)
        made[name] = path
    return made


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_costs_anything(bombs: dict[str, Path], name: str) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput, match=r"bytes hold more than \d+: unpack it first"):
        list(read_games(str(bombs[name]), lambda line: None))
    assert time.process_time() - begun < 1


COMMANDS = (
    pytest.param("analyze FILE", "", marks=pytest.mark.needs("clients.analysis")),
    pytest.param("games index FILE --out OUT", "", marks=[pytest.mark.needs("book.explorer"), GAMEFILES]),
    pytest.param("-solve FILE", "", marks=GAMEFILES),
    pytest.param(
        "match self self --games 2 --openings FILE", "", marks=[pytest.mark.needs("clients.match"), GAMEFILES]
    ),
    ("-q --config none", "book new 1 4\nbook add FILE\nquit\n"),
    pytest.param("-q --config none", "base convert FILE OUT\nquit\n", marks=GAMEFILES),
    ("-q --config none", "load FILE\nquit\n"),
)


@pytest.mark.posix
@pytest.mark.parametrize(("arguments", "typed"), COMMANDS)
def test_no_command_is_held_up_by_a_bomb(bombs: dict[str, Path], tmp_path: Path, arguments: str, typed: str) -> None:
    """In an address space of 1 GiB, which a prompt with its threads needs a third of."""
    names = {"FILE": str(bombs["games"]), "OUT": str(tmp_path / "out.txt")}

    def named(text: str) -> str:
        for word, name in names.items():
            text = text.replace(word, name)
        return text

    words = [sys.executable, "-c", LIMITED, *(named(word) for word in arguments.split())]
    done = subprocess.run(
        words, input=named(typed), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, timeout=240
    )
    assert "unpack it first" in done.stdout
    assert "MemoryError" not in done.stdout
    assert len(done.stdout) < 4000


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("times", [1, 3])
def test_files_packed_by_people_are_read(kind: str, times: int, tmp_path: Path) -> None:
    """Also several packed files one after the other, with zeros behind them."""
    text = "".join(f"f5d6c3{move}\n" for move in ("d3", "f4", "g5") * 500)
    path = tmp_path / f"games.txt.{kind}"
    path.write_bytes(PACKERS[kind](text.encode()) * times + b"\0" * 7)
    assert sum(1 for _ in read_games(str(path))) == 1500 * times


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_file_that_is_cut_off_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"games.txt.{kind}"
    path.write_bytes(PACKERS[kind](b"f5d6c3\n" * 5000)[:-9])
    with pytest.raises(BadInput, match="cannot be unpacked"):
        list(read_games(str(path)))


def test_unpacking_holds_one_piece_at_a_time() -> None:
    data = PACKERS["xz"](b"".join(number.to_bytes(4, "big") for number in range(1 << 19)))
    import io

    parts = list(packed.unpacked(io.BytesIO(data), "xz"))
    assert max(map(len, parts)) <= MIB
    assert sum(map(len, parts)) == 1 << 21
