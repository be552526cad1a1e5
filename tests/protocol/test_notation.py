"""Squares, moves, boards and problems as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_doubts,
    board_text,
    move_text,
    moves_text,
    parse_board,
    parse_move,
    parse_moves,
    play_moves,
)
from desdaemon.protocol.othello.obf import parse_problem, problem_lines

SEEDS = st.integers(0, 10**6)
OPENING = "---------------------------OX------XO---------------------------"


@given(st.integers(0, 63))
def test_squares_are_read_and_written(square: int) -> None:
    name = referee.name(square)
    assert move_text(square) == name
    for spelling in (name, name.lower(), f" {name} ", f"P@{name}", f"p@{name.lower()}"):
        assert parse_move(spelling) == square


@pytest.mark.parametrize("spelling", ["pa", "ps", "pass", "@@@@", "p@@@", "PA", "PS", "Pass", "P@@@"])
def test_passes_are_read_in_every_form(spelling: str) -> None:
    assert parse_move(spelling) == rules.PASS
    assert parse_moves(f"f5{spelling}d6") == [37, rules.PASS, 43]
    assert parse_moves(f"f5 {spelling} d6") == [37, rules.PASS, 43]


@pytest.mark.parametrize("text", ["", "f", "f9", "i1", "f5x", "f5d6", "5f", "p", "pax", "@@", "f५"])
def test_wrong_moves_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected"):
        parse_move(text)


@given(st.lists(st.one_of(st.integers(0, 63), st.just(rules.PASS))), st.sampled_from(["", " ", ", ", "\t"]))
def test_lines_of_play_are_read_in_every_form(moves: list[int], between: str) -> None:
    assert parse_moves(moves_text(moves)) == moves
    assert parse_moves(between.join(map(move_text, moves))) == moves


@given(st.text(max_size=40))
def test_any_text_is_moves_or_bad_input(text: str) -> None:
    try:
        moves = parse_moves(text)
    except BadInput:
        return
    assert all(0 <= move <= 64 for move in moves)


@given(SEEDS, st.integers(0, 60), st.booleans())
def test_boards_are_read_in_every_form(seed: int, plies: int, black: bool) -> None:
    position = Position(*referee.to_bits(referee.random_position(seed, plies)), black)
    text = board_text(position)
    assert parse_board(text) == position
    assert parse_board(text.replace(" ", "")) == position
    assert parse_board(text.replace("X", "*").replace("-", ".").lower()) == position
    ranks = [text[at : at + 8] for at in range(0, 64, 8)]
    assert parse_board(" / ".join(ranks) + text[64:] + ";") == position
    assert parse_board(fen(position)) == position
    assert board_doubts(position) == []


def fen(position: Position) -> str:
    """The FEN record of a board, holdings in brackets and counters included."""
    ranks = []
    for rank in range(8):
        squares = ""
        for file in range(8):
            bit = 1 << 8 * rank + file
            squares += "p" if position.black & bit else "P" if position.white & bit else "1"
        for run in range(8, 1, -1):
            squares = squares.replace("1" * run, str(run))
        ranks.append(squares)
    return "/".join(ranks) + f"[PPPppp] {'b' if position.black_to_move else 'w'} - - 0 1"


def test_the_opening_is_written_as_text() -> None:
    assert parse_board(OPENING + " X") == START
    assert parse_board("8/8/8/3Pp3/3pP3/8/8/8 b - - 0 1") == START
    assert board_text(START) == OPENING + " X"
    assert parse_board(OPENING + " white") == Position(START.opponent, START.player, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "0 squares"),
        ("XXXX", "4 squares"),
        (OPENING, "no side to move"),
        (OPENING + " -", "no side to move"),
        (OPENING[1:] + " X", "63 squares"),
        (OPENING + "- X", "65 squares"),
        (OPENING + "-- X", "66 squares"),
        (OPENING[:-1] + "Z X", "is not a square"),
        (OPENING[:-1] + "é X", "is not a square"),
        ("8/8/8/3Pp3/3pP3/8/8/8", "no side to move"),
        ("8/8/8/3Pp3/3pP3/8/8/8 x", "no side to move"),
        ("8/8/8/3Pp3/3pP4/8/8/8 b", "is not a FEN rank"),
        ("8/8/8/3Pq3/3pP3/8/8/8 b", "is not a FEN rank"),
        ("8/8/8/8/3Pp3/3pP3/8/8/8 b", "9 ranks"),
    ],
)
def test_wrong_boards_are_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem) as caught:
        parse_board(text)
    assert "expected" in str(caught.value)


@given(st.text(alphabet="XO-*.x8/pP bw;ow", max_size=80))
def test_any_text_is_a_board_or_bad_input(text: str) -> None:
    try:
        position = parse_board(text)
    except BadInput:
        return
    assert position.player & position.opponent == 0


def test_doubts_about_a_board_are_told() -> None:
    centre = parse_board(OPENING.replace("OX", "-X") + " X")
    assert board_doubts(centre) == ["not all four centre squares hold a disc"]
    floating = parse_board("X" + OPENING[1:] + " X")
    assert board_doubts(floating) == ["discs that are not joined to the centre: A1"]


@given(SEEDS, st.integers(0, 60))
def test_forced_passes_may_be_left_out(seed: int, plies: int) -> None:
    moves = referee.random_moves(seed, plies)
    played = play_moves(START, moves).moves
    assert [move for move in played if move != rules.PASS] == moves
    assert play_moves(START, played).moves == played


def test_an_illegal_move_is_named_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"A1 \(move 3\) is illegal: expected one of C3 C4 C5 C6 C7"):
        play_moves(START, parse_moves("f5d6a1"))
    with pytest.raises(BadInput, match="PA is illegal: expected one of D3 C4 F5 E6"):
        play_moves(START, [rules.PASS])


def test_problems_are_read() -> None:
    problem = parse_problem(OPENING + " X; D3:+2; c4:-1;F5:+0 ; % a remark")
    assert problem is not None
    assert problem.position == START
    assert problem.scores == {19: 2, 26: -1, 37: 0}
    assert problem.best == 2
    for bare in (OPENING + " X", OPENING + " X;", OPENING + "X ;", OPENING + " X; +18;"):
        problem = parse_problem(bare)
        assert problem is not None
        assert problem.best is None
    assert parse_problem("% only a remark") is None
    assert parse_problem("  ") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "is not a square"),
        (OPENING + " X; D3:", "not a scored move"),
        (OPENING + " X; D3:+65", "not a scored move"),
        (OPENING + " X; D3:x", "not a scored move"),
        (OPENING + " X; A1:+2", "A1 is illegal"),
        (OPENING + " X; PA:+2", "PA is illegal"),
        (OPENING + " X; Z9:+2", "is not a move"),
    ],
)
def test_wrong_problems_are_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_problem(text)


@given(st.text())
def test_quotes_are_short_and_printable(text: str) -> None:
    shown = quoted(text)
    assert shown.isprintable()
    assert len(shown) < 600


def test_problems_may_list_no_further_move() -> None:
    line = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; --:-127;"
    assert parse_problem(line) == parse_problem(line.replace(" --:-127;", ""))
    with pytest.raises(BadInput, match="expected MOVE:SCORE"):
        parse_problem(OPENING + " X; d3:-127;")


def test_one_square_is_named_in_the_singular() -> None:
    with pytest.raises(BadInput, match='"x" has 1 square: expected 64 squares'):
        parse_board("x")


FFO = "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X--------"


@pytest.mark.parametrize("side", ["Black", "black", "BLACK to move", " Black \r", "X", "*", "b", "Black to move."])
def test_the_side_of_a_problem_may_stand_on_the_next_line(side: str) -> None:
    text = f"% FFO 40\n{FFO}\n{side}\n\n{FFO} X; a2:+38;\n{FFO}\nWhite"
    found = [(number, parse_problem(line)) for number, line in problem_lines(text.split("\n"))]
    problems = [(number, board_text(problem.position)) for number, problem in found if problem]
    assert problems == [(2, f"{FFO} X"), (5, f"{FFO} X"), (6, f"{FFO} O")]
    alone = [line for _, line in problem_lines([FFO, f"{FFO} X", FFO])]
    assert alone == [FFO, f"{FFO} X", FFO]


def test_only_a_board_without_its_side_waits_for_the_next_line() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in (f"{FFO} X", "x", FFO, "Black"):
            read.append(line)
            yield line

    for _ in zip(problem_lines(lines()), range(2), strict=False):
        assert read[-1] in (f"{FFO} X", "x")
