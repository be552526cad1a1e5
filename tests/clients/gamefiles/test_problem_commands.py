"""The commands on files of problems, and `wtest`."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialogue import Dialogue
from full_disk import room_for

from desdaemon.clients.gamefiles import problems, wthor
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, moves_text, parse_board
from desdaemon.protocol.othello.obf import parse_problem
from desdaemon.protocol.othello.rules import PASS

pytestmark = pytest.mark.needs("clients.gamefiles")

PROBLEMS = (
    "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;",
    "XO-" + "X" * 61 + " X",
)


def test_files_of_problems_are_converted(tmp_path: Path) -> None:
    source, target = tmp_path / "in.obf", tmp_path / "out.obf"
    source.write_text("".join(f"{line}\n" for line in PROBLEMS))
    dialogue = Dialogue(level=4)
    assert dialogue.say(f"script-to-obf {source} {target}") == f"2 problems written to {target}\n"
    written = [parse_problem(line) for line in target.read_text().splitlines()]
    for line, problem in zip(PROBLEMS, written, strict=True):
        assert problem
        assert problem.position == parse_board(line)
        assert problem.best == 10
        assert len(problem.scores) == problem.position.moves.bit_count()
    # The search that pretends has each move two discs worse than the one before; one position has no second move.
    assert dialogue.say(f"select-hard {source} {target}") == f"1 problem written to {target}\n"
    wrong = tmp_path / "wrong.obf"
    assert "1 erroneous" in dialogue.say(f"solve {source} {wrong}")
    assert wrong.read_text() == f"{PROBLEMS[0]}\n"
    assert "expected" in dialogue.refused(f"script-to-obf {source}")
    assert "nowhere" in dialogue.refused(f"select-hard /nowhere.obf {target}")


@pytest.mark.parametrize("command", ["solve", "script-to-obf", "select-hard"])
def test_a_file_of_problems_is_not_replaced_by_what_is_made_of_it(command: str, tmp_path: Path) -> None:
    source = tmp_path / "in.obf"
    source.write_text(PROBLEMS[0])
    refusal = Dialogue(level=4).refused(f"{command} {source} {source}")
    assert "expected another file than those that are read" in refusal
    assert source.read_text() == PROBLEMS[0]


@pytest.mark.posix
def test_problems_that_cannot_be_written_leave_the_old_file(tmp_path: Path) -> None:
    source, wrong = tmp_path / "in.obf", tmp_path / "wrong.obf"
    source.write_text(f"{PROBLEMS[0]}\n" * 60)
    wrong.write_text("old\n" * 2000)
    with room_for(4096):
        assert "File too large" in Dialogue(level=4).both(f"solve {source} {wrong}")[1]
        assert "File too large" in Dialogue(level=4).refused(f"script-to-obf {source} {wrong}")
    assert wrong.read_text() == "old\n" * 2000
    source.write_text("\n")
    assert "no problem found" in Dialogue(level=4).both(f"solve {source} {wrong}")[1]
    assert wrong.read_text() == "old\n" * 2000


def test_theoretical_scores_are_added_to_a_base(tmp_path: Path) -> None:
    position, moves = START, []
    while len(moves) < 30:
        if position.must_pass:
            position = position.after(PASS)
        moves.append(rules.squares(position.moves)[0])
        position = position.after(moves[-1])
    path = tmp_path / "games.wtb"
    # The search that pretends finds 10 for the side to move, after 26 moves.
    black = Dialogue()
    black.say(f"play {moves_text(moves[:26])}")
    right = 37 if black.session.game.position.black_to_move else 27
    games = [wthor.WthorGame(bytes(moves), 32, theoretical) for theoretical in (right, 20)]
    path.write_bytes(wthor.to_bytes(games, wthor.WthorHeader((2026, 1, 1), 0, 2026, 8, 34)))
    answer = Dialogue().say(f"wtest {path}")
    assert answer.endswith("2 games, 1 wrong theoretical score\n")
    assert f"game 2: 20 written, {right} found after " in answer


def test_a_missing_base_is_told() -> None:
    assert Dialogue().refused("wtest /nowhere.wtb") == 'WARNING: "/nowhere.wtb": No such file or directory\n'


def test_a_missing_name_is_refused() -> None:
    assert "expected" in Dialogue().refused("wtest")


@pytest.mark.posix
def test_a_file_without_an_end_is_given_up() -> None:
    with pytest.raises(BadInput, match="is a device"), problems._opened("/dev/zero"):
        pass
    with open("/dev/zero", "rb") as zeros, pytest.raises(BadInput, match="lines of at most 16777216 bytes"):  # noqa: PTH123
        list(problems._lines(lambda line: None, zeros, "endless"))
    with problems._opened("/dev/null") as nothing:
        assert not list(problems._lines(print, nothing, "empty"))
