"""Input that cannot be used: one line that names it and what was expected, and nothing changes."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import IMPORT
from dialogue import Dialogue

from desdaemon.core.search.loader import EngineConfig, EngineFailure, EngineSource, LoadedEngine
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session

GAMEFILES = pytest.mark.needs("clients.gamefiles")
COUNTING = pytest.mark.needs("engine.counting")

OPENING = "---------------------------OX------XO--------------------------- X"


@pytest.mark.parametrize(
    ("line", "named", "expected"),
    [
        ("foo bar", '"foo bar"', "a command (see help) or a move"),
        ("level 99", '"99"', "a whole number from 0 to 60"),
        ("level -1", '"-1"', "a whole number from 0 to 60"),
        ("level ten", '"ten"', "a whole number from 0 to 60"),
        ("level 1_0", '"1_0"', "a whole number from 0 to 60"),
        ("level " + "9" * 5000, '"999', "a whole number from 0 to 60"),
        ("hint -3", '"-3"', "a whole number from 1"),
        ("hint 0", '"0"', "a whole number from 1"),
        ("hint many", '"many"', "a whole number from 1"),
        ("analyze x", '"x"', "a whole number from 1"),
        pytest.param("perft 3 3", '"3"', "from 1 to 2", marks=COUNTING),
        pytest.param("perft -1", '"-1"', "a whole number from 0", marks=COUNTING),
        pytest.param("perft 1 2 3", '"1 2 3"', "a depth", marks=COUNTING),
        pytest.param("count games", '"games"', "a depth", marks=COUNTING),
        pytest.param("count positions", '"positions"', "a depth", marks=COUNTING),
        pytest.param("count positions 99", '"99"', "from 0 to 12", marks=COUNTING),
        pytest.param("count positions 3 4", '"4"', "from 1 to 3", marks=COUNTING),
        ("play", "play", "moves such as"),
        ("play f5d6zz", '"zz"', "squares such as"),
        ("play f5d6a1c3", "A1 (move 3)", "C3 C4 C5 C6 C7"),
        ("play f5 pa d6", "PA (move 2)", "D6"),
        ("play tigger", '"tigger"', 'did you mean "Tiger"?'),
        ("a1", "A1", "D3 C4 F5 E6"),
        ("pa", "PA", "D3 C4 F5 E6"),
        ("f5 d6", '"f5 d6"', 'did you mean "play f5 d6"?'),
        ("f5d6", '"f5d6"', 'did you mean "play f5d6"?'),
        ("setboard", '""', "64 squares"),
        ("setboard " + OPENING[:63] + " X", "63 squares", "64 squares"),
        ("setboard " + OPENING[:64] + "- X", "65 squares", "64 squares"),
        ("setboard " + OPENING[:64], "no side to move", "the side to move"),
        ("setboard " + OPENING + " X", "65 squares", "64 squares"),
        ("mode 4", '"4"', "from 0 to 3"),
        ("book-usage perhaps", '"perhaps"', "on or off"),
        ("move-time soon", '"soon"', "a time such as"),
        ("t 0", '"0"', "a time such as"),
        ("t -5", '"-5"', "a time such as"),
        ("t 1:2:3:4:5", '"1:2:3:4:5"', "a time such as"),
        ("selectivity 50", '"50"', "0 to 5"),
        ("alpha 64", '"64"', "less than beta"),
        ("beta -64", '"-64"', "more than alpha"),
        ("h 99", '"99"', "from 10 to 32"),
        ("n 257", '"257"', "from 0 to 256"),
        ("rotate 45", '"45"', "90, 180 or 270"),
        ("symmetry 16", '"16"', "from 0 to 15"),
        ("help me", '"me"', "commands, options, book"),
        ("help negamx", '"negamx"', 'did you mean "negamax"?'),
        ("book helpp", '"book helpp"', 'did you mean "help"?'),
        ("force a1", "A1", "D3 C4 F5 E6"),
        ("undo 2", "undo 2", "fewer moves"),
        ("undo x", '"x"', "a whole number"),
        ("redo 2", "redo 2", "fewer moves"),
        ("undo", "undo", "no move"),
        ("redo", "redo", "no move"),
        pytest.param("solve", '""', "the name of a file", marks=GAMEFILES),
        pytest.param("solve /dev/stdin", '"/dev/stdin"', "the name of a file", marks=GAMEFILES),
        pytest.param("solve /dev", '"/dev"', "Is a directory", marks=GAMEFILES),
        pytest.param(
            "solve /nowhere/at/all.obf",
            '"/nowhere/at/all.obf"',
            "No such file or directory",
            marks=GAMEFILES,
        ),
        ("set", '"set"', "setboard"),
        ("-go", '"-go"', "a command"),
        ("q5", '"q5"', "a command"),
        ("x" * 10_000, "xxx...xxx", "a command"),
    ],
)
def test_bad_input_gets_one_line_and_changes_nothing(line: str, named: str, expected: str) -> None:
    complaint = Dialogue().refused(line)
    assert named in complaint
    assert complaint.startswith("WARNING: ")
    assert expected in complaint


def test_an_illegal_move_in_the_middle_plays_nothing() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5d6")
    before = dialogue.board
    dialogue.refused("play c3d3h8c4")
    assert dialogue.board == before


@pytest.mark.needs("clients.gamefiles")
def test_bad_lines_in_files_of_problems_are_named(tmp_path: Path) -> None:
    file = tmp_path / "some.obf"
    good = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;"
    lines = [b"% remark", good.encode(), b"rubbish", b"\xff\xfe", b"X" * 200_000, good.encode()[:-9], good.encode()]
    file.write_bytes(b"\n".join(lines))
    dialogue = Dialogue()
    out, err = dialogue.both(f"solve {file}")
    complaints = err.splitlines()
    assert [line.split(": ")[1] for line in complaints] == [f"{file}, line {n}" for n in (3, 4, 5)]
    assert "3 positions; " in out
    assert dialogue.searcher.cleared == 3


def test_weights_that_cannot_be_loaded_leave_the_old_ones() -> None:
    def build(config: EngineConfig) -> LoadedEngine:
        if config.eval_file:
            raise EngineFailure(f"{config.eval_file}: not a weights file")
        from fake_engine import build_fake

        return build_fake(config)

    dialogue = Dialogue()
    dialogue.session = Session(dialogue.session.settings, EngineSource(build))
    dialogue.text = TextDialect(dialogue.session, dialogue.output)
    assert "not a weights file" in dialogue.refused("eval-file /some/where.dat")
    assert dialogue.say("eval") == "eval = +0.00\n"


def test_a_table_too_large_for_the_machine_is_refused_until_it_is_smaller() -> None:
    def build(config: EngineConfig) -> LoadedEngine:
        if config.hash_bits > 30:
            raise MemoryError
        from fake_engine import build_fake

        return build_fake(config)

    dialogue = Dialogue()
    dialogue.session = Session(dialogue.session.settings, EngineSource(build))
    dialogue.text = TextDialect(dialogue.session, dialogue.output)
    dialogue.say("hint")
    dialogue.say("h 31")
    assert "not enough memory for a table of 2^31 entries" in dialogue.refused("hint")
    dialogue.say("h 20")
    assert dialogue.say("hint")


def test_a_mistake_in_the_program_does_not_end_the_dialogue(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue()

    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(dialogue.searcher, "search", fail)
    out, err = dialogue.both("hint")
    assert (out, err.split("\n")[0]) == ("", 'WARNING: "hint": an internal error')
    assert "ZeroDivisionError" in err
    assert "ZeroDivisionError" in dialogue.both("mode 2")[1]
    assert dialogue.say("mode") == "mode = 3\n"
    assert dialogue.board == OPENING
    assert dialogue.text.leaving is None


@pytest.mark.parametrize("name", [None, "module.py"])
def test_too_few_descriptors_are_said(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    """A file that could not be opened need not be one that the line names: modules are loaded late."""
    dialogue = Dialogue()

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), name)

    monkeypatch.setattr(dialogue.searcher, "search", fail)
    assert dialogue.refused("hint") == f"WARNING: {os.strerror(errno.EMFILE)}: try later\n"
    assert dialogue.text.leaving is None


@pytest.mark.needs("engine.counting")
def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        raise MemoryError("a set of 5 positions needs too much")

    monkeypatch.setattr("desdaemon.engine.counting.counts.count_positions", fail)
    assert "not enough memory: a set of 5" in Dialogue().refused("count positions 12")


@pytest.mark.parametrize("board", ["-OX" + "-" * 61 + " X", "OX" + "-" * 62 + " O", "-" * 63 + "X X", "-" * 64 + " O"])
def test_boards_of_fewer_than_four_discs_end_no_process(board: str, tmp_path: Path) -> None:
    """The weights have no row for them; a read in front of the first one ended the process."""
    lines = [f"setboard {board}", "eval", "level 0", "hint 3", "level 12", "hint 3", "eval", "go", "eval", "analyze"]
    lines += ["book new 2 4", "book store", "book show"]
    ended = subprocess.run(
        [sys.executable, "-c", f"{IMPORT}from desdaemon.__main__ import program; program()", "-q"],
        input="\n".join(lines) + "\n",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "mistake" not in ended.stderr
    values = [float(value) for value in re.findall(r"eval = (\S+)", ended.stdout)]
    assert len(values) == 3
    assert all(-64 <= value <= 64 for value in values)
