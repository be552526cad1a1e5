"""What the messages of the API mean: challenges by the rules, games by their moves, however those are written."""

from __future__ import annotations

import math
import random

import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.clients.bot.messages import BotTurn, Challenge, GameTable, Over, Rules
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import parse_move
from desdaemon.protocol.othello.rules import PASS

CHALLENGE = {
    "id": "7pGLxJ4F",
    "challenger": {"id": "ann", "name": "Ann", "title": None},
    "variant": {"key": "flipello"},
    "rated": False,
    "timeControl": {"type": "clock", "limit": 300, "increment": 3},
}
SITE_START = "8/8/8/3pP3/3Pp3/8/8/8"
"""The start of Othello as the site writes it; capitals are the discs of the side that moves first."""
BOT = {"id": "deep", "name": "Deep", "title": "BOT"}


@pytest.mark.parametrize(
    ("rules", "changes", "reason"),
    [
        (Rules(people=True), {}, ""),
        (Rules(), {}, "generic"),
        (Rules(bots=True), {}, "onlyBot"),
        (Rules(people=True), {"challenger": BOT}, "noBot"),
        (Rules(bots=True), {"challenger": BOT}, ""),
        (Rules(names=frozenset({"ann"})), {}, ""),
        (Rules(names=frozenset({"bob"})), {}, "generic"),
        (Rules(people=True), {"variant": {"key": "antiflipello"}}, "variant"),
        (Rules(people=True), {"variant": {"key": "standard"}}, "variant"),
        (Rules(people=True), {"rated": True}, "casual"),
        *((Rules(people=True), {"rated": strange}, "casual") for strange in (None, "true", 1, 0, {}, [])),
        (Rules(people=True, rated=True), {"rated": True}, ""),
        (Rules(people=True), {"timeControl": {"type": "unlimited"}}, "timeControl"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 15, "increment": 0}}, "tooFast"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 7200, "increment": 0}}, "tooSlow"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": math.nan, "increment": 0}}, "tooSlow"),
        (Rules(people=True), {"timeControl": {"type": "correspondence", "daysPerTurn": 3}}, "timeControl"),
        (Rules(people=True), {"initialFen": f"{SITE_START}[PPpp] w - - 0 1"}, ""),
        (Rules(people=True), {"initialFen": None}, ""),
        (Rules(people=True), {"initialFen": "8/8/8/3pp3/3PP3/8/8/8[PPpp] w - - 0 1"}, "variant"),
        (Rules(people=True, bots=True), {"challenger": None}, "noAnon"),
        (Rules(people=True, bots=True), {"challenger": {"id": None, "name": "Anonymous"}}, "noAnon"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 300, "increment": None, "delay": 3}}, ""),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 300, "delay": 3}}, ""),
    ],
)
def test_challenges_are_answered_by_the_rules(rules: Rules, changes: dict[str, object], reason: str) -> None:
    assert rules.refusal(Challenge.read({**CHALLENGE, **changes})) == reason


@pytest.mark.parametrize("missing", CHALLENGE)
def test_a_challenge_without_a_field_is_told(missing: str) -> None:
    with pytest.raises(BadInput):
        Challenge.read({name: value for name, value in CHALLENGE.items() if name != missing})


@pytest.mark.parametrize("name", [5, True, ["ann"], {"id": "ann"}, "ann\n", "\ud800", "x" * 33])
def test_a_challenger_whose_name_is_none_is_told(name: object) -> None:
    with pytest.raises(BadInput):
        Challenge.read({**CHALLENGE, "challenger": {"id": name, "title": None}})


def test_a_challenge_with_an_endless_clock_is_told() -> None:
    with pytest.raises(BadInput):
        Challenge.read({**CHALLENGE, "timeControl": {"type": "clock", "limit": 10**400, "increment": 0}})


def full(moves: str, *, black: str = "thebot", status: str = "started", **state: object) -> dict[str, object]:
    white = "ann" if black == "thebot" else "thebot"
    times = {"wtime": 50_000, "btime": 40_000}
    return {
        "type": "gameFull",
        "variant": {"key": "flipello"},
        "p1": {"id": black, "name": black.title()},
        "p2": {"id": white, "name": white.title()},
        "state": {"type": "gameState", "moves": moves, **times, "status": status, **state},
    }


def test_the_side_that_moves_first_is_black_with_the_first_clock() -> None:
    event = GameTable("thebot").hear(full(""))
    assert isinstance(event, BotTurn)
    assert (event.record.black, event.record.white, event.left_ms) == ("Thebot", "Ann", 50_000)
    event = GameTable("thebot").hear(full("P@f4", black="ann"))
    assert isinstance(event, BotTurn)
    assert (event.record.white, event.left_ms) == ("Thebot", 40_000)


@pytest.mark.parametrize("name", ["\ud800", "", "a/b", "a\n", "\u00e9", "a" * 33, 5, None, ["a"]])
def test_a_wrong_id_is_reported(name: object) -> None:
    with pytest.raises(BadInput):
        Challenge.read({**CHALLENGE, "id": name})


def test_a_state_without_a_status_is_of_a_game_in_play() -> None:
    assert isinstance(GameTable("thebot").hear(full("", status="")), BotTurn)


def test_moves_are_written_as_the_site_has_them() -> None:
    """Ranks are counted from below."""
    event = GameTable("thebot").hear(full("P@f4", black="ann"))
    assert isinstance(event, BotTurn)
    assert [played.move for played in event.record.moves] == [parse_move("f5")]
    assert GameTable.move_name(event.record.final, parse_move("d6")) == "P@d3"


# A game of the site (4eCFkjwt): its beginning, and Black's first passes.
PASSED = (
    "P@e3 P@f5 P@e6 P@d7 P@c6 P@d3 P@f4 P@d6 P@c5 P@b5 P@b7 P@b6 P@c7 P@a8 P@f6 P@e7 P@a7 P@b8 P@f7 P@c8 P@c3 P@a6 "
    "P@a5 P@a4 c3c3 P@d8 c3c3 P@b4 P@a3 P@a2 c3c3 P@b3"
)


def test_a_pass_is_a_move_of_its_own() -> None:
    """Until it is in the list it is the turn of the side that passes."""
    words = PASSED.split()
    for at, word in enumerate(words):
        for account, moves in (("thebot", at % 2 == 0), ("ann", at % 2 == 1)):
            event = GameTable(account).hear(full(" ".join(words[:at])))
            assert isinstance(event, BotTurn) == moves, (at, account)
        table = GameTable("thebot")
        table.hear(full(" ".join(words[:at])))
        if word == "c3c3":
            assert not table.position.moves
            assert table.move_name(table.position, PASS) == word


def test_a_game_ends_with_two_passes() -> None:
    """Both are moves: where neither side can move each still passes when it is its turn. The record has neither."""
    cells, texts, black, seed = referee.start(), [], True, 0
    while not (referee.game_over(cells) and referee.empties(cells)):
        if referee.game_over(cells):
            cells, texts, black, seed = referee.start(), [], True, seed + 1
        moves = referee.legal_moves(cells)
        square = random.Random(f"{seed} {len(texts)}").choice(moves) if moves else None
        texts.append(written(cells, square))
        cells, black = referee.passed(cells) if square is None else referee.play(cells, square), not black
    for _ in range(2):
        event = GameTable("thebot" if black else "ann").hear(full(" ".join(texts)))
        assert isinstance(event, BotTurn)
        assert not event.record.final.moves
        assert GameTable("ann" if black else "thebot").hear(full(" ".join(texts))) is None
        texts.append(written(cells, None))
        cells, black = referee.passed(cells), not black
    over = GameTable("thebot").hear(full(" ".join(texts), status="variantEnd"))
    assert isinstance(over, Over)
    assert over.record.final.over
    assert len(over.record.moves) == len(texts) - 2


def test_a_side_without_discs_has_no_turn() -> None:
    """He could not write a pass."""
    table = GameTable("ann")
    # Standard: e6 f4 e3 f6 g5 d6 e7 f5 c5.
    assert table.hear(full("P@e3 P@f5 P@e6 P@f3 P@g4 P@d3 P@e2 P@f4 P@c4")) is None
    assert (table.position.player, table.position.black_to_move) == (0, False)


def written(cells: list[list[int]], square: int | None) -> str:
    """A move, or a pass, as the site writes it."""
    if square is None:
        own = min(at ^ 56 for at in range(64) if cells[at // 8][at % 8] == referee.MINE)
        return referee.name(own).lower() * 2
    return f"P@{referee.name(square ^ 56).lower()}"


@given(st.integers(0, 10_000))
def test_recorded_games_are_followed_to_their_end(seed: int) -> None:
    cells, choices, texts, played = referee.start(), random.Random(seed), [], []
    while not referee.game_over(cells):
        moves = referee.legal_moves(cells)
        square = choices.choice(moves) if moves else None
        played.append(PASS if square is None else square)
        texts.append(written(cells, square))
        cells = referee.passed(cells) if square is None else referee.play(cells, square)
    event = GameTable("thebot").hear(full(" ".join(texts), status="variantEnd", winner="p2"))
    assert isinstance(event, Over)
    assert [one.move for one in event.record.moves] == played
    assert event.record.final.over
    assert event.winner == "white"


def test_chat_and_strange_messages_change_nothing() -> None:
    table = GameTable("thebot")
    assert table.hear({"type": "gameState", "moves": "zz"}) is None
    assert isinstance(table.hear(full("")), BotTurn)
    assert table.hear({"type": "chatLine", "username": "ann", "text": "resign; rm -rf ~", "room": "player"}) is None
    assert table.hear({}) is None
    assert table.hear({"type": "opponentGone", "gone": True, "claimWinInSeconds": 8}) is None


def state(moves: str) -> dict[str, object]:
    return {"type": "gameState", "moves": moves, "wtime": 1, "btime": 1, "status": "started"}


def test_an_old_state_does_not_give_the_bot_a_turn() -> None:
    """As when a draw is offered while it thinks. A new stream may show that the site has lost the move."""
    table = GameTable("thebot")
    assert isinstance(table.hear(full("P@f4 P@d3")), BotTurn)
    assert isinstance(table.hear(state("P@f4 P@d3")), BotTurn)
    table.moved()
    assert table.hear(state("P@f4 P@d3")) is None
    assert table.hear(state("P@f4 P@d3 P@c4")) is None
    assert isinstance(table.hear(full("P@f4 P@d3")), BotTurn)
    table.moved()
    assert isinstance(table.hear(state("P@f4 P@d3 P@c4 P@f3")), BotTurn)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.data(), VALUES)
def test_strange_values_are_reported(data: st.DataObject, value: object) -> None:
    """Whatever stands in one field, at any depth, a message is understood or `BadInput`."""
    for message, read in (
        ({**CHALLENGE, "initialFen": ""}, Challenge.read),
        (full("P@f4 P@d3"), GameTable("thebot").hear),
    ):
        fields: dict[str, object] = {**message, "clock": {"initial": 1, "increment": 0}, "initialFen": "startpos"}
        inside = data.draw(st.sampled_from([name for name, one in fields.items() if isinstance(one, dict)]))
        for name in (data.draw(st.sampled_from(sorted(fields))), inside):
            old = fields[name]
            fields[name] = {**old, data.draw(st.sampled_from(sorted(old))): value} if isinstance(old, dict) else value
        try:
            read(fields)
        except BadInput:
            continue


@pytest.mark.parametrize(
    "message",
    [
        full("P@a1"),
        full("P@f4 nonsense"),
        full("f4"),
        full("P@f4 P@d3 " + "c3c3 " * 200),
        full("x " * 500_000),
        full("P@f5"),
        full("P@f4 c3c3"),
        {**full(""), "white": {"id": "thebot"}, "black": {"id": "ann"}, "p1": None, "p2": None},
        {**full(""), "variant": {"key": "antiflipello"}},
        {**full(""), "initialFen": "8/8/8/3pp3/3PP3/8/8/8[PPpp] w - - 0 1"},
        {**full(""), "p1": {"id": "bob"}, "p2": {"id": "ann"}},
        {**full(""), "state": None},
        full("", wtime="soon"),
        full("", wtime=10**400),
    ],
)
def test_a_game_that_cannot_be_followed_is_told(message: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        GameTable("thebot").hear(message)


def test_words_of_the_site_are_cut() -> None:
    """They are shown, and stand in files of games."""
    over_long = {**state(""), "status": "y" * 10**6}
    long = {**full(""), "p2": {"id": "ann", "name": "x" * 10**6}, "state": over_long}
    over = GameTable("thebot").hear(long)
    assert isinstance(over, Over)
    assert {len(over.record.white), len(over.status)} == {100}


def test_a_game_without_a_clock_and_a_status_with_its_number_are_followed() -> None:
    turn = GameTable("thebot").hear(full("", wtime=None, btime=None))
    assert isinstance(turn, BotTurn)
    assert turn.left_ms == 0
    message: dict[str, object] = full("")
    message["state"] = {"moves": "", "wtime": 1, "btime": 1, "status": {"id": 20, "name": "started"}}
    assert isinstance(GameTable("thebot").hear(message), BotTurn)
