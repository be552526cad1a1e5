"""Names of files as people type and make them: with blanks, quotes, ``~``, and byte order marks in the files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from dialogue import Dialogue
from live import converse

from desdaemon.core.settings import SessionSettings, read_option_file
from desdaemon.dialogue.configuration import configure
from desdaemon.dialogue.text_sessions import checked_line
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire.messages import RequestError

GAMEFILES = pytest.mark.needs("clients.gamefiles")

MARK = "\ufeff"
PROBLEM = "---------------------------OX------XO--------------------------- X;"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "my games.txt").write_text("f5d6\nf5f6\n")
    (tmp_path / "my problems.obf").write_text(f"{MARK}{PROBLEM}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "made"),
    [
        pytest.param(
            'base convert "{home}/my games.txt" "{home}/a b.sgf"',
            "a b.sgf",
            marks=GAMEFILES,
        ),
        pytest.param('base convert "~/my games.txt" ~/c.pgn', "c.pgn", marks=GAMEFILES),
        pytest.param('base problem "~/my games.txt" 59 "~/p q.obf"', "p q.obf", marks=GAMEFILES),
        pytest.param('base tofen "~/my games.txt" 59 "~/p q.fen"', "p q.fen", marks=GAMEFILES),
        pytest.param('base unique "~/my games.txt" "~/u v.txt"', "u v.txt", marks=GAMEFILES),
        pytest.param('script-to-obf "~/my problems.obf" "~/s o.obf"', "s o.obf", marks=GAMEFILES),
        pytest.param('select-hard "~/my problems.obf" ~/hard.obf', "hard.obf", marks=GAMEFILES),
        pytest.param('solve "~/my problems.obf" "~/w r.obf"', "w r.obf", marks=GAMEFILES),
        ('save "~/s t.txt"', "s t.txt"),
        ("save ~/s t.txt", "s t.txt"),
    ],
)
def test_names_may_hold_blanks_and_the_home_folder(line: str, made: str, home: Path) -> None:
    _, complaints = Dialogue(level=1).both(line.format(home=home))
    assert complaints == ""
    assert (home / made).is_file()


@pytest.mark.parametrize("name", ['"~/my games.txt"', "~/my games.txt", '"{home}/my games.txt"', "{home}/my games.txt"])
def test_a_game_is_loaded_by_any_name(name: str, home: Path) -> None:
    dialogue = Dialogue()
    assert dialogue.say(f"load {name.format(home=home)}") == ""
    assert len(dialogue.session.game.moves) == 2


@pytest.mark.parametrize("name", ["~/a b.dat", '"~/a b.dat"', '"{home}/a b.dat"', "{home}/a b.dat"])
def test_options_take_names_as_commands_do(name: str, home: Path) -> None:
    name = name.format(home=home)
    of_edax, settings = SessionSettings(), SessionSettings()
    ini, toml = home / "edax.ini", home / "config.toml"
    ini.write_text(f"eval-file = {name}\nbook-file {name}\n")
    toml.write_text(f"eval-file = '{name}'\n")
    assert read_option_file(of_edax, str(ini))[1] == configure(settings, str(toml), "text")[1] == []
    assert of_edax.eval_file == of_edax.book_file == settings.eval_file == f"{home}/a b.dat"
    dialogue = Dialogue()
    dialogue.say(f"eval-file {name}")
    assert dialogue.session.settings.eval_file == f"{home}/a b.dat"


@pytest.mark.parametrize("command", [pytest.param("solve", marks=GAMEFILES), "load", "save"])
def test_quotes_do_not_lead_out_of_the_data_folder(command: str, tmp_path: Path) -> None:
    line = checked_line(read_line(f'{command} "a b.sgf"'), "admin", str(tmp_path))
    assert line.rest.endswith(f"{os.sep}a b.sgf")
    for name in ('"../x"', '""../x""', '"~/x"', '""~/x""', '"/x"', '"""/x"""', 'a"b'):
        with pytest.raises(RequestError):
            checked_line(read_line(f"{command} {name}"), "admin", str(tmp_path))


def test_files_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "edax.ini").write_text(f"{MARK}level = 7\n", encoding="utf-8")
    settings = SessionSettings()
    assert read_option_file(settings, str(tmp_path / "edax.ini")) == ({"level"}, [])
    assert settings.level == 7
    (tmp_path / "config.toml").write_text(f"{MARK}level = 8\n", encoding="utf-8")
    assert configure(settings, str(tmp_path / "config.toml"), "text") == ({"level"}, [])
    assert settings.level == 8


def test_deeply_nested_values_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"level = {'[' * 20_000}")
    with pytest.raises(BadInput, match="expected TOML such as level = 16"):
        configure(SessionSettings(), str(tmp_path / "config.toml"), "text")


@pytest.mark.needs("clients.gamefiles")
def test_packed_problems_are_solved(tmp_path: Path) -> None:
    path = tmp_path / "x.obf.gz"
    path.write_bytes(gzip.compress(f"{PROBLEM}\n".encode() * 3))
    for done in (converse(b"", "-solve", str(path), "-l", "1"), converse(path.read_bytes(), "-solve", "-", "-l", "1")):
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\n3 positions;" in done.stdout
    path.write_bytes(path.read_bytes()[:-9])
    assert "cannot be unpacked" in Dialogue().both(f"solve {path}")[1]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_files_in_utf_16_are_told(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(f"level = 7\n{PROBLEM}\n", encoding=encoding)
    readers = (
        lambda: read_option_file(SessionSettings(), str(path)),
        lambda: configure(SessionSettings(), str(path), "text"),
    )
    for reader in readers:
        with pytest.raises(BadInput, match="this is UTF-16: save it as UTF-8"):
            reader()


@pytest.mark.needs("clients.gamefiles")
def test_problems_in_utf_16_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(f"{PROBLEM}\n", encoding="utf-16")
    assert "this is UTF-16" in Dialogue().refused(f"solve {path}")


@pytest.mark.parametrize(
    ("protocol", "line", "answer"),
    [
        ("-q", "moves", b"D3 C4 F5 E6"),
        ("-json", '{"v":1,"id":7,"op":"ping"}', b'"id":7'),
    ],
)
def test_the_input_may_begin_with_a_byte_order_mark(protocol: str, line: str, answer: bytes) -> None:
    marked = converse(f"{MARK}{line}\n".encode(), protocol)
    assert answer in marked.stdout
    assert marked.stderr == b""


def test_input_in_utf_16_is_told() -> None:
    done = converse("moves\n".encode("utf-16"), "-q")
    assert b"the input is UTF-16: expected UTF-8 text" in done.stderr


@pytest.mark.needs("clients.gamefiles")
@pytest.mark.parametrize("content", ["", "junk\n", "% a remark\n"])
def test_a_file_without_problems_is_a_failure(content: str, tmp_path: Path) -> None:
    path, target = tmp_path / "x.obf", tmp_path / "out.obf"
    path.write_text(content)
    target.write_text("as it was")
    done = converse(b"", "-solve", str(path))
    assert done.returncode == 1
    assert b"no problem found" in done.stderr
    for command in ("script-to-obf", "select-hard"):
        assert "no problem found" in Dialogue().both(f"{command} {path} {target}")[1]
    assert target.read_text() == "as it was"


@pytest.mark.parametrize(
    "name", ["eval-file", "book-file", "ui-log-file", pytest.param("name", marks=pytest.mark.needs("guis"))]
)
def test_a_zero_byte_in_a_configuration_is_refused(tmp_path: Path, name: str) -> None:
    """No file has such a name."""
    (tmp_path / "config.toml").write_text(f'{name} = "a\\u0000b"')
    with pytest.raises(BadInput, match=rf"{name} = .*: expected a (file name|text)"):
        configure(SessionSettings(), str(tmp_path / "config.toml"), "text")
