"""Searches that do not reach the end: against plain negamax over the evaluation, and the shape of their answers."""

from __future__ import annotations

import judge
import pytest

from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity


class WipedOut(Exception):
    """One side has no disc left: the search knows the score of that even at a leaf."""


def negamax(searcher: Searcher, board: judge.Board, depth: int) -> int:
    """The score in discs; passes cost no depth, and leaves are evaluated as they are."""
    if 0 in board:
        raise WipedOut
    if depth == 0:
        score = round(searcher.evaluate(*board) * 128)
        discs = (abs(score) + 64) // 128
        return max(-63, min(63, discs if score > 0 else -discs))
    legal = judge.squares(judge.moves(*board))
    if not legal:
        if judge.over(board):
            return judge.solve(*board)
        return -negamax(searcher, (board[1], board[0]), depth)
    return max(-negamax(searcher, judge.play(board, square), depth - 1) for square in legal)


@pytest.mark.compiled
@pytest.mark.parametrize(("depth", "number"), [(1, 120), (2, 60), (3, 20), (4, 3)])
def test_a_full_width_search_is_negamax(searcher_by_lot: Searcher, depth: int, number: int) -> None:
    compared = 0
    for board in [*judge.positions(depth, number, range(20, 56)), *judge.strewn(depth, 3 * number, range(20, 30))]:
        if judge.over(board):
            continue
        try:
            expected = negamax(searcher_by_lot, board, depth)
        except WipedOut:
            continue
        searcher_by_lot.clear()
        [line] = searcher_by_lot.search(*board, Limits(depth)).lines
        assert line.score == line.lower == line.upper == expected
        assert line.depth == depth
        compared += 1
    assert compared > 1.5 * number


def test_all_moves_at_full_width_are_negamax(searcher_by_lot: Searcher) -> None:
    for board in judge.positions(20, 6, range(24, 48)):
        legal = judge.squares(judge.moves(*board))
        if not legal:
            continue
        expected = {square: -negamax(searcher_by_lot, judge.play(board, square), 2) for square in legal}
        searcher_by_lot.clear()
        lines = searcher_by_lot.search(*board, Limits(3), multipv=64).lines
        assert {line.move: line.score for line in lines} == expected


def test_a_search_of_depth_0_is_the_evaluation(searcher_by_lot: Searcher) -> None:
    for board in judge.positions(21, 60, range(1, 60)):
        if not judge.moves(*board):
            continue
        [line] = searcher_by_lot.search(*board, Limits(0)).lines
        assert line.score == negamax(searcher_by_lot, board, 0)
        assert line.depth == 0
        assert judge.moves(*board) >> line.move & 1


def check_shape(board: judge.Board, line: Line, depth: int, percent: int) -> None:
    """The line can be played, is as long as its depth says, or ends with the game."""
    assert (line.depth, line.selectivity, line.empties) == (depth, percent, judge.empties(board))
    assert line.pv[0] == line.move
    assert line.lower <= line.score <= line.upper
    assert not line.exact
    plies = 0
    for move in line.pv:
        board = judge.play(board, move)
        plies += move != judge.PASS
    assert plies == depth or judge.over(board)


@pytest.mark.parametrize("percent", SELECTIVITIES)
@pytest.mark.parametrize("depth", [2, 5, 9])
def test_lines_are_whole_and_legal(searcher: Searcher, percent: int, depth: int) -> None:
    for board in judge.positions(22 + depth, 5, range(15, 50, 5)):
        if judge.over(board):
            continue
        result = searcher.search(*board, Limits(depth, percent), multipv=3)
        assert result.complete
        number = judge.moves(*board).bit_count()
        assert len(result.lines) == min(3, number) or number == 0
        assert len({line.move for line in result.lines}) == len(result.lines)
        scores = [line.score for line in result.lines]
        assert scores == sorted(scores, reverse=True)
        for line in result.lines:
            check_shape(board, line, depth, percent)


def test_selective_endgames_have_whole_lines(searcher: Searcher) -> None:
    for board in judge.positions(30, 8, range(13, 17)):
        if judge.over(board):
            continue
        for percent in (Selectivity(73), Selectivity(95)):
            [line] = searcher.search(*board, Limits(60, percent)).lines
            check_shape(board, line, judge.empties(board), percent)


def test_progress_tells_each_iteration(searcher: Searcher) -> None:
    told: list[tuple[int, Line]] = []
    result = searcher.search(
        *judge.OPENING, Limits(7), multipv=2, progress=lambda rank, line: told.append((rank, line))
    )
    assert [(rank, line.depth) for rank, line in told] == [(rank, depth) for depth in (1, 3, 5, 7) for rank in (0, 1)]
    assert {line.move for _, line in told[-2:]} == {line.move for line in result.lines}
    assert all(line.selectivity == 100 for _, line in told)


@pytest.mark.parametrize("board", [(1, 1), (1 << 64, 0), (0, 1 << 70), (3, 6), (-1, 0)])
def test_wrong_boards_are_refused(searcher: Searcher, board: judge.Board) -> None:
    with pytest.raises(ValueError, match="the sides' discs overlap or are outside the board"):
        searcher.search(*board, Limits(1))
