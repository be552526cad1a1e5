"""`desdaemon bench moves`: losses of moves against exact scores, with positions small enough for a referee."""

from __future__ import annotations

import judge
import pytest

from desdaemon.engine.bench import move_losses
from desdaemon.engine.bench.problems import play_positions
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.rules import play
from desdaemon.protocol.othello.selectivity import Selectivity


@pytest.mark.compiled
def test_losses_are_those_of_the_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (Limits(1, Selectivity(73)), Limits(2, Selectivity(73)), Limits(9))
    monkeypatch.setattr(move_losses, "SEARCHES", limits)
    weights = Weights.load()
    seen: list[int] = []
    found = move_losses.measure(weights, 30, 5, seen.append, empties=9)
    assert seen == list(range(30))

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
        assert loss.mean == sum(losses) / 30
    assert found[0].best < 30, "a search of one ply errs somewhere"
    assert found[-1].best == 30
    assert found[0].others == 0
    assert found[-1].first_mean > found[-1].other_mean == 0
