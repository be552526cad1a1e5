"""The commands that test, measure and count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import referee
from dialogue import Dialogue
from full_disk import room_for
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.dialogue.commands import lines
from desdaemon.protocol.games import wthor
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, moves_text, parse_board, play_moves
from desdaemon.protocol.othello.obf import parse_problem
from desdaemon.protocol.othello.rules import PASS

PROBLEMS = (
    "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;",
    "XO-" + "X" * 61 + " X",
)


def test_seek_finds_a_line() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5d6c3d3c4f4")
    board = dialogue.board
    dialogue.say("init")
    line = dialogue.say(f"seek {board}").strip()
    dialogue.say(f"play {line}")
    assert dialogue.board == board
    dialogue.say("init")
    assert dialogue.say(f"seek {dialogue.board}") == "the initial position\n"
    assert dialogue.say("seek " + "-" * 18 + "X" + "-" * 8 + "OX------XO" + "-" * 27 + " O").startswith("no line leads")
    assert "four centre squares" in dialogue.refused("seek " + "X" + "-" * 63 + " X")


def test_counts_are_the_known_numbers() -> None:
    dialogue = Dialogue()
    assert [line.split()[4] for line in dialogue.say("count games 4").splitlines()] == ["1", "4", "12", "56", "244"]
    shapes = dialogue.say("count shapes 5").splitlines()
    assert shapes == [f"shapes {at}: {n}" for at, n in enumerate([1, 1, 3, 14, 51, 269])]
    for line in ("count", "count games", "count shapes 9", "count apples 3", "count games 2 2"):
        assert "expected" in dialogue.refused(line)


def test_random_games_follow_the_seed() -> None:
    dialogue = Dialogue()
    answer = dialogue.say("estimate 5")
    assert re.fullmatch(r"5 games: about \d\.\d+e\+\d+ games from here, \d+\.\d plies each\n", answer)
    moves, board = dialogue.say("mobility 1").strip().split(" moves: ")
    assert parse_board(board).moves.bit_count() == int(moves)
    assert int(moves) > 8
    assert dialogue.say("bench 2").startswith("2 positions: ")
    assert len(dialogue.searcher.calls) == 2
    assert dialogue.say("resources").startswith("user time: ")


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


@pytest.mark.parametrize("line", ["wtest", "bench 0", "mobility now", "estimate -1"])
def test_bad_lines_are_refused(line: str) -> None:
    assert "expected" in Dialogue().refused(line)


def test_a_missing_base_is_told() -> None:
    assert Dialogue().refused("wtest /nowhere.wtb") == 'WARNING: "/nowhere.wtb": No such file or directory\n'


@given(st.integers(0, 10**6), st.integers(1, 60))
def test_no_board_that_a_game_leads_to_is_said_to_be_out_of_reach(seed: int, plies: int) -> None:
    position = START
    for move in play_moves(START, referee.random_moves(seed, plies)).moves:
        position = position.after(move)
        assert lines._can_come_about(START, position)


def test_seek_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "SEEK_S", 0.2)
    monkeypatch.setattr(lines, "_REPORT_S", 0.05)
    dialogue = Dialogue()
    dialogue.say(f"play {moves_text(referee.random_moves(3, 44))}")
    board = list(dialogue.board)
    # Another colour in the middle of the board, which cannot be told from one that play leads to.
    at = next(at for at in (27, 28, 35, 36) if board[at] in "XO")
    board[at] = "O" if board[at] == "X" else "X"
    told = dialogue.say(f"seek {''.join(board)}").splitlines()
    assert re.fullmatch(r"no line found in \d+ positions?; there may still be one", told[-1])
    assert all(re.fullmatch(r"Seek\.\.\.\d+ positions looked at", line) for line in told[:-1])
    assert len(told) > 1


@pytest.mark.parametrize(
    "board",
    [
        # A disc apart from the others.
        "X" + "-" * 26 + "OX------XO" + "-" * 27 + " O",
        # Joined, but no disc can have been the last one: none has turned another.
        "-" * 18 + "X" + "-" * 8 + "OX------XO" + "-" * 27 + " O",
    ],
)
def test_seek_knows_at_once_what_no_play_leads_to(board: str) -> None:
    assert Dialogue().say(f"seek {board}") == "no line leads to that board\n"
