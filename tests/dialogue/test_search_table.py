"""The columns of Edax's tables, and the board, character by character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from random_games import random_game

from desdaemon.protocol.dialects import edax
from desdaemon.protocol.dialects.edax import SearchRow
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove
from desdaemon.protocol.othello.notation import START, Position, parse_board, parse_move, parse_moves
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

EXACT = edax.EXACT


def pv(moves: str) -> tuple[int, ...]:
    return tuple(parse_moves(moves))


def test_lines_of_a_search_have_their_columns() -> None:
    row = SearchRow(12, 73, EXACT, 1, 7, 37664, pv("d3c5e6d2c2f5d6e3f4c3"), True)
    expected = "12@73%  +01        0:00.007         37664    5380571 d3 C5 e6 D2 c2 F5 d6 E3 f4"
    assert edax.table_line(row) == expected
    row = SearchRow(8, 100, EXACT, -3, 0.4, 718, pv("f6e6f4g4e7d7"), False)
    expected = "    8   -03        0:00.000           718            F6 e6 F4 g4 E7 d7         "
    assert edax.table_line(row) == expected
    assert len(expected) == 79


def test_lines_show_passes_and_omit_missing_nodes() -> None:
    row = SearchRow(2, 100, edax.UNFINISHED, 0, 0, 0, pv("pag8"), True)
    assert edax.table_line(row) == f"    2  ?+00        0:00.000{'':26}pa G8{'':21}"


def test_lines_of_problems_have_their_columns() -> None:
    row = SearchRow(14, 100, EXACT, 18, 3, 59517, pv("g8h7a8a6a4a7b6a2h8"), True)
    expected = "  1|   14   +18        0:00.003         59517   19839000 g8 H7 a8 A6 a4 A7 b6"
    assert edax.solve_line(1, row) == expected
    row = SearchRow(4, 100, EXACT, 10, 0.2, 2651, pv("h1g2"), True)
    expected = "  1|    4   +10        0:00.000          2651            h1 G2                "
    assert edax.solve_line(1, row) + " " == expected


@given(
    st.integers(0, 60),
    st.sampled_from([73, 87, 95, 98, 99, 100]),
    st.sampled_from("?<> "),
    st.integers(-64, 64),
    st.floats(0, 1e9),
    st.integers(0, 10**7),
    st.integers(3, 250),
)
def test_the_columns_hold_what_wrappers_cut_out(
    depth: int, percent: int, bound: str, score: int, time_ms: float, nodes: int, width: int
) -> None:
    line = edax.table_line(SearchRow(depth, percent, bound, score, time_ms, nodes, pv("f5d6c3") * 30, True), width)
    assert line[:6].strip() == (f"{depth}@{percent}%" if percent < 100 else str(depth))
    assert line[7] == bound
    assert int(line[8:11]) == score
    assert line[11] == " "
    assert line[12:27].strip() == edax.clock_text(time_ms)
    assert line[27:41].strip() == (str(nodes) if nodes else "")
    assert "".join(line[53:].split()) in "f5D6c3F5d6C3" * 15
    assert len(line) <= max(width, 54)


def test_clocks_are_shown_in_edax_s_form() -> None:
    assert edax.clock_text(303) == "0:00.303"
    assert edax.clock_text(61_000.4) == "1:01.000"
    assert edax.clock_text(3_723_004) == "1:02:03.004"
    assert edax.clock_text(2 * 86_400_000 + 3_723_004) == "02:01:02:03.004"


def test_a_board_shows_moves_and_clocks() -> None:
    position = START
    moves = pv("f5d6c3")
    for move in moves:
        position = position.after(move)
    assert edax.board_diagram(position, START, moves, 303, 0) == (
        "  A B C D E F G H            BLACK            A  B  C  D  E  F  G  H\n"
        "1 - - - - - - - - 1         0:00.303       1 |  |  |  |  |  |  |  |  | 1\n"
        "2 - - - - - - - - 2    5 discs   4 moves   2 |  |  |  |  |  |  |  |  | 2\n"
        "3 - - * . - . - - 3                        3 |  |  | 3|  |  |  |  |  | 3\n"
        "4 - - - * * . - - 4  ply  4 (57 empties)   4 |  |  |  |()|##|  |  |  | 4\n"
        "5 - - - O * * . - 5    White's turn (O)    5 |  |  |  |##|()| 1|  |  | 5\n"
        "6 - - - O - - - - 6                        6 |  |  |  | 2|  |  |  |  | 6\n"
        "7 - - - - - - - - 7    2 discs   4 moves   7 |  |  |  |  |  |  |  |  | 7\n"
        "8 - - - - - - - - 8         0:00.000       8 |  |  |  |  |  |  |  |  | 8\n"
        "  A B C D E F G H            WHITE            A  B  C  D  E  F  G  H"
    )


def test_a_finished_board_shows_the_result() -> None:
    for discs, verdict in (("X" * 40 + "O" * 24, "Black won"), ("O" * 64, "White won"), ("XO" * 32, "draw")):
        position = parse_board(discs + " X")
        lines = edax.board_diagram(position, position, (), 0, 0).split("\n")
        assert lines[4][19:42].strip() == "Game over"
        assert lines[5][19:42].strip() == verdict


def judged(move: str, score: int, other: str, other_score: int, **more: Any) -> JudgedMove:
    """A move in a position with ``choices`` legal moves, by the side whose case the move's letter has."""
    choices = more.get("choices", 9)
    boards = (position for position in played_positions() if position.moves.bit_count() == choices)
    position = next(one for one in boards if one.black_to_move == move.isupper())
    depth, exact, full = more.get("depth", 10), more.get("exact", False), more.get("full", False)
    played, best = (
        SearchedMove(parse_move(name), MoverScore(value), depth, Selectivity.FULL, exact, full)
        for name, value in ((move, score), (other, other_score))
    )
    return JudgedMove(more.get("ply", 13), position, played, best)


def played_positions() -> Iterator[Position]:
    """The positions of some random games."""
    for seed in range(9):
        position = START
        for played in random_game(seed, 60).moves:
            yield position
            position = position.after(played.move)


def test_lines_of_an_analysis_have_their_columns() -> None:
    good = judged("B4", 2, "F2", 1)
    assert edax.analysis_line(good, "Edax") == " 13   10      9    B4     +2   >    +1     F2 "
    bad = judged("c6", -2, "b4", 0, ply=12, choices=7)
    expected = " 12   10      7    c6     -2   <    +0     b4 <- Edax disagrees"
    assert edax.analysis_line(bad, "Edax") == expected
    assert edax.analysis_line(judged("c6", -2, "b4", 3), "Edax").endswith("<- Edax disagrees strongly")
    assert edax.analysis_line(judged("C6", 2, "B4", 4, full=True), "Edax").endswith("<- Possible mistake")
    mistake = judged("H1", 12, "G8", 18, full=True, exact=True, ply=47, depth=14, choices=7)
    assert edax.analysis_line(mistake, "Edax") == " 47   14      7    H1    +12   <   +18     G8 <- Mistake"
    alone = judged("H1", 12, "G8", 18)._replace(other=None)
    assert edax.analysis_line(alone, "Edax") == " 13   10      9    H1    +12"


def test_an_analysis_ends_with_its_summary() -> None:
    game = [judged("c6", -2, "b4", 0), judged("d6", 2, "b4", 0), judged("H1", 12, "G8", 18, exact=True)]
    assert edax.analysis_summary(game).split("\n")[2:] == [
        "Black |   0 /   0  :    +0 |   1 /   1 :    +6 |      6.000 |",
        "White |   1 /   2  :    +2 |   0 /   0 :    +0 |          - |",
    ]


def test_problems_end_with_their_summary() -> None:
    assert edax.solve_summary("problem/fforum-1-19.obf", 2218460, 105, 136) == (
        "problem/fforum-1-19.obf: 2218460 nodes in  0:00.105 (cpu =  0:00.136) (21128190 nodes/s)."
    )
    assert edax.solve_summary("x" * 40, 0, 0, 0) == "x" * 30 + ": 0 nodes in  0:00.000 (cpu =  0:00.000)."
