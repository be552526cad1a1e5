"""The operation `people.get`: chances of moves by rating, and the move of a strength."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from operated import Operated

from desdaemon.engine.people import moves as people


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operated:
    """People play D3 three times in four, C4 else; strengths play D3, with a seed above 5 C4."""
    monkeypatch.setattr(people, "chances", lambda player, opponent, rating, line: {26: 0.25, 19: 0.75})
    monkeypatch.setattr(people, "drawn_move", lambda found, player, opponent, strength, seed: 26 if seed > 5 else 19)
    return Operated(tmp_path)


def test_moves_come_with_their_chances_the_likeliest_first(daemon: Operated) -> None:
    moves = [{"move": "d3", "chance": 0.75}, {"move": "c4", "chance": 0.25}]
    assert daemon.final("people.get", {"rating": 1500}) == {"move": "d3", "moves": moves}
    assert daemon.final("people.get", {"rating": 1500, "seed": 6}) == {"move": "c4", "moves": moves}


def test_people_answer_the_last_move(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []

    def chances(player: int, opponent: int, rating: int, line: list[int]) -> dict[int, float]:
        lines.append(line)
        return {19: 1.0}

    monkeypatch.setattr(people, "chances", chances)
    daemon.final("people.get", {"rating": 1500, "moves": "f5d6"})
    daemon.final("people.get", {"rating": 1500})
    assert lines == [[37, 43], []]


@pytest.mark.parametrize(
    ("board", "move"), [("OX" + "-" * 62 + " X", "pa"), ("X" * 32 + "-" * 32 + " X", None), ("X" * 63 + "- O", None)]
)
def test_a_position_without_moves_has_a_pass_or_nothing(daemon: Operated, board: str, move: str | None) -> None:
    moves = [{"move": move, "chance": 1.0}] if move else []
    assert daemon.final("people.get", {"board": board, "rating": 1500}) == {"move": move, "moves": moves}


@pytest.mark.parametrize("rating", [0, 99, 2701, "1500", None])
def test_a_wrong_rating_is_refused(daemon: Operated, rating: object) -> None:
    assert daemon.code("people.get", {"rating": rating} if rating is not None else {}) == "bad_request"


def test_nobody_waits_for_the_moves_of_people(daemon: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deferred work, such as look-ups in the book, is done while the engine is loaded for the first request."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(player: int, opponent: int, rating: int, line: list[int]) -> dict[int, float]:
        begun.set()
        assert go_on.wait(60)
        return {19: 1.0}

    monkeypatch.setattr(people, "chances", slow)
    asked = daemon.request("people.get", {"rating": 1500})
    assert begun.wait(60)
    assert daemon.final("cache.clear")["forgotten"] == 0
    go_on.set()
    assert daemon.ends(asked)[-1]["type"] == "final"
