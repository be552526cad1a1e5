"""Searches to the end of the game against a referee: scores, windows, moves, lines of play."""

from __future__ import annotations

import random
from pathlib import Path

import judge
import numpy as np
import plain_weights
import pytest
from table_entries import switch_off

from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.memory import Block
from desdaemon.engine.result import Line, Result
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.selectivity import Selectivity

TO_THE_END = Limits(60)
ALL = (1 << 64) - 1


def check_line(board: judge.Board, line: Line, score: int) -> None:
    """``line`` says ``score`` exactly, and its moves lead there."""
    assert line.exact
    assert (line.score, line.lower, line.upper) == (score, score, score)
    assert line.depth == line.empties == judge.empties(board)
    assert line.selectivity == 100
    assert line.pv[0] == line.move
    value = score
    for move in line.pv:
        board = judge.play(board, move)
        value = -value
    assert judge.over(board)
    assert judge.solve(*board) == value


def check(board: judge.Board, result: Result) -> None:
    assert result.complete
    if judge.over(board):
        assert result.lines == ()
        return
    assert len(result.lines) == 1
    check_line(board, result.lines[0], judge.solve(*board))
    assert result.nodes >= result.lines[0].nodes
    assert result.nodes > 0 or abs(result.lines[0].score) == 64


def test_scores_and_lines_are_those_of_the_referee(searcher: Searcher) -> None:
    for board in [*judge.positions(1, 200, range(11)), *judge.strewn(10, 200, range(11))]:
        check(board, searcher.search(*board, TO_THE_END))


def test_longer_endgames_have_the_known_scores(searcher: Searcher) -> None:
    for board in [*judge.positions(2, 9, range(11, 14)), *judge.positions(13, 1, [14])]:
        check(board, searcher.search(*board, TO_THE_END))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_endgames_have_the_referees_scores(searcher: Searcher, seed: int) -> None:
    boards = [*judge.positions(1000 + seed, 4000, range(1, 13)), *judge.strewn(1100 + seed, 1000, range(1, 13))]
    for board in boards:
        check(board, searcher.search(*board, TO_THE_END))


@pytest.mark.compiled
def test_passes_are_among_the_positions(searcher: Searcher) -> None:
    """The positions of these tests contain forced passes; such a result is the line of the pass."""
    boards = [*judge.positions(1, 500, range(11)), *judge.strewn(10, 500, range(11))]
    assert sum(judge.over(board) and judge.empties(board) > 0 for board in boards) > 10
    passes = [board for board in boards if not judge.moves(*board) and not judge.over(board)]
    assert len(passes) > 25
    for board in passes:
        [line] = searcher.search(*board, TO_THE_END, multipv=5).lines
        assert line.move == PASS
        check_line(board, line, judge.solve(*board))


def test_a_finished_game_has_a_score_and_no_line(searcher: Searcher) -> None:
    boards = [board for seed in range(5) for board in judge.positions(seed, 4, [0])]
    boards += [(ALL, 0), (0, ALL), (1, 0), (0, 1), (0, 0), (0b101, 0)]
    for board in boards:
        for limits in (TO_THE_END, Limits(0), Limits(3)):
            result = searcher.search(*board, limits)
            assert result.lines == ()
            assert result.complete


def test_wipe_outs_score_64(searcher: Searcher) -> None:
    """A move that takes the last disc wins all 64 squares, however many are empty."""
    for own, other, move in ((0b001, 0b010, 2), (1 << 9, 1 << 18, 27), (0x7F >> 1 << 1 & ~0x40, 0x40, 7)):
        for depth in (1, 2, 60):
            [line] = searcher.search(own, other, Limits(depth)).lines
            assert (line.score, line.move) == (64, move)
    # The other side wins everything after the pass.
    [line] = searcher.search(0b010, 0b101 << 8 | 0b001, TO_THE_END, allow=ALL).lines
    assert line.score == judge.solve(0b010, 0b101 << 8 | 0b001)


def check_window(board: judge.Board, result: Result, alpha: int, beta: int, exact: int) -> None:
    [line] = result.lines
    assert line.lower <= exact <= line.upper
    assert judge.over(board) or line.move == PASS or judge.moves(*board) >> line.move & 1
    if alpha < exact < beta:
        assert line.score == line.lower == line.upper == exact
    elif exact <= alpha:
        assert exact <= line.score <= alpha
    else:
        assert exact >= line.score >= beta


def test_windows_give_bounds_of_the_score(searcher: Searcher) -> None:
    rng = random.Random(3)
    for board in [*judge.positions(4, 150, range(1, 12)), *judge.strewn(11, 100, range(1, 12))]:
        if judge.over(board):
            continue
        exact = judge.solve(*board)
        alpha = rng.choice([rng.randint(-64, 63), max(-64, min(63, exact + rng.randint(-3, 2)))])
        beta = rng.choice([alpha + 1, rng.randint(alpha + 1, 64)])
        result = searcher.search(*board, TO_THE_END, alpha=alpha, beta=beta)
        assert result.complete
        check_window(board, result, alpha, beta, exact)


def test_all_moves_have_their_exact_scores(searcher: Searcher) -> None:
    for board in judge.positions(5, 150, range(1, 11)):
        scores = judge.score_of_moves(board)
        if not scores:
            continue
        lines = searcher.search(*board, TO_THE_END, multipv=64).lines
        assert {line.move: line.score for line in lines} == scores
        assert [line.score for line in lines] == sorted(scores.values(), reverse=True)
        assert len(lines) == len(scores)
        for line in lines:
            check_line(board, line, scores[line.move])


def test_a_search_keeps_to_the_allowed_moves(searcher: Searcher) -> None:
    rng = random.Random(7)
    for board in judge.positions(8, 150, range(1, 11)):
        scores = judge.score_of_moves(board)
        if not scores:
            continue
        some = set(rng.sample(sorted(scores), rng.randint(1, len(scores))))
        allow = sum(1 << square for square in some) | rng.getrandbits(64) & ~judge.moves(*board)
        lines = searcher.search(*board, TO_THE_END, multipv=rng.randint(1, 5), allow=allow).lines
        assert {line.move for line in lines} <= some
        assert [line.score for line in lines] == sorted((scores[s] for s in some), reverse=True)[: len(lines)]
        for line in lines:
            check_line(board, line, scores[line.move])


def test_the_score_of_some_moves_is_not_that_of_the_position(searcher: Searcher) -> None:
    """It would be met again in the search of the position before, where both are the images that are searched."""
    searches = 0
    for board in judge.positions(12, 200, [10, 11]):
        board = judge.canonical(board)
        before = searches
        for move in judge.squares(judge.moves(*board)):
            after = judge.play(board, move)
            if judge.canonical(after) == after and judge.moves(*after):
                scores = judge.score_of_moves(after)
                worst = min(scores, key=lambda reply: scores[reply])
                searcher.search(*after, TO_THE_END, allow=1 << worst)
                searches += min(scores.values()) < max(scores.values())
        if searches > before:
            check(board, searcher.search(*board, TO_THE_END))
    assert searches > 20


@pytest.mark.compiled
def test_selective_results_are_not_taken_for_exact_ones(
    searcher: Searcher, packed_by_lot: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With wild enough weights nearly every selective result is wrong."""
    plain_weights.write(tmp_path / "wild.weights", 8 * packed_by_lot)
    monkeypatch.setattr(library, "cache_folder", lambda: None)
    wild = Searcher(hash_bits=18, weights=Weights.load(tmp_path / "wild.weights"))
    switch_off(searcher, 1)
    wrong = 0
    for board in judge.positions(14, 16, [16]):
        if judge.over(board):
            continue
        exact = searcher.search(*board, TO_THE_END).lines[0].score
        wild.clear()
        wrong += wild.search(*board, Limits(60, Selectivity(73))).lines[0].score != exact
        assert wild.search(*board, TO_THE_END).lines[0].score == exact
    assert wrong > 5


def test_a_search_without_an_allowed_move_is_refused(searcher: Searcher) -> None:
    with pytest.raises(ValueError, match="none of the moves allowed is legal"):
        searcher.search(*judge.OPENING, Limits(1), allow=1)


def test_many_positions_are_scored_in_one_call(searcher: Searcher) -> None:
    boards = judge.positions(9, 200, range(12))
    number = len(boards)
    memory = Block(3 * 8 * number)
    words = memory.words()
    for k, (player, opponent) in enumerate(boards):
        words[k], words[number + k] = player, opponent
    scores = memory.address + 16 * number
    searcher.score_many(memory.address, memory.address + 8 * number, scores, number, TO_THE_END)
    found = [(word ^ 1 << 63) - (1 << 63) for word in words[2 * number : 3 * number]]
    assert found == [judge.solve(*board) for board in boards]
    searcher.score_many(memory.address, memory.address + 8 * number, scores, number, Limits(0))
    found = [(word ^ 1 << 63) - (1 << 63) for word in words[2 * number : 3 * number]]
    assert found == [searcher.evaluate(*board) * 128 for board in boards]
