"""The option `strength`: in every dialect the engine's move is the one that people of that rating choose."""

from __future__ import annotations

from threading import Timer

import pytest
from dialogue import Dialogue
from test_session import Slow

from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.session import Session
from desdaemon.engine.people import moves as people
from desdaemon.engine.people.rows import STRENGTH
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
    assert dialogue.session.settings.value(STRENGTH, int) == 900


def test_an_engine_that_cannot_play_so_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> int:
        raise EngineFailure("policy.xz: can't be read")

    monkeypatch.setattr(people, "human_move", broken)
    dialogue = Dialogue()
    dialogue.say("strength 1500")
    assert "policy.xz: can't be read" in "".join(dialogue.both("go"))


def test_a_stop_ends_the_wait_of_a_strength_for_the_engine() -> None:
    asking = Session(SessionSettings(), Slow())
    asking.settings.set(STRENGTH, "1500")
    Timer(0.05, lambda: asking.interrupt.stop(1, abandon=True)).start()
    with pytest.raises(Abandoned):
        asking.choose()
