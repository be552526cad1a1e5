"""`seek`: a line of play that leads to a board."""

from __future__ import annotations

import re

import pytest
import referee
from dialogue import Dialogue
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.dialogue.commands import lines
from desdaemon.protocol.othello.notation import START, moves_text, play_moves


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
