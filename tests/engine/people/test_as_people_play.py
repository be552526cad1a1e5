"""The option `strength`: in every dialect the engine's move is the one that people of that rating choose."""

from __future__ import annotations

import pytest
from dialogue import Dialogue
from test_gtp import Talk as GtpTalk
from test_nboard import Talk as NBoardTalk
from test_xboard import Talk as XBoardTalk

from desdaemon.core.search.loader import EngineFailure
from desdaemon.engine.people import moves as people
from desdaemon.protocol.othello import rules

Asked = list[tuple[int, int]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Ratings and seeds that moves were asked for; people play the last legal square, after C3 the
    first.
    """
    found: Asked = []

    def human_move(player: int, opponent: int, rating: int, seed: int, line: list[int]) -> int:
        found.append((rating, seed))
        return rules.squares(rules.legal_moves(player, opponent))[0 if line[-1:] == [18] else -1]

    monkeypatch.setattr(people, "human_move", human_move)
    return found


def test_the_text_protocol_plays_as_people_do(asked: Asked) -> None:
    dialogue = Dialogue()
    assert "plays C4" not in dialogue.say("go")
    assert asked == []
    dialogue.say("init")
    dialogue.say("strength 1450")
    dialogue.say("strength-seed 7")
    assert "plays E6" in dialogue.say("go")
    assert asked == [(1450, 7)]
    dialogue.say("strength 0")
    dialogue.say("go")
    assert len(asked) == 1


def test_people_answer_the_last_move(asked: Asked) -> None:
    dialogue = Dialogue()
    dialogue.say("strength 1450")
    for moves, answer in (("f5d6c3", "D3"), ("f5d6c5", "F6")):
        dialogue.say(f"play {moves}")
        assert f"plays {answer}" in dialogue.say("go")
        dialogue.say("init")


@pytest.mark.parametrize("value", ["5", "99", "2701", "-1", "strong"])
def test_another_strength_is_refused(value: str, asked: Asked) -> None:
    dialogue = Dialogue()
    dialogue.say("strength 900")
    _, answer = dialogue.both(f"strength {value}")
    assert "strength" in answer
    assert "expected" in answer
    assert dialogue.session.settings.strength == 900


def test_gtp_plays_as_people_do(asked: Asked) -> None:
    talk = GtpTalk()
    assert talk.say("set_strength 1600") == ""
    assert talk.say("reg_genmove black") == talk.say("genmove black") == "E6"
    assert talk.say("gogui-param strength 800") == ""
    talk.say("genmove white")
    assert [rating for rating, _ in asked] == [1600, 1600, 800]


def test_xboard_offers_the_strength_and_takes_it(asked: Asked) -> None:
    talk = XBoardTalk()
    assert any('option="Strength -spin 0 0 2700"' in line for line in talk.say("protover 2"))
    assert talk.say("new", "option Strength=1700", "go") == ["move P@e6"]
    assert talk.say("option Strength=5") == [
        'Error (strength = "5": expected 0 or a whole number from 100 to 2700): option'
    ]
    assert talk.say("option Colour=5") == ['Error ("Colour": expected Strength=n): option']
    assert [rating for rating, _ in asked] == [1700]


def test_nboard_plays_as_people_do(asked: Asked) -> None:
    talk = NBoardTalk()
    talk.session.settings.strength = 1700
    assert talk.say("nboard 2") == talk.say("set depth 3") == ["set myname desdaemon_1700"]
    assert any(line.startswith("=== E6") for line in talk.say("go"))


def test_an_engine_that_cannot_play_so_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> int:
        raise EngineFailure("policy.xz: can't be read")

    monkeypatch.setattr(people, "human_move", broken)
    dialogue = Dialogue()
    dialogue.say("strength 1500")
    assert "policy.xz: can't be read" in "".join(dialogue.both("go"))
