"""`solve` and the dialogue at each verbosity, line by line as Edax writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import referee
from dialogue import Dialogue
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.clients.gamefiles.problems import read_problems
from desdaemon.core.search.loader import EngineSource, build_engine
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.othello.notation import Position, board_text, parse_board
from desdaemon.protocol.othello.rules import legal_moves

PROBLEM = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
BOARD = """\
  A B C D E F G H
1 - . * * * * * . 1
2 . O O O * * . O 2 * to move
3 . O O O * * O * 3
4 . O * O * O * * 4 *: discs = 27    moves =  8
5 O * * * O * * * 5 O: discs = 23    moves =  6
6 - - * O * O * * 6  empties = 14      ply = 47
7 - * * * O O O . 7
8 - O O O O O . - 8
  A B C D E F G H"""

HEADER = " depth|score|       time   |  nodes (N)  |   N/s    | principal variation"
RULE = "------+-----+--------------+-------------+----------+---------------------"
ROW = re.compile(
    r"(?:[ \d]\d@\d\d% |   [ \d]\d  )[<> ?][+-]\d\d +\d+:\d\d\.\d{3} [\d ]{13} [\d ]{10} \S\S(?: \S\S| {3}){6}"
)


def test_the_board_of_a_problem_is_shown() -> None:
    assert edax.compact_board(parse_board(PROBLEM)) == BOARD
    start = edax.compact_board(parse_board("8/8/8/3Pp3/3pP3/8/8/8 b")).split("\n")
    assert start[2] == "2 - - - - - - - - 2 * to move"
    assert start[6] == "6 - - - - . - - - 6  empties = 60      ply =  1"


@given(st.integers(0, 10**6), st.integers(0, 60), st.booleans())
def test_a_board_has_its_fields_beside_it(seed: int, plies: int, black: bool) -> None:
    cells = referee.random_position(seed, plies)
    rows = edax.compact_board(Position(*referee.to_bits(cells), black)).split("\n")
    player, opponent = ("*", "O") if black else ("O", "*")
    assert rows[2][19:] == f" {player} to move"
    counts = [sum(row.count(kind) for row in cells) for kind in (referee.MINE, referee.THEIRS)]
    moves = [len(referee.legal_moves(board)) for board in (cells, referee.passed(cells))]
    assert rows[4][19:] == f" {player}: discs = {counts[0]:2d}    moves = {moves[0]:2d}"
    assert rows[5][19:] == f" {opponent}: discs = {counts[1]:2d}    moves = {moves[1]:2d}"
    empties = referee.empties(cells)
    assert rows[6][19:] == f"  empties = {empties:2d}      ply = {61 - empties:2d}"


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "problems.obf"
    path.write_text(f"{PROBLEM}; G8:+18; H1:+12;\n{PROBLEM}; H1:+20; G8:+14;\n")
    return path


def solved(problems: Path, verbose: int) -> list[str]:
    dialogue = Dialogue(verbose=verbose, level=60)
    dialogue.session.engines = EngineSource(build_engine)
    return dialogue.say(f"solve {problems}").split("\n")


@pytest.mark.parametrize("verbose", [2, 3])
def test_a_problem_shows_all_its_iterations(problems: Path, verbose: int) -> None:
    lines = solved(problems, verbose)
    first = lines.index("*** problem # 2 ***")
    assert lines[:2] == ["", "*** problem # 1 ***"]
    assert lines[2 : 2 + 13] == ["", *BOARD.split("\n"), "", HEADER]
    assert lines[15] == RULE
    *rows, blank, rule = lines[16 : first - 1]
    assert (blank, rule, lines[first - 1]) == ("", RULE, "")
    assert all(ROW.fullmatch(row) for row in rows), rows
    # What programs take for the result: two lines above the rule.
    assert rows[-1].startswith("   14   +18 ")
    assert rows[-1][53:].strip().startswith("g8 ")
    bounds = [row for row in rows if row[7] in "<>"]
    assert bool(bounds) == (verbose == 3)
    # Every iteration once, and never the last one again.
    kept = [row[:11] for row in rows if row not in bounds]
    assert len(kept) == len(set(kept))
    remark = lines[lines.index(RULE, lines.index(RULE, first) + 1) - 1]
    assert remark == " Erroneous move: H1 expected, with score +20, error = +6"


def test_each_problem_has_one_line(problems: Path) -> None:
    head, rule, right, wrong, last_rule, *total = solved(problems, verbose=1)
    assert head == " # |" + HEADER
    assert rule == last_rule == "---+" + RULE
    assert right.startswith("  1|   14   +18 ")
    assert ROW.fullmatch(right[4:])
    assert wrong.startswith("  2|   14   +18 ")
    assert wrong[4:].endswith(" Erroneous move: H1 expected, with score +20, error = +6")
    assert_total(total)


def test_solve_prints_only_its_total_where_answers_alone_are_wanted(problems: Path) -> None:
    assert_total(solved(problems, verbose=0))


def assert_total(lines: list[str]) -> None:
    nodes, errors, end = lines
    assert re.fullmatch(
        r".{1,30}: \d+ nodes in +\d+:\d\d\.\d{3} \(cpu = +\d+:\d\d\.\d{3}\)(?: \(\d+ nodes/s\))?\.", nodes
    )
    assert (errors, end) == (
        "2 positions; 1 erroneous move; 1 erroneous score; mean absolute score error = 1.000; "
        "mean absolute move error = 3.000",
        "",
    )


def test_the_window_s_edges_are_marked(problems: Path) -> None:
    dialogue = Dialogue(verbose=1, level=60, alpha=-2, beta=6)
    dialogue.session.engines = EngineSource(build_engine)
    assert "\n  1|   14  >+06 " in dialogue.say(f"solve {problems}")


def boards() -> list[str]:
    """Positions of 14 and 24 empties, so many that with any weights some search misses the score that it expected."""
    found = [Position(*referee.to_bits(referee.random_position(seed, 36)), True) for seed in range(16)]
    return [PROBLEM, *(board_text(board) for board in found if legal_moves(board.player, board.opponent))]


@pytest.mark.parametrize("verbose", [0, 1, 2, 3])
def test_each_verbosity_shows_its_moves(verbose: int) -> None:
    dialogue = Dialogue(verbose=verbose, level=6, edax_compatible=True)
    dialogue.session.engines = EngineSource(build_engine)
    marked = False
    for board in boards():
        dialogue.say(f"setboard {board}")
        *table, blank, played, end = dialogue.say("go").split("\n")
        assert (blank, end) == ("", "")
        assert re.fullmatch(r"Edax plays [A-H][1-8]", played)
        if verbose == 0:
            assert table == []
            continue
        assert table[:2] == [HEADER, RULE + "-"]
        assert table[-1] == RULE + "-"
        rows = table[2:-1]
        assert all(len(row) == 79 for row in rows)
        assert (len(rows) == 1) == (verbose == 1)
        marked |= any(row[7] in "<>" for row in rows)
    assert marked == (verbose == 3)


def test_problems_with_the_side_on_the_next_line_are_solved(tmp_path: Path) -> None:
    path = tmp_path / "problems.script"
    path.write_text(f"{PROBLEM[:64]}\nBlack\n{PROBLEM[:64]}\nWhite\n")
    dialogue = Dialogue()
    assert [problem.position.black_to_move for problem in read_problems(dialogue.text, str(path))] == [True, False]
