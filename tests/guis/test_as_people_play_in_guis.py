"""The option `strength` in the protocols of GUIs."""

from __future__ import annotations

from test_as_people_play import Asked, asked
from test_gtp import Talk as GtpTalk
from test_nboard import Talk as NBoardTalk
from test_xboard import Talk as XBoardTalk

from desdaemon.engine.people.rows import CONTEMPT, STRENGTH

__all__ = ["asked"]


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
    assert talk.say("option Colour=5") == ['Error ("Colour": expected Strength=n or Contempt=n): option']
    assert [rating for rating, _ in asked] == [1700]


def test_nboard_plays_as_people_do(asked: Asked) -> None:
    talk = NBoardTalk()
    talk.session.settings.set(STRENGTH, "1700")
    assert talk.say("nboard 2") == talk.say("set depth 3") == ["set myname desdaemon_1700"]
    assert any(line.startswith("=== E6") for line in talk.say("go"))
    # Contempt plays at the level, and is called by it.
    talk.session.settings.set(STRENGTH, "0")
    talk.session.settings.set(CONTEMPT, "2")
    assert talk.say("set depth 3") == ["set myname desdaemon3"]
