"""`desdaemon bench hard`: errors of searches against listed scores, with positions small enough for a referee."""

from __future__ import annotations

from pathlib import Path

import judge
import pytest

from desdaemon.engine.bench import known_scores
from desdaemon.engine.bench.bench import EngineBench
from desdaemon.engine.bench.problems import play_positions
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.notation import Position, board_text, move_text
from desdaemon.protocol.othello.obf import Problem, parse_problem
from desdaemon.protocol.othello.rules import legal_moves, play, squares
from desdaemon.protocol.othello.selectivity import Selectivity


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
        *_, found = known_scores.measure(weights, problems, limits, hash_bits=12)
        scores, losses = [], []
        for (player, opponent, _), _ in problems:
            searcher.clear()
            line = searcher.search(player, opponent, limits).lines[0]
            best = judge.solve(player, opponent)
            scores.append(abs(best - line.score))
            losses.append(best + judge.solve(*play(player, opponent, line.move)))
        assert (found.scores, found.losses) == (scores, losses)
        assert any(found.scores) == any(found.losses) == (limits.depth == 1)


def test_problems_without_scores_are_passed_over() -> None:
    position = parse_problem(lines_of(1)[0])
    assert position is not None
    [found] = known_scores.measure(Weights.load(), [Problem(position.position, {}), position], Limits(8))
    assert (found.scores, found.losses) == ([0], [0])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_scores, "SEARCHES", (Limits(8),))
    bench = EngineBench(Weights.load(), tmp_path, 1)
    [row] = bench.hard()
    assert row.note == "expected --problems with fforum-40-59.obf"
    for file, lines in (("fforum-40-59.obf", lines_of(2)), ("fforum-60-79.obf", lines_of(3))):
        (tmp_path / file).write_text("\n".join(lines))
    [row] = bench.hard()
    assert row.name == "8 plies at 100 %, 5 positions"
    assert row.note == "mean error 0.00 +- 0.00, best move 100.0 %, loss 0.00 +- 0.00"
