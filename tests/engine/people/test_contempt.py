"""The option `contempt`: of moves that are nearly as good as the best, the one whose second-best reply loses most."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import judge
import pytest
from dialogue import Dialogue

from desdaemon.core.search.loader import Abandoned, EngineConfig, EngineSource, LoadedEngine, build_engine
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.engine.limits import Limits
from desdaemon.engine.people import contempt
from desdaemon.engine.result import Result
from desdaemon.protocol.othello.notation import START, Position, board_text, move_text, parse_board, parse_move

ENGINES = EngineSource(build_engine)


def dialogue(**settings: object) -> Dialogue:
    made = Dialogue(**settings)
    made.session = Session(made.session.settings, ENGINES)
    made.text = TextDialect(made.session, made.output)
    return made


def test_of_nearly_equal_moves_the_one_with_the_costliest_second_reply_is_played() -> None:
    others = 0
    for board in judge.positions(49, 9, (6, 7, 8)):
        if not judge.moves(*board):
            continue
        position = Position(*board, black_to_move=True)
        scores = judge.score_of_moves(board)
        for most in (2, 8):
            session = dialogue(level=16, contempt=most).session
            played = session.suggest(position, session.limits(position))
            assert played in judge.traps(board, most), (board_text(position), move_text(played), most)
            others += scores[played] < max(scores.values())
    assert others


def test_the_searches_share_the_time_of_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dialogue(contempt=64).session
    search, shares = session.search, []

    def noted(position: Position, limits: Limits, **how: Any) -> Result:
        shares.append(limits.time_ms)
        return search(position, Limits(2), **how)

    monkeypatch.setattr(session, "search", noted)
    assert contempt.choose(session, START.after(parse_move("f5")), Limits(40, time_ms=1000)) is not None
    # The best move, its two rivals, and the replies to the three.
    assert shares == [500, 250, 83, 83, 83]
    contempt.choose(session, START, Limits(40, time_ms=3))
    assert min(shares) == 1, "0 is without limit"


def test_a_search_that_ends_late_takes_from_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dialogue(contempt=64).session
    search, shares, now = session.search, [], [100.0]
    monkeypatch.setattr(contempt, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def late(position: Position, limits: Limits, **how: Any) -> Result:
        shares.append(limits.time_ms)
        now[0] += limits.time_ms / 1000 + 0.1
        return search(position, Limits(2), **how)

    monkeypatch.setattr(session, "search", late)
    contempt.choose(session, START.after(parse_move("f5")), Limits(40, time_ms=1000))
    assert shares == [500, 200, 33, 1, 1]


def test_an_only_move_and_a_position_of_the_book_are_left_to_book_and_search(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dialogue(contempt=64).session
    monkeypatch.setattr(session, "search", None)
    only = parse_board("XO" + "-" * 62 + " X")
    assert contempt.choose(session, only, Limits(2)) is None
    monkeypatch.setattr(session, "look_up", lambda position, until: "known")
    assert contempt.choose(session, START, Limits(2)) is None


class NeverLoaded(EngineSource):
    """An engine that is still being compiled when the time for the move is up."""

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        while not abandoned():
            time.sleep(0.001)
        raise Abandoned


@pytest.mark.parametrize("options", [{"contempt": 3}, {"strength": 1500}], ids=["contempt", "strength"])
@pytest.mark.parametrize("clock", [{"move_time": 200}, {"game_time": 20_000}], ids=["move", "game"])
def test_the_clock_does_not_wait_for_an_engine_that_is_being_compiled(
    options: dict[str, object], clock: dict[str, object]
) -> None:
    session = Session(dialogue(**options, **clock).session.settings, NeverLoaded(build_engine))
    assert START.moves >> session.choose()[0] & 1
    assert START.moves >> session.suggest(START, session.limits(START)) & 1


def test_the_wait_for_the_engine_is_time_of_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dialogue(contempt=3, move_time=60_000).session
    engine, given = session.engine, []
    monkeypatch.setattr(session, "engine", lambda *how: (time.sleep(0.2), engine(*how))[1])
    monkeypatch.setattr(contempt, "choose", lambda session, position, limits: given.append(limits) or parse_move("f5"))
    planned = session.limits(START).time_ms
    session.choose()
    assert given[0].time_ms <= planned - 200


def test_how_late_its_moves_come_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dialogue(contempt=3, game_time=10_000).session
    session.engine()
    planned = session.limits(START).time_ms

    def late(session: Session, position: Position, limits: Limits) -> int:
        now[0] += limits.time_ms / 1000 + 0.25
        return parse_move("f5")

    now = [100.0]
    monkeypatch.setattr(contempt, "choose", late)
    monkeypatch.setattr("desdaemon.dialogue.session.time", SimpleNamespace(perf_counter=lambda: now[0]))
    session.choose()
    assert session.overhead.worst == pytest.approx(250)
    assert session.limits(START).time_ms < planned - 200


def test_the_text_protocol_plays_its_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the clock pays for it; a move that it leaves to the search is searched."""
    answers = [parse_move("e6"), None]
    monkeypatch.setattr(contempt, "choose", lambda session, position, limits: answers.pop(0))
    talk = dialogue(level=1)
    assert "expected a whole number from 0 to 64" in talk.refused("contempt 65")
    talk.say("contempt 3")
    assert "plays E6" in talk.say("go")
    assert "plays" in talk.say("go")
    assert answers == []
