"""A satellite of two modules and one line in a table is there at every door of the program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from checkout import SUPPORT
from served import Peer, serving

PROGRAM = (sys.executable, str(SUPPORT / "example" / "desdaemon_with_regions.py"))
BOARD = "X--X" + "XXXX" + "OOOOOOOO" * 6 + "OOOOOOO- X"


def told(*arguments: str, typed: str = "") -> str:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def test_the_dialogue_has_its_command_and_its_option() -> None:
    typed = f"setboard {BOARD}\nregions\nregions-least 2\nregions\nregions-least 61\nquit\n"
    said = told("-q", "--config", "none", typed=typed).split("\n")
    assert [line for line in said if line in ("2 1", "2")] == ["2 1", "2"]
    assert 'WARNING: regions-least = "61": expected a whole number from 1 to 60' in said


def test_help_knows_both_and_the_program_lists_its_sub_command() -> None:
    said = told("-q", "--config", "none", typed="help regions\nhelp regions-least\nquit\n")
    assert "Show the regions of empty squares." in said
    assert "Squares of the smallest region shown." in said
    assert "the regions of empty squares after a line" in told("--help")


def test_the_sub_command_runs() -> None:
    assert told("regions", "f5d6c3") == "57\n"


def test_json_lines_answer_its_operation() -> None:
    request = {"v": 1, "id": 1, "op": "regions.get", "args": {"board": BOARD}}
    reply = json.loads(told("-json", "--config", "none", typed=json.dumps(request) + "\n").splitlines()[-1])
    assert reply["data"] == {"sizes": [2, 1]}


def test_a_server_answers_it_by_its_own_option(tmp_path: Path) -> None:
    with serving(tmp_path, "-regions-least", "2", program=PROGRAM) as served, Peer(served.ipc) as peer:
        assert peer.final("regions.get", {"board": BOARD}) == {"sizes": [2]}
        hello = peer.final("hello")
        assert "regions.get" in hello["ops"]
        assert "regions" in hello["features"]
        assert peer.refused("regions.get", {"board": "?"}) == "bad_position"
        assert peer.final("text", {"line": "regions"})["out"] == "60\n"
