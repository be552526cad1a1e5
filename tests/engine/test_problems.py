"""The endgame problems of the French Othello federation's site, whose answers are published, where they are at hand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import judge
import pytest
import referee

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher

pytestmark = pytest.mark.compiled


class Problem(NamedTuple):
    """A position and the scores given for its moves, best first."""

    board: judge.Board
    scores: dict[int, int]


def read(path: Path) -> list[Problem]:
    problems = []
    for line in path.read_text().splitlines():
        if not line.strip():
            continue
        board, *entries = line.split(";")
        discs, side = board.split()
        black, white = (sum(1 << k for k, disc in enumerate(discs) if disc == mark) for mark in "XO")
        scores = {
            referee.square(move.strip()): int(score)
            for move, score in (entry.split(":") for entry in entries if ":" in entry)
        }
        problems.append(Problem((black, white) if side == "X" else (white, black), scores))
    return problems


@pytest.fixture(scope="module")
def solver(weights: Weights) -> Searcher:
    """A searcher with a table fit for 25 empties."""
    return Searcher(hash_bits=20, weights=weights)


def solve(searcher: Searcher, problem: Problem) -> None:
    searcher.clear()
    [line] = searcher.search(*problem.board, Limits(60)).lines
    best = max(problem.scores.values())
    assert line.exact
    assert line.score == best
    assert problem.scores[line.move] == best
    board, value = problem.board, line.score
    for move in line.pv:
        board, value = judge.play(board, move), -value
    assert judge.over(board)
    assert judge.solve(*board) == value


@pytest.mark.parametrize("number", range(1, 20))
def test_problems_1_to_19_have_their_scores(shared_data: Path, solver: Searcher, number: int) -> None:
    solve(solver, read(shared_data / "problems" / "fforum-1-19.obf")[number - 1])


@pytest.mark.parametrize("number", range(20, 40))
def test_problems_20_to_39_have_their_scores(shared_data: Path, solver: Searcher, number: int) -> None:
    solve(solver, read(shared_data / "problems" / "fforum-20-39.obf")[number - 20])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40, 45))
def test_problems_40_to_44_have_their_scores(shared_data: Path, solver: Searcher, number: int) -> None:
    solve(solver, read(shared_data / "problems" / "fforum-40-59.obf")[number - 40])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_all_moves_of_some_problems_have_their_scores(shared_data: Path, solver: Searcher, number: int) -> None:
    problem = read(shared_data / "problems" / "fforum-1-19.obf")[number - 1]
    solver.clear()
    lines = solver.search(*problem.board, Limits(60), multipv=64).lines
    assert {line.move: line.score for line in lines} == problem.scores
