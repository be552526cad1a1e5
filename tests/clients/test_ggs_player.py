"""What a player on the Generic Game Server does: the state machine, with events in any order."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from ggs_blocks import mutated
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.clients.ggs import lines as ggs
from desdaemon.clients.ggs.player import (
    AcceptRules,
    Answer,
    Connect,
    End,
    Instruction,
    Player,
    Save,
    Send,
    Show,
    StartSearch,
    StopSearch,
    Wishes,
)
from desdaemon.protocol.othello.notation import START, Position, parse_board, parse_move

ANY = AcceptRules(("8*", "s8*"))
NAMES = ("alice", "bob")
WELCOME = ggs.Words("welcome")
SINGLE, PAIR = ggs.parse_type("8"), ggs.parse_type("s8r14")
PASSING = parse_board("XO" + "-" * 62 + " O")
"""White has no move, Black has one."""


def online(rules: AcceptRules = ANY, wishes: Wishes | None = None) -> Player:
    """A player named alice who has logged in, at time 0."""
    player = Player("alice", "secret", rules, wishes or Wishes())
    player.connected(0)
    player.told(ggs.Prompt("login"), 0)
    player.told(ggs.Prompt("password"), 0)
    player.told(WELCOME, 0)
    player.told(ggs.Ready(), 0)
    return player


def sent(instructions: list[Instruction]) -> list[str]:
    return [instruction.line for instruction in instructions if isinstance(instruction, Send)]


def request(**changes: Any) -> ggs.Request:
    asked = ggs.Request(".8", True, "bob", "alice", ggs.ServerClock(60_000, 0, 120_000), SINGLE, False)
    return asked._replace(**changes)


def match(begins: bool = True, **changes: Any) -> ggs.ServerMatch:
    return ggs.ServerMatch(".5", begins, NAMES, SINGLE)._replace(**changes)


def board(
    position: Position = START, left: float = 60_000, id: str = ".5", black: str = "alice", **changes: Any
) -> Any:
    clock = ggs.ServerClock(left, 2_000, 120_000)
    first, second = (ggs.Side(name, name == black, clock) for name in NAMES)
    return ggs.ServerBoard(id, False, SINGLE, (first, second), position)._replace(**changes)


def test_a_login_sends_name_and_password() -> None:
    player = Player("alice", "secret", ANY, Wishes())
    player.connected(0)
    assert player.told(ggs.Ready(), 0) == []
    assert player.told(ggs.Prompt("login"), 0) == [Send("alice")]
    assert player.told(ggs.Prompt("password"), 0) == [Send("secret", secret=True)]
    assert player.told(ggs.Ready(), 0) == [], "it may belong to the prompt"
    player.told(WELCOME, 0)
    lines = sent(player.told(ggs.Ready(), 0))
    assert lines[: len(ggs.SET_UP)] == list(ggs.SET_UP)
    assert lines[-1] == "tell /os open 1"
    assert "tell /os rated -" in lines


@pytest.mark.parametrize("prompt", ["login", "password"])
def test_the_password_is_sent_once(prompt: str) -> None:
    for player in (online(), Player("alice", "secret", ANY, Wishes())):
        player.connected(0)
        player.told(ggs.Prompt("password"), 0)
        assert [type(found) for found in player.told(ggs.Prompt(prompt), 0)][-1] in (End, Connect)


def test_until_the_first_login_a_failure_ends_the_program_and_later_it_calls_again() -> None:
    def entering(player: Player, now: float) -> Player:
        player.connected(now)
        player.told(ggs.Prompt("login"), now)
        player.told(ggs.Prompt("password"), now)
        return player

    def wrong() -> Player:
        player = entering(Player("alice", "wrong", ANY, Wishes()), 0)
        player.told(ggs.Words("go away,\n|alice"), 0)
        return player

    for found in (wrong().lost("gone"), wrong().told(ggs.Prompt("login"), 0), wrong().told(ggs.Prompt("password"), 0)):
        (ended,) = found
        assert isinstance(ended, End)
        assert "alice is in use" in ended.reason
        assert ended.reason.endswith('it said "go away, |alice"')
    player = entering(Player("alice", "secret", ANY, Wishes()), 0)
    player.told(WELCOME, 0)
    player.told(ggs.Ready(), 0)
    assert player.lost("gone")[-1] == Connect(1)
    assert entering(player, 5).lost("gone")[-1] == Connect(2), "the server may think that the login is in use"
    assert entering(player, 9).told(ggs.Prompt("login"), 9)[-1] == Connect(4)


def test_a_long_greeting_of_the_server_is_cut() -> None:
    player = Player("alice", "wrong", ANY, Wishes())
    player.connected(0)
    player.told(ggs.Prompt("password"), 0)
    for _ in range(100):
        player.told(ggs.Words("go away " * 100), 0)
    (ended,) = player.lost("gone")
    assert isinstance(ended, End)
    assert len(ended.reason) < 700


@pytest.mark.parametrize("prompts", [0, 1, 2, 3])
def test_a_server_that_does_not_let_us_in_is_given_up_after_a_minute(prompts: int) -> None:
    messages = (ggs.Prompt("login"), ggs.Prompt("password"), WELCOME)[:prompts]
    back = online()
    back.lost("gone")
    for player, kind in ((Player("alice", "secret", ANY, Wishes()), End), (back, Connect)):
        player.connected(100)
        for message in messages:
            player.told(message, 130)
        limit = 190 if prompts > 1 else 160
        assert player.tick(limit - 1) == []
        found = player.tick(limit)
        assert isinstance(found[-1], kind)
        assert "for 60 s" in str(found)
        assert player.tick(limit + 1_000) == []


def test_the_first_call_fails_at_once_and_later_ones_wait_longer_and_longer() -> None:
    player = Player("alice", "secret", ANY, Wishes())
    assert player.lost("refused") == [End("refused")]
    player = online()
    pauses = [player.lost("gone")[-1] for _ in range(12)]
    assert pauses[:4] == [Connect(1), Connect(2), Connect(4), Connect(8)]
    assert pauses[-1] == Connect(300)


@pytest.mark.parametrize(
    ("asked", "rules", "answer"),
    [
        (request(), ANY, "accept"),
        (request(), AcceptRules(), None),
        (request(opponent=""), ANY, "accept"),
        (request(opponent="carol"), ANY, None),
        (request(challenger="alice"), ANY, None),
        (request(open=False), ANY, None),
        (request(rated=True), ANY, "decline"),
        (request(rated=True), ANY._replace(rated=True), "accept"),
        (request(challenger="Bob"), ANY._replace(opponents=("bob",)), "accept"),
        (request(), ANY._replace(opponents=("carol",)), "decline"),
        (request(opponent=""), ANY._replace(opponents=("carol",)), None),
        (request(clock=ggs.ServerClock(59_000)), ANY, "decline"),
        (request(clock=ggs.ServerClock(1_801_000)), ANY, "decline"),
        (request(type=ggs.parse_type("8b")), AcceptRules(("8",)), "accept"),
        (request(type=PAIR), AcceptRules(("8",)), "decline"),
        (request(type=PAIR), AcceptRules(("8", "s8r1[0-9]")), "accept"),
        (request(type=ggs.parse_type("8k")), AcceptRules(("*",)), "decline"),
        (request(type=ggs.parse_type("8a")), AcceptRules(("*",)), "decline"),
        (request(type=ggs.parse_type("10")), AcceptRules(("*",)), "decline"),
    ],
)
def test_requests_are_accepted_within_the_rules(asked: ggs.Request, rules: AcceptRules, answer: str | None) -> None:
    assert sent(online(rules).told(asked, 0)) == ([f"tell /os {answer} .8"] if answer else [])


def test_only_one_match_is_played_at_a_time() -> None:
    player = online()
    assert sent(player.told(request(), 0)) == ["tell /os accept .8"]
    assert sent(player.told(request(id=".9"), 1)) == ["tell /os decline .9"]
    assert sent(player.told(match(), 2)) == ["tell /os open 0"]
    assert sent(player.told(request(id=".10"), 3)) == ["tell /os decline .10"]
    assert sent(player.told(match(False, result=2.0), 4)) == ["tell /os open 1"]
    assert sent(player.told(request(id=".11"), 5)) == ["tell /os accept .11"]


def test_a_match_that_does_not_begin_is_waited_for_a_minute() -> None:
    player = online()
    player.told(request(), 0)
    assert sent(player.told(request(id=".9"), 59)) == ["tell /os decline .9"]
    assert sent(player.told(request(id=".10"), 61)) == ["tell /os accept .10"]


def test_offers_are_made_again() -> None:
    player = Player("alice", "secret", AcceptRules(), Wishes(offer="8 5:00 bob"))
    player.connected(0)
    player.told(ggs.Prompt("password"), 0)
    player.told(WELCOME, 0)
    ask = "tell /os ask 8 5:00 bob"
    assert sent(player.told(ggs.Ready(), 0))[-1] == ask
    assert sent(player.tick(59)) == []
    assert sent(player.tick(60))[:2] == ["tell /os rated -", ask]
    player.told(match(), 70)
    assert ask not in sent(player.tick(1000))
    assert sent(player.told(match(False, result=0.0), 1001))[-1] == ask


def test_a_service_that_is_there_at_the_login_is_asked_once() -> None:
    player = online(AcceptRules(), Wishes(offer="8 5:00"))
    assert "tell /os ask 8 5:00" not in sent(player.told(ggs.Service(True), 1))
    player.told(ggs.Service(False), 2)
    assert sent(player.told(ggs.Service(True), 3))[-1] == "tell /os ask 8 5:00"


def test_the_connection_is_kept_alive() -> None:
    player = online()
    assert [len(sent(player.tick(now))) for now in (30, 60, 90, 119, 120)] == [0, 1, 0, 0, 1]


def test_moves_are_searched_and_played_with_evaluation_and_time() -> None:
    player = online()
    player.told(match(), 0)
    clock = ggs.ServerClock(60_000, 2_000, 120_000)
    assert player.told(board(), 0)[1:] == [StartSearch(".5", "", START, clock)]
    assert player.told(board(), 1)[1:] == [], "the same board again is searched already"
    answer = Answer(".5", START, parse_move("f5"), 1.5, 3.25)
    assert player.found(answer) == [Send("tell /os play .5 f5/1.50/3.25")]
    assert player.found(answer) == []
    assert player.told(board(START.after(parse_move("f5"))), 5)[1:] == []


def test_searches_are_shown_when_wanted() -> None:
    player = online(wishes=Wishes(tell=True))
    player.told(board(), 0)
    assert sent(player.found(Answer(".5", START, parse_move("f5"), 1.5, 3.25, "f5 +1.5 20")))[1] == "tell .5 f5 +1.5 20"


def test_a_board_that_changes_under_a_search_stops_it() -> None:
    player = online()
    player.told(board(), 0)
    other = START.after(parse_move("f5")).after(parse_move("d6"))
    found = player.told(board(other), 1)[1:]
    assert [type(instruction) for instruction in found] == [StopSearch, StartSearch]
    assert player.found(Answer(".5", START, parse_move("f5"), 0, 1)) == []


def test_both_boards_of_a_pair_are_searched() -> None:
    player = online()
    first, second = board(id=".5.0"), board(id=".5.1", black="bob")
    assert [instruction for message in (first, second) for instruction in player.told(message, 0)[1:]] == [
        StartSearch(".5.0", "0", START, first.sides[0].clock)
    ]
    after = START.after(parse_move("f5"))
    (searched,) = player.told(board(after, id=".5.1", black="bob"), 1)[1:]
    assert isinstance(searched, StartSearch)
    assert searched.board == "1"
    ended = player.told(match(False, type=PAIR, result=-2.0), 2)
    assert {instruction.game for instruction in ended if isinstance(instruction, StopSearch)} == {".5.0", ".5.1"}


def test_a_forced_pass_is_played_at_once_with_the_last_evaluation() -> None:
    player = online()
    assert sent(player.told(board(PASSING, black="bob"), 0)) == ["tell /os play .5 pa/0.00/0.00"]


def test_games_of_others_are_shown_alone() -> None:
    player = Player("carol", "secret", ANY, Wishes())
    assert player.told(board(), 0) == [Show(".5 alice 01:00, bob 01:00")]
    assert player.told(match(), 0) == []


@pytest.mark.parametrize(("names", "shown"), [(("alice", "bob"), "-64"), (("bob", "alice"), "+64")])
def test_the_result_belongs_to_the_first_named(names: tuple[str, str], shown: str) -> None:
    player = online()
    player.told(match(names=names), 0)
    (text,) = (i.text for i in player.told(match(False, names=names, result=-64.0), 1) if isinstance(i, Show))
    assert text.endswith(f"bob: {shown}")


@pytest.mark.parametrize(
    ("clocks", "told"),
    [
        ((5_000, 4_000, 6_900, 124_000), 3),
        ((5_000, 4_000, 6_900, 124_000, 123_000, 245_000), 3),
        ((5_000, 0, 0, 0), 1),
        ((5_000, 0, 120_000), 1),
        ((5_000, -1_000), 1),
        ((0, 2_000), None),
    ],
)
def test_a_clock_that_rises_or_stands_at_zero_tells_once_of_a_time_out(
    clocks: tuple[float, ...], told: int | None
) -> None:
    player = online()
    found = [player.told(board(left=left), 0) for left in clocks]
    late = [
        (place, i.text.split()[1])
        for place, instructions in enumerate(found)
        for i in instructions
        if isinstance(i, Show) and i.ours
    ]
    assert late == ([] if told is None else [(told, "alice"), (told, "bob")])


@pytest.mark.parametrize("kind", ["boards", "matches"])
def test_of_any_number_of_own_boards_the_newest_are_played(kind: str) -> None:
    """A server may begin as many as it likes: each is a search."""
    player, searching, shown = online(), set[str](), 0
    for number in range(300):
        message = board(id=f".{number}") if kind == "boards" else match(id=f".{number}")
        for instruction in player.told(message, 0):
            searching |= {instruction.game} if isinstance(instruction, StartSearch) else set()
            searching -= {instruction.game} if isinstance(instruction, StopSearch) else set()
            shown += isinstance(instruction, Show)
    assert shown == 300
    assert (len(player._games), len(player._matches)) == ((16, 0) if kind == "boards" else (0, 16))
    assert searching == ({f".{number}" for number in range(284, 300)} if kind == "boards" else set())


def test_an_opponent_whose_name_changes_fills_no_memory() -> None:
    player = online()
    for number in range(100):
        sides = board().sides
        player.told(board(sides=(sides[0], sides[1]._replace(name=f"bob{number}"))), 0)
    assert len(player._games[".5"].clocks) == 2


def test_records_are_asked_for_and_saved() -> None:
    player = online(wishes=Wishes(records=True, matches=1))
    player.told(match(), 0)
    assert sent(player.told(match(False, result=2.0, archive=".99"), 1)) == ["tell /os look .99"]
    assert player.told(ggs.Records(("(;1;)", "(;2;)")), 2) == [Save("(;1;)"), Save("(;2;)"), End()]


def test_no_record_of_a_match_without_a_result_is_asked_for() -> None:
    player = online(wishes=Wishes(records=True))
    player.told(match(), 0)
    assert not [line for line in sent(player.told(match(False, archive=".99"), 1)) if "look" in line]


def test_records_that_nobody_asked_for_are_shown_only() -> None:
    assert online().told(ggs.Records(("(;1;)",)), 2) == [Show("(;1;)")]


def test_a_record_that_a_lost_connection_has_taken_is_awaited_no_longer() -> None:
    player = online(wishes=Wishes(records=True))
    player.told(match(), 0)
    player.told(match(False, result=2.0, archive=".99"), 1)
    player.lost("gone")
    assert player.told(ggs.Records(("(;1;)",)), 9) == [Show("(;1;)")]


def test_a_connection_lost_after_the_last_match_ends_the_program() -> None:
    player = online(wishes=Wishes(records=True, matches=1))
    player.told(match(), 0)
    player.told(match(False, result=2.0, archive=".99"), 1)
    assert player.lost("gone") == [End()]


def test_a_record_that_does_not_come_is_waited_for_a_minute() -> None:
    player = online(wishes=Wishes(records=True, matches=1))
    player.told(match(), 0)
    player.told(match(False, result=2.0, archive=".99"), 1)
    assert End() not in player.tick(60)
    assert player.tick(61) == [End()]


def test_the_program_ends_after_its_matches_and_not_after_broken_ones() -> None:
    player = online(wishes=Wishes(matches=2))
    results = (2.0, None, 4.0)
    ended = []
    for result in results:
        player.told(match(), 0)
        ended.append(End() in player.told(match(False, result=result), 1))
    assert ended == [False, False, True]


def test_a_match_that_never_began_is_not_counted() -> None:
    player = online(wishes=Wishes(matches=1, records=True))
    player.told(match(id=".4"), 0)
    assert player.told(match(False, result=2.0, archive=".99"), 1) == [Show("match .5 with bob: +2")]
    assert sent(player.told(match(False, id=".4", result=2.0), 2)) == []
    assert End() in player.tick(2)


def test_a_match_begins_with_its_first_board_where_nothing_else_tells() -> None:
    player = online(wishes=Wishes(matches=1))
    assert sent(player.told(board(id=".5.0", joined=True), 0)) == ["tell /os open 0"]
    assert sent(player.told(board(id=".5.1", joined=True, black="bob"), 0)) == []
    assert sent(player.told(match(), 0)) == []
    assert sent(player.told(request(), 1)) == ["tell /os decline .8"]
    assert End() in player.told(match(False, result=2.0), 2)


@pytest.mark.parametrize("ended", [".5.0", ".5"])
def test_the_end_of_a_board_ends_its_search_and_not_that_of_the_other(ended: str) -> None:
    player = online()
    player.told(match(), 0)
    boards = (".5.0", ".5.1") if ended == ".5.0" else (".5",)
    for id in boards:
        player.told(board(id=id), 0)
    text = f"/os: end {ended} ( alice vs. bob ) +2.00"
    assert player.told(ggs.BoardEnd(ended, text), 1) == [Show(text), StopSearch(ended)]
    assert player.found(Answer(ended, START, parse_move("f5"), 0, 1)) == []
    assert player.told(ggs.BoardEnd(ended, text), 1) == []
    assert player.told(ggs.BoardEnd(".6.0", text), 1) == []
    if len(boards) > 1:
        assert sent(player.found(Answer(".5.1", START, parse_move("f5"), 0, 1)))


def test_adjourned_matches_are_asked_for_when_wanted() -> None:
    stored = ggs.Stored(tuple(f".{number}" for number in range(50)), "/os: stored 50")
    assert online().told(stored, 0) == [Show(stored.text)]
    player = Player("alice", "secret", AcceptRules(), Wishes("8 5:00", resume=True))
    player.connected(0)
    player.told(ggs.Prompt("password"), 0)
    player.told(WELCOME, 0)
    assert sent(player.told(ggs.Ready(), 0))[-4:] == [
        "tell /os open 1",
        "tell /os stored",
        "tell /os rated -",
        "tell /os ask 8 5:00",
    ]
    assert sent(player.told(stored, 1)) == [f"tell /os ask .{number}" for number in range(10)]
    assert "tell /os stored" not in sent(player.tick(59))
    assert "tell /os stored" in sent(player.tick(60))
    player.told(match(), 70)
    assert player.told(stored, 71) == [Show(stored.text)]
    assert "tell /os stored" not in sent(player.tick(1_000))


def test_a_lost_connection_stops_searches_and_adjourned_matches_wait_for_people() -> None:
    player = online()
    player.told(match(), 0)
    player.told(board(), 0)
    found = player.lost("gone")
    assert found[0] == StopSearch(".5")
    player.connected(9)
    player.told(ggs.Prompt("password"), 9)
    player.told(WELCOME, 9)
    lines = sent(player.told(ggs.Ready(), 9))
    assert not [line for line in lines if "continue" in line]
    assert lines[-1] == "tell /os open 1"


def test_a_service_that_goes_and_comes_is_joined_again() -> None:
    player = online()
    player.told(match(), 0)
    player.told(board(), 0)
    assert player.told(ggs.Service(False), 1)[0] == StopSearch(".5")
    assert sent(player.told(ggs.Service(True), 2))[-1] == "tell /os open 1"


def test_lines_of_the_user_are_sent_once_online() -> None:
    assert sent(online().typed("tell /os who", 0)) == ["tell /os who"]
    assert online().typed("quit", 0) == [Send("quit"), End()]
    begun = Player("alice", "secret", ANY, Wishes())
    begun.connected(0)
    assert sent(begun.typed("tell /os who", 0)) == []


# Events in any order

POSITIONS = (START, START.after(parse_move("f5")), START.after(parse_move("f5")).after(parse_move("d6")), PASSING)
ids = st.sampled_from([".5", ".5.0", ".5.1", ".6"])
names = st.sampled_from(["alice", "bob", "carol"])
evil = st.sampled_from(["tell /os resign .5", "quit", "alice: tell /os abort .5", "(;1;)"])
players = st.sampled_from([("alice", "bob"), ("bob", "alice"), ("bob", "carol")])
kinds = st.sampled_from([SINGLE, PAIR, ggs.parse_type("8k")])
messages = st.one_of(
    st.builds(ggs.Prompt, st.sampled_from(["login", "password"])),
    st.just(ggs.Ready()),
    st.builds(ggs.Service, st.booleans()),
    st.builds(ggs.Words, evil),
    st.builds(ggs.Complaint, evil),
    st.builds(lambda text: ggs.Records((text,)), evil),
    st.builds(
        lambda id, open, by, to, type: request(id=id, open=open, challenger=by, opponent=to, type=type),
        ids,
        st.booleans(),
        names,
        names,
        kinds,
    ),
    st.builds(
        lambda begins, id, names, result: match(begins, id=id, names=names, result=result, archive=".9"),
        st.booleans(),
        st.sampled_from([".5", ".6"]),
        players,
        st.sampled_from([None, 2.0]),
    ),
    st.builds(
        lambda id, position, left, black, joined: board(position, left, id, black, joined=joined),
        ids,
        st.sampled_from(POSITIONS),
        st.sampled_from([-5.0, 1000.0, 60_000.0]),
        st.sampled_from(["alice", "bob"]),
        st.booleans(),
    ),
    st.builds(lambda id: ggs.BoardEnd(id, f"/os: end {id}"), ids),
    st.builds(lambda numbers: ggs.Stored(tuple(numbers), "/os: stored"), st.lists(ids, max_size=20)),
)
events = st.one_of(
    st.tuples(st.just("told"), messages),
    st.tuples(st.just("told"), messages),
    st.tuples(st.sampled_from(["connected", "lost", "tick", "found", "wrong"]), st.integers(0, 3)),
)
LINE = re.compile(
    r"alice|secret|vt100 -|bell .*|verbose .*|chann %|tell /os (trust \+|rated -|request \+|client -|open [01])"
    r"|tell /os (accept|decline|look|ask) [.\d]+|tell /os ask 8 5:00|tell /os stored"
    r"|tell /os play [.\d]+ (f5|pa)/[-\d.]+/[\d.]+"
    r"|tell [.\d]+ told"
)


@given(st.lists(events, max_size=60), st.booleans())
def test_events_may_come_in_any_order(happened: list[tuple[str, Any]], offering: bool) -> None:
    wishes = Wishes("8 5:00" if offering else "", tell=True, records=True, resume=offering)
    player = Player("alice", "secret", ANY, wishes)
    searches: dict[str, StartSearch] = {}
    passwords, open_ = 1, True
    for now, (kind, what) in enumerate(happened):
        if kind == "told":
            # A closed connection says nothing more.
            found = player.told(what, now) if open_ else []
        elif kind == "connected":
            found, passwords, open_ = player.connected(now), 1, True
        elif kind == "lost":
            found, open_ = player.lost("gone"), False
        elif kind == "tick":
            found = player.tick(40 * now)
        else:
            search = next(iter(searches.values()), StartSearch(".7", "", START, ggs.ServerClock(0)))
            position = search.position if kind == "found" else PASSING
            found = player.found(Answer(search.game, position, parse_move("f5"), 1.0, 1.0, "told"))
            if kind == "found":
                assert bool(sent(found)) == (search.game in searches)
                searches.pop(search.game, None)
            else:
                assert found == []
        for instruction in found:
            if isinstance(instruction, Send):
                assert LINE.fullmatch(instruction.line), instruction.line
                passwords -= instruction.secret
                assert passwords >= 0
            elif isinstance(instruction, StartSearch):
                assert instruction.game not in searches
                assert instruction.position.moves
                searches[instruction.game] = instruction
            elif isinstance(instruction, StopSearch):
                del searches[instruction.game]
            elif isinstance(instruction, Save):
                assert kind == "told"
            elif isinstance(instruction, Connect | End):
                open_ = False


def test_damaged_blocks_do_no_harm() -> None:
    choices = random.Random(3)
    for _ in range(1_000):
        player = online(wishes=Wishes("8 5:00", records=True))
        blocks = ggs.BlockReader()
        for now in range(3):
            for block in blocks.feed(mutated(choices)):
                assert all(LINE.fullmatch(line) for line in sent(player.told(ggs.read(block), now)))


@pytest.mark.parametrize("type", [ggs.GameType(size=10), ggs.GameType(anti=True), ggs.GameType(komi=True)])
def test_a_match_of_another_game_is_told_and_left_to_the_user(type: ggs.GameType) -> None:
    player = online()
    told = player.told(match(type=type), 0)
    assert sent(told) == ["tell /os open 0"]
    assert any(isinstance(each, Show) and each.ours and "does not play" in each.text for each in told)
    assert not any(isinstance(each, StartSearch) for each in player.told(board(type=type), 1))
    assert sent(player.told(match(False, type=type), 2)) == ["tell /os open 1"]
