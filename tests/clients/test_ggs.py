"""Blocks of the Generic Game Server: what they say, cut anywhere, damaged anyhow."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ggs_blocks import JOINED, SAMPLES, UPDATE, mutated
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.clients.ggs import lines as ggs
from desdaemon.protocol.othello.notation import START, board_text, move_text, parse_board, parse_move
from desdaemon.protocol.othello.rules import PASS


def messages(data: bytes, cuts: list[int] | None = None) -> list[ggs.Message]:
    """What a stream says, given in pieces that end at the cuts."""
    blocks = ggs.BlockReader()
    ends = sorted({min(cut, len(data)) for cut in cuts or []} | {len(data)})
    pieces = [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return [ggs.read(block) for piece in pieces for block in blocks.feed(piece)]


def only(text: str) -> Any:
    """The one message of a block."""
    found = [message for message in messages(text.encode()) if message != ggs.Ready()]
    assert len(found) == 1
    return found[0]


def test_the_login_is_read() -> None:
    assert [only(text) for text in SAMPLES[:4]] == [
        ggs.Prompt("login"),
        ggs.Prompt("password"),
        ggs.Service(True),
        ggs.Service(False),
    ]


@pytest.mark.parametrize("text", [": Enter login", ": Enter your password", "READY"])
def test_a_prompt_needs_no_end_of_its_line(text: str) -> None:
    assert len(messages(text.encode())) == 1
    assert len(messages(f"{text} or so\n".encode(), [len(text), len(text) + 2])) == 1


def test_requests_and_matches_are_read() -> None:
    asked = only(SAMPLES[4])
    assert (asked.id, asked.open, asked.challenger, asked.opponent, asked.rated) == (".8", True, "alice", "bob", False)
    assert asked.clock == ggs.ServerClock(60_000, 0, 120_000)
    assert asked.type == ggs.GameType(colour="b")
    withdrawn = only(SAMPLES[5])
    assert (withdrawn.open, withdrawn.opponent, withdrawn.rated) == (False, "", True)
    assert withdrawn.type == ggs.GameType(synchro=True, komi=True, discs=18)
    assert only(SAMPLES[6]) == ggs.ServerMatch(".5", True, ("alice", "bob"), ggs.GameType(synchro=True, discs=14))
    ended = only(SAMPLES[7])
    assert (ended.begins, ended.result, ended.archive) == (False, -64, ".1234")


def test_a_board_is_read() -> None:
    found = only(UPDATE)
    assert found == ggs.ServerBoard(
        ".5.1",
        False,
        ggs.GameType(synchro=True, discs=14),
        (
            ggs.Side("alice", True, ggs.ServerClock(59_000, 3_000, 120_000)),
            ggs.Side("bob", False, ggs.ServerClock(3_720_000, 3_000, 120_000)),
        ),
        START.after(parse_move("f5")).after(parse_move("d6")),
        ggs.LastMove(2, parse_move("d6"), -1.25, 3470),
    )
    joined = only(SAMPLES[9])
    assert (joined.joined, joined.last, joined.position) == (True, None, found.position)


def test_a_match_of_a_tournament_is_known() -> None:
    begun = only("/os: + match .9 2544 alice 2505 bob s8r20 T\nREADY\n")
    assert begun == ggs.ServerMatch(".9", True, ("alice", "bob"), ggs.GameType(synchro=True, discs=20))
    ended = only("/os: - match .9 2544 alice 2505 bob s8r20 T +2.00 .82726\nREADY\n")
    assert (ended.begins, ended.result, ended.archive) == (False, 2, ".82726")
    asked = only("/os: + .8 -12.5 alice 01:00//02:00 8b T -35 bob\nREADY\n")
    assert (asked.opponent, asked.rated) == ("bob", True)


@pytest.mark.parametrize("rating", ["-35.2", "-35", "+0.0", "2544.3@80.0", "?"])
def test_any_rating_is_read(rating: str) -> None:
    found = only(UPDATE.replace("1720.0", rating))
    assert [side.name for side in found.sides] == ["alice", "bob"]
    assert isinstance(only(f"/os: + match .5 {rating} alice 1720.0 bob 8 U\nREADY\n"), ggs.ServerMatch)
    assert isinstance(only(f"/os: + .8 {rating} alice 01:00//02:00 8b U\nREADY\n"), ggs.Request)


def test_a_rating_on_a_board_may_have_several_numbers() -> None:
    assert only(JOINED.replace("(1720.0 *)", "(1720.0@ 80.0 +3.5 *)")) == only(JOINED)


def test_a_board_that_is_joined_after_moves_comes_twice() -> None:
    found = only(JOINED)
    assert found == ggs.ServerBoard(
        ".5.1",
        True,
        ggs.GameType(synchro=True, discs=14),
        (
            ggs.Side("alice", True, ggs.ServerClock(59_000, 3_000, 120_000)),
            ggs.Side("bob", False, ggs.ServerClock(3_720_000, 3_000, 120_000)),
        ),
        START.after(parse_move("f5")).after(parse_move("d6")),
        ggs.LastMove(2, parse_move("d6"), -1.25, 3470),
    )


def test_a_move_that_cannot_be_read_leaves_the_board() -> None:
    assert only(UPDATE.replace("d6/-1.25/3.47", "d6/best/3.47")) == only(UPDATE)._replace(last=None)


def test_ended_boards_and_adjourned_matches_are_read() -> None:
    text = "/os: end .31.1 ( alice vs. bob ) +2.00"
    assert only(f"{text}\nREADY\n") == ggs.BoardEnd(".31.1", text)
    listed = only("/os: stored 2\n|.82726 match alice bob s8r20 .5\n| .82730 x\n|none\n|\nREADY\n")
    assert listed.numbers == (".82726", ".82730")
    assert only("/os: stored 0\nREADY\n").numbers == ()


def test_adjourned_matches_of_other_games_are_not_asked_for() -> None:
    types = ("8", "s8r20", "10", "s10r20", "8k", "8a", "s8r20ka", "8 of 10 moves")
    lines = "".join(f"|.{number} alice 2300 bob {type}\n" for number, type in enumerate(types))
    assert only(f"/os: stored {len(types)}\n{lines}READY\n").numbers == (".0", ".1", ".7")


@pytest.mark.parametrize("text", ["wrong password", "wrong password\n", "wrong\n|password"])
def test_the_last_words_of_a_connection_are_heard(text: str) -> None:
    blocks = ggs.BlockReader()
    assert blocks.feed(text.encode()) == []
    (last,) = blocks.end()
    assert last.text == text.strip()
    assert blocks.end() == []


def test_records_complaints_and_other_lines_are_read() -> None:
    assert only(SAMPLES[10]) == ggs.Records(("(;GM[Othello]PB[alice];)", "(;GM[Othello]PB[bob];)"))
    assert only(SAMPLES[11]) == ggs.Complaint("/os: error .5 not found")
    assert only(SAMPLES[12]) == ggs.Words("alice: hello")


def test_no_control_character_is_left() -> None:
    found = only("al\x1b[31mice: \x07he\u202ello\x9b\t!\r\n|x\x00y\r\nREADY\r\n")
    assert found == ggs.Words("al[31mice: hello !\n|xy")


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_negotiations_of_telnet_are_no_text(end: str) -> None:
    asked = b"\xff\xfb\x01\xff\xfd\x18\xff\xf9: Enter your password." + end.encode() + b"\xff\xfc\x01"
    data = asked + b"\nal\xff\xffice: hi\nREADY\n"
    for cut in range(len(data)):
        assert messages(data, [cut]) == [ggs.Prompt("password"), ggs.Words("alice: hi"), ggs.Ready()], cut


@pytest.mark.parametrize("side", ["(1720.0*)", "(12345.6*)", "(*)", "( * )", "(1720.0@350 *)"])
def test_a_side_is_read_however_wide_its_rating_is(side: str) -> None:
    assert only(UPDATE.replace("(1720.0 *)", side)) == only(UPDATE)


@pytest.mark.parametrize(
    ("end", "result", "archive"),
    [
        ("+64.00t .123", 64, ".123"),
        ("-2.00:r .123", -2, ".123"),
        ("+2.00, .123", 2, ".123"),
        ("alice resigns -64.00 .123", -64, ".123"),
        ("0.00 .123", 0, ".123"),
        ("adjourned .123", None, ".123"),
        ("aborted", None, ""),
    ],
)
def test_the_end_of_a_match_may_say_why(end: str, result: float | None, archive: str) -> None:
    ended = only(f"/os: - match .9 2544 alice 2505 bob s8r20 T {end}\nREADY\n")
    assert (ended.result, ended.archive) == (result, archive)


def test_a_request_may_name_the_match_to_go_on_with() -> None:
    asked = "/os: + .8 1720.0 alice 01:00//02:00 8b U"
    for line in (f"{asked} .82726 1720.0 bob", f"{asked} 1720.0 bob .82726"):
        assert only(f"{line}\nREADY\n").opponent == "bob"
    assert only(f"{asked} .82726\nREADY\n").opponent == ""


def test_a_number_may_stand_anywhere_in_the_line_of_an_adjourned_match() -> None:
    listed = "/os: stored 2\n|1 .82726 alice bob s8r20\n|20 Nov 2026 alice bob .82727\n|nothing\nREADY\n"
    assert only(listed).numbers == (".82726", ".82727")


def test_a_long_line_and_a_long_block_are_cut() -> None:
    assert len(only("x" * 100_000 + "\nREADY\n").text) == ggs.LONGEST_LINE
    assert len(only("x\n" + "|y\n" * 100_000 + "READY\n").text.splitlines()) == ggs.LONGEST_BLOCK + 1


@pytest.mark.parametrize("text", ["x", "s8r", "8x", "", "8" * 99, "r18", "8r123"])
def test_wrong_types_of_matches_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ggs.parse_type(text)


times = st.integers(0, 86_399).map(lambda seconds: 1000.0 * seconds)
clocks = st.builds(ggs.ServerClock, times, times, times)
types = st.builds(
    ggs.GameType,
    st.booleans(),
    st.sampled_from([4, 6, 8, 10, 12, 14, 88]),
    st.sampled_from(["", "b", "w"]),
    st.booleans(),
    st.integers(0, 60),
    st.booleans(),
)
names = st.text("abcXYZ019+-_", min_size=1, max_size=8)


@given(types)
def test_types_are_read_as_they_are_written(type: ggs.GameType) -> None:
    assert ggs.parse_type(type.text) == type


@given(clocks)
def test_clocks_are_read_as_they_are_written(clock: ggs.ServerClock) -> None:
    assert ggs.parse_clock(ggs.clock_text(clock)) == clock


@given(st.integers(0, PASS), st.floats(-64, 64), st.floats(0, 9_999))
def test_a_move_is_read_as_it_is_played(move: int, score: float, seconds: float) -> None:
    words = ggs.play_line(".5.0", move, score, seconds).split()
    assert words[:4] == ["tell", "/os", "play", ".5.0"]
    played, read_score, ms = ggs.parse_played(words[4])
    assert played == move
    assert read_score is not None
    assert abs(read_score - score) <= 0.00501
    assert abs(ms - 1000 * seconds) <= 5.01
    assert words[4].split("/")[0] == move_text(move).lower()


@given(st.text("*O-", min_size=64, max_size=64), st.sampled_from("*O"), types, st.tuples(names, names), clocks)
def test_any_board_is_read(
    squares: str, turn: str, type: ggs.GameType, players: tuple[str, str], clock: ggs.ServerClock
) -> None:
    rows = [f"| {rank + 1} {' '.join(squares[8 * rank : 8 * rank + 8])}" for rank in range(8)]
    sides = [f"|{name} (1500.0 {disc}) {ggs.clock_text(clock)}" for name, disc in zip(players, "*O", strict=True)]
    found = only("\n".join([f"/os: update .1 {type.text} K?", *sides, *rows, f"|{turn} to move", "READY", ""]))
    assert (found.type, found.sides[0].name, found.sides[1].clock) == (type, players[0], clock)
    assert board_text(found.position) == board_text(parse_board(f"{squares} {turn}"))


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=8))
def test_bytes_are_read_alike_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    assert messages(data, cuts) == messages(data)


def check_mutations(number: int, seed: int) -> None:
    choices = random.Random(seed)
    for _ in range(number):
        data = mutated(choices)
        cuts = [choices.randrange(len(data) + 1) for _ in range(choices.randint(0, 6))]
        found = messages(data, cuts)
        assert found == messages(data), data
        for message in found:
            if isinstance(message, ggs.Words | ggs.Complaint):
                assert all(c.isprintable() or c == "\n" for c in message.text)


def test_damaged_blocks_are_read_or_passed_over() -> None:
    check_mutations(2_000, 1)


@pytest.mark.slow
def test_many_damaged_blocks_are_read_or_passed_over() -> None:
    check_mutations(100_000, 2)
