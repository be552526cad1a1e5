"""`python tests/lab peer`: another program beside ours, whose part scripts play."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from lab.peer import Peer, PeerError, beside, main

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.protocol.othello.obf import Problem, parse_problem, problem_text

LINES = (
    "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;",
    "-XXXXXX---XOOOO--XOXXOOX-OOOOOOOOOOOXXOOOOOXXOOX--XXOO----XXXXX- X; H7:+10; A3:+6;",
)
TABLE = """\
 # | depth|score|       time   |  nodes (N)  |   N/s    | principal variation
---+------+-----+--------------+-------------+----------+---------------------
  1|   14   +18        0:00.003         59517   19839000 g8 H7 a8 A6 a4 A7 b6
  2|   12   +08     1:02:00.250          2651            h7 A3                Erroneous score: +10 expected
---+------+-----+--------------+-------------+----------+---------------------
"""
SUMMARY = "problems.obf: 62168 nodes in  0:00.105 (cpu =  0:00.136) (21128190 nodes/s).\n"


@pytest.fixture
def problems() -> list[Problem]:
    return [problem for problem in map(parse_problem, LINES) if problem is not None]


def program(folder: Path, body: str) -> str:
    """A command that runs Python code."""
    path = folder / "peer.py"
    path.write_text("import sys\n" + body)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def printing(folder: Path, text: str) -> str:
    return program(folder, f"print({text!r})\n")


def test_it_is_given_the_problems_and_asked_for_one_thread(tmp_path: Path, problems: list[Problem]) -> None:
    asked = tmp_path / "asked"
    body = (
        "file = sys.argv[sys.argv.index('-solve') + 1]\n"
        f"open({str(asked)!r}, 'w').write(' '.join(sys.argv[1:]).replace(file, 'FILE') + '\\n' + open(file).read())\n"
        f"print({TABLE!r})\n"
    )
    Peer(program(tmp_path, body) + " -eval-file x").solve(problems, 22)
    first, *rest = asked.read_text().splitlines()
    assert first == "-eval-file x -solve FILE -l 60 -n 1 -h 22"
    assert rest == [problem_text(problem) for problem in problems]


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        (SUMMARY, 0.136),
        ("problems.obf: 62168 nodes in  0:00.105 (592076 nodes/s).\n", 0.105),
        ("", 3720.253),
    ],
    ids=["processor", "wall", "no summary"],
)
def test_times_are_the_programs_own(tmp_path: Path, problems: list[Problem], end: str, seconds: float) -> None:
    solved = Peer(printing(tmp_path, TABLE + end)).solve(problems, 22)
    assert solved.seconds == pytest.approx(seconds)
    assert (solved.nodes, solved.wrong) == (62168, 1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('Edax')\n", "answered 0 of 2"),
        (f"print({TABLE.splitlines()[2]!r})\n", "answered 1 of 2"),
        ("sys.exit('cannot open eval.dat')\n", "ended with 1: cannot open eval.dat"),
    ],
)
def test_what_is_no_answer_is_told(tmp_path: Path, problems: list[Problem], body: str, said: str) -> None:
    with pytest.raises(PeerError, match=said):
        Peer(program(tmp_path, body)).solve(problems, 22)


@pytest.mark.parametrize("command", ["", "no-such-program-anywhere", "'open"])
def test_what_is_no_program_is_refused_before_anything_runs(command: str) -> None:
    with pytest.raises(PeerError, match=r"no such program|No closing"):
        Peer(command)


def test_a_missing_program_is_one_line_and_exit_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-program-anywhere"]) == 1
    said = capsys.readouterr()
    assert "no-such-program-anywhere" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.compiled
def test_rows_of_both_stand_beside_each_other(tmp_path: Path, problems: list[Problem], weights: Weights) -> None:
    ours, theirs = beside(weights, Peer(printing(tmp_path, TABLE + SUMMARY)), "exact", problems, 16)
    assert ours.name == "exact"
    assert ours.nodes
    assert (theirs.seconds, theirs.nodes) == (0.136, 62168)
    assert f"{ours.nodes / 62168:.2f} of its nodes" in theirs.note
    assert theirs.note.endswith("1 WRONG")
