"""`explain` on the wire and in the dialogue."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from dialogue import Dialogue
from operated import Operated

from desdaemon.engine.reasons import show
from desdaemon.engine.reasons.explain import Reason
from desdaemon.engine.reasons.kinds import KINDS
from desdaemon.engine.result import Result
from desdaemon.protocol.games.judgement import SearchedMove
from desdaemon.protocol.wire import messages


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    return Operated(tmp_path)


def test_reasons_come_over_the_wire_the_weightiest_first(daemon: Operated) -> None:
    board = "-------------------O------XOOO----XXOX-----O-------------------- X"
    found = daemon.final("explain", {"board": board, "played": "g4c3", "best": "d2d1"})["reasons"]
    assert found
    assert [reason["discs"] for reason in found] == sorted((reason["discs"] for reason in found), reverse=True)
    for reason in found:
        assert reason["kind"] in KINDS
        assert len(reason["played"]) == len(reason["best"]) == 2
    assert daemon.final("explain", {"played": "f5f6", "best": "f5d6"}) == {"reasons": []}


@pytest.mark.parametrize(
    ("args", "code", "field"),
    [
        ({"played": "f5"}, "bad_request", "best"),
        ({"played": "", "best": "f5"}, "bad_request", "played"),
        ({"played": "f5", "best": "z9"}, "bad_request", "best"),
        ({"played": "a1", "best": "f5"}, "illegal_move", "played"),
        ({"played": "f5", "best": "d3d6"}, "illegal_move", "best"),
        ({"moves": "a1", "played": "f5", "best": "d3"}, "illegal_move", "moves"),
    ],
)
def test_wrong_lines_are_refused_by_name(daemon: Operated, args: dict[str, str], code: str, field: str) -> None:
    error = daemon.ends(daemon.request("explain", args))[-1]["error"]
    assert (error["code"], error.get("field")) == (code, field)


def test_a_reader_may_ask_and_the_feature_is_listed(daemon: Operated) -> None:
    assert "explain" in messages.FEATURES
    assert "explain" in daemon.final("hello", {})["ops"]


# The dialogue


def test_the_dialogue_explains_a_move_here_and_the_last_one() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5f6e6f4")
    told = [dialogue.say(line) for line in ("explain", "explain g5", "explain G5")]
    assert told[0].startswith("F4 loses nothing")
    assert told[1] == told[2]
    assert all(len(line) < 80 for text in told for line in text.splitlines())


@pytest.mark.parametrize(("argument", "told"), [("", ' ("you" is White)'), ("f4", "")])
def test_it_is_told_who_lost_and_who_you_are(argument: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last move too, which may be the opponent's."""
    reason = Reason("moves", 1.0, "After d3 Black has 9 moves and you 8.", (8, 9), (9, 8), ())
    monkeypatch.setattr(show, "reasons", lambda *_: [reason])
    scores = iter([5, 2])
    monkeypatch.setattr(show, "_searched", lambda *_: SearchedMove(19, next(scores), 4, 0, False, line=(19,)))
    monkeypatch.setattr(show, "as_played", lambda *_: None)
    dialogue = Dialogue()
    dialogue.say("play f5d6c5f4" if not argument else "play f5d6c5")
    first, second, *_ = dialogue.say(f"explain {argument}".strip()).splitlines()
    assert re.fullmatch(rf"[A-H][1-8] loses White 3 discs: \+2, with [A-H][1-8] instead \+5{re.escape(told)}", first)
    assert second == "- After d3 Black has 9 moves and you 8."


def test_a_stop_ends_both_searches_and_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue()
    session, searches = dialogue.session, list[Any]()
    search = session.search

    def stopped(*args: Any, **how: Any) -> Result:
        searches.append(args)
        found = search(*args, **how)
        session.interrupt.stop_all()
        return found

    monkeypatch.setattr(session, "search", stopped)
    dialogue.say("play f5f6e6f4")
    said, warned = dialogue.both("explain g6")
    assert (said, warned.strip()) == ("", "WARNING: explain: stopped before both moves were searched")
    assert len(searches) == 1


@pytest.mark.parametrize("line", ["explain a1", "explain pa", "explain x", "explain f5 d6"])
def test_a_wrong_move_is_refused(line: str) -> None:
    dialogue = Dialogue()
    said, warned = dialogue.both(line)
    assert said.strip() == ""
    assert warned.startswith("WARNING: ")


def test_without_a_move_there_is_nothing_to_explain() -> None:
    _, warned = Dialogue().both("explain")
    assert "no move was played" in warned
