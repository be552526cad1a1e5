"""`python tests/lab selectivity`: what it measures is so, and selective searches are right as often as they promise."""

from __future__ import annotations

import math
from itertools import pairwise

import judge
import pytest
from lab import selectivity

from desdaemon.engine.bench.problems import play_positions
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.notation import Position, board_text, move_text
from desdaemon.protocol.othello.obf import parse_problem
from desdaemon.protocol.othello.rules import legal_moves, play, squares
from desdaemon.protocol.othello.selectivity import Selectivity


@pytest.mark.slow
def test_searches_before_the_end_keep_their_percentages() -> None:
    found = selectivity.measure_early(Weights.load(), 350, 2)
    assert found[-1].right == found[-1].positions > 900
    for each in found[:-1]:
        promised = each.selectivity / 100
        error = math.sqrt(promised * (1 - promised) / each.positions)
        assert each.right / each.positions > promised - 2 * error, each
    assert all(less.nodes < more.nodes for less, more in pairwise(found))


@pytest.mark.compiled
def test_a_full_search_is_right_and_a_selective_one_smaller() -> None:
    *selective, full = selectivity.measure_late(Weights.load(), 4, 3)
    assert full.right == full.positions == 4 * len(selectivity.EMPTIES)
    assert all(0 < each.right <= each.positions and each.nodes < full.nodes for each in selective)


def lines_of(number: int) -> list[str]:
    """Problems of 8 empty squares with the score of every move."""
    found = []
    for board in play_positions(Searcher(hash_bits=12, weights=Weights.load()), number, 8, 3):
        scores = {move: -judge.solve(*play(*board, move)) for move in squares(legal_moves(*board))}
        listed = " ".join(f"{move_text(move).upper()}:{score:+d};" for move, score in scores.items())
        found.append(f"{board_text(Position(*board, True))}; {listed}")
    return found


@pytest.mark.compiled
def test_errors_are_those_of_scores_and_moves() -> None:
    problems = [problem for problem in map(parse_problem, lines_of(20)) if problem is not None]
    weights, searcher = Weights.load(), Searcher(hash_bits=12, weights=Weights.load())
    for limits in (Limits(1, Selectivity(73)), Limits(8)):
        *_, found = selectivity.measure_scores(weights, problems, limits, hash_bits=12)
        scores, losses = [], []
        for (player, opponent, _), _ in problems:
            searcher.clear()
            line = searcher.search(player, opponent, limits).lines[0]
            best = judge.solve(player, opponent)
            scores.append(abs(best - line.score))
            losses.append(best + judge.solve(*play(player, opponent, line.move)))
        assert (found.scores, found.losses) == (scores, losses)
        assert any(found.scores) == any(found.losses) == (limits.depth == 1)


@pytest.mark.compiled
def test_losses_are_those_of_the_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (Limits(1, Selectivity(73)), Limits(2, Selectivity(73)), Limits(9))
    monkeypatch.setattr(selectivity, "MOVES_SEARCHES", limits)
    weights = Weights.load()
    seen = []
    for found in selectivity.measure_moves(weights, 30, 5, empties=9):
        seen.append([len(loss.losses) for loss in found])
    assert seen == [[done] * 3 for done in range(1, 31)]

    searcher = Searcher(hash_bits=12, weights=weights)
    positions = play_positions(searcher, 30, 9, 5)
    first = []
    for each, loss in zip(limits, found, strict=True):
        moves, losses = [], []
        for board in positions:
            searcher.clear()
            moves.append(searcher.search(*board, each).lines[0].move)
            losses.append(judge.solve(*board) + judge.solve(*play(*board, moves[-1])))
        first = first or list(zip(moves, losses, strict=True))
        differ = [(a, b) for (move, a), other, b in zip(first, moves, losses, strict=True) if move != other]
        assert loss.losses == losses
        assert list(zip(loss.first, loss.other, strict=True)) == differ
    assert any(found[0].losses), "a search of one ply errs somewhere"
    assert not any(found[-1].losses)
    assert not found[0].other
    assert sum(found[-1].first) > sum(found[-1].other) == 0


def test_a_mean_and_its_error() -> None:
    assert (selectivity.mean([]), selectivity.standard_error([])) == (0, 0)
    assert (selectivity.mean([0, 0, 2, 2]), selectivity.standard_error([0, 0, 2, 2])) == (1, 0.5)
