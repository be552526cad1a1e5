"""What the messages of the API mean: challenges by the rules, games by their moves, however those are written."""

from __future__ import annotations

import random

import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.clients.bot.messages import BotTurn, Challenge, GameTable, Over, Rules
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, parse_move

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
        (Rules(people=True, rated=True), {"rated": True}, ""),
        (Rules(people=True), {"timeControl": {"type": "unlimited"}}, "timeControl"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 15, "increment": 0}}, "tooFast"),
        (Rules(people=True), {"timeControl": {"type": "clock", "limit": 7200, "increment": 0}}, "tooSlow"),
        (Rules(people=True), {"timeControl": {"type": "correspondence", "daysPerTurn": 3}}, "timeControl"),
        (Rules(people=True), {"initialFen": f"{SITE_START}[PPpp] w - - 0 1"}, ""),
        (Rules(people=True), {"initialFen": None}, ""),
        (Rules(people=True), {"initialFen": "8/8/8/3pp3/3PP3/8/8/8[PPpp] w - - 0 1"}, "variant"),
    ],
)
def test_challenges_are_answered_by_the_rules(rules: Rules, changes: dict[str, object], reason: str) -> None:
    assert rules.refusal(Challenge.read({**CHALLENGE, **changes})) == reason


@pytest.mark.parametrize("missing", CHALLENGE)
def test_a_challenge_without_a_field_is_told(missing: str) -> None:
    with pytest.raises(BadInput):
        Challenge.read({name: value for name, value in CHALLENGE.items() if name != missing})


def test_a_challenge_with_an_endless_clock_is_told() -> None:
    with pytest.raises(BadInput):
        Challenge.read({**CHALLENGE, "timeControl": {"type": "clock", "limit": 10**400, "increment": 0}})


def full(moves: str, *, black: str = "thebot", status: str = "started", **state: object) -> dict[str, object]:
    white = "ann" if black == "thebot" else "thebot"
    times = {"wtime": 50_000, "btime": 40_000}
    return {
        "type": "gameFull",
        "variant": {"key": "flipello"},
        "white": {"id": black, "name": black.title()},
        "black": {"id": white, "name": white.title()},
        "state": {"type": "gameState", "moves": moves, **times, "status": status, **state},
    }


def test_the_side_that_moves_first_is_black_with_the_first_clock() -> None:
    event = GameTable("thebot").hear(full(""))
    assert isinstance(event, BotTurn)
    assert (event.record.black, event.record.white, event.left_ms) == ("Thebot", "Ann", 50_000)
    event = GameTable("thebot").hear(full("P@f4", black="ann"))
    assert isinstance(event, BotTurn)
    assert (event.record.white, event.left_ms) == ("Thebot", 40_000)


@pytest.mark.parametrize(
    ("moves", "first"), [("P@f4", "f5"), ("f4", "f5"), ("P@f5", "f5"), ("f5", "f5"), ("P@d6", "d3"), ("e6", "e6")]
)
def test_ranks_are_counted_as_the_first_move_shows(moves: str, first: str) -> None:
    event = GameTable("thebot").hear(full(moves, black="ann"))
    assert isinstance(event, BotTurn)
    assert [played.move for played in event.record.moves] == [parse_move(first)]


def test_moves_are_written_as_the_game_has_them() -> None:
    for moves, reply in [("P@f4", "P@d3"), ("f5", "d6"), ("P@f5", "P@d6")]:
        table = GameTable("thebot")
        event = table.hear(full(moves, black="ann"))
        assert isinstance(event, BotTurn)
        assert table.move_name(event.record.final, parse_move("d6")) == reply


def test_a_refused_first_move_is_written_the_other_way_once() -> None:
    table = GameTable("thebot")
    table.hear(full(""))
    assert table.move_name(START, parse_move("f5")) == "P@f4"
    assert table.other_ranks()
    assert table.move_name(START, parse_move("f5")) == "P@f5"
    table.hear({"type": "gameState", "moves": "P@f5 P@d6", "wtime": 1, "btime": 1, "status": "started"})
    assert not table.other_ranks()


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans())
def test_whole_games_are_followed(seed: int, below: bool, prefixed: bool, passes: bool) -> None:
    """With passes as the site writes them, or left out."""
    cells, choices, texts, squares = referee.start(), random.Random(seed), [], []
    while not referee.game_over(cells):
        moves = referee.legal_moves(cells)
        if moves:
            square = choices.choice(moves)
            squares.append(square)
            shown = referee.name(square ^ 56 if below else square).lower()
            texts.append(f"P@{shown}" if prefixed else shown)
            cells = referee.play(cells, square)
        else:
            own = min(at ^ 56 if below else at for at in range(64) if cells[at // 8][at % 8] == referee.MINE)
            texts += [referee.name(own).lower() * 2] if passes else []
            cells = referee.passed(cells)
    event = GameTable("thebot").hear(full(" ".join(texts), status="variantEnd", winner="p2"))
    assert isinstance(event, Over)
    assert [played.move for played in event.record.moves if played.move < 64] == squares
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


def test_a_state_from_before_the_bot_s_move_is_no_turn() -> None:
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


@given(st.integers(0, 10_000))
def test_where_passes_are_left_out_the_bot_moves_again(seed: int) -> None:
    """Whenever a side has a move after its own because the other has none."""
    cells, black, choices, texts = referee.start(), True, random.Random(seed), []
    while not referee.game_over(cells):
        moves = referee.legal_moves(cells)
        if not moves:
            cells, black = referee.passed(cells), not black
            event = GameTable("thebot").hear(full(" ".join(texts), black="thebot" if black else "ann"))
            assert isinstance(event, BotTurn)
            assert event.record.final.black_to_move == black
            assert event.record.final.moves
            continue
        square = choices.choice(moves)
        texts.append(f"P@{referee.name(square ^ 56).lower()}")
        cells, black = referee.play(cells, square), not black


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.data(), VALUES)
def test_strange_values_are_told(data: st.DataObject, value: object) -> None:
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
        {**full(""), "variant": {"key": "antiflipello"}},
        {**full(""), "initialFen": "8/8/8/3pp3/3PP3/8/8/8[PPpp] w - - 0 1"},
        {**full(""), "white": {"id": "bob"}, "black": {"id": "ann"}},
        {**full(""), "state": None},
        full("", wtime="soon"),
        full("", wtime=10**400),
    ],
)
def test_a_game_that_cannot_be_followed_is_told(message: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        GameTable("thebot").hear(message)
