"""The commands that count, measure and estimate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from dialogue import Dialogue
from watched_terminal import watch

from desdaemon.engine.counting import commands
from desdaemon.protocol.othello.notation import parse_board
from desdaemon.protocol.system import logs

pytestmark = pytest.mark.needs("engine.counting")


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


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("perft 7", "perft 7"),
        ("count games 6", "perft 6"),
        ("count positions 4", "positions 4 (definition 3)"),
        ("count shapes 5", "shapes 5"),
        ("bench 300", "bench"),
        ("mobility 1", "mobility"),
        ("estimate 30", "estimate"),
    ],
)
def test_what_takes_long_tells_its_time_at_a_terminal(line: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    watch(monkeypatch)
    monkeypatch.setattr(logs, "put", shown.append)
    Dialogue().say(line)
    assert f"{logs.WIPED}{what}: 0 s" in shown
    assert shown[-1] == logs.WIPED


@pytest.mark.parametrize("what", ["positions 6", "shapes 6"])
def test_a_stop_ends_a_count(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue()
    monkeypatch.setattr(commands, "_elapsed", lambda *_: stopping(dialogue))
    answer = dialogue.say(f"count {what}")
    assert answer.endswith(": stopped\n")
    assert answer.count("\n") == 1


@contextmanager
def stopping(dialogue: Dialogue) -> Iterator[None]:
    dialogue.session.interrupt.stop(99)
    yield


@pytest.mark.parametrize("line", ["bench 0", "mobility now", "estimate -1"])
def test_bad_lines_are_refused(line: str) -> None:
    assert "expected" in Dialogue().refused(line)
