"""`desdaemon bench moves`: losses of moves against exact scores, with positions small enough for a referee."""

from __future__ import annotations

from collections.abc import Iterator

import judge
import pytest

from desdaemon.engine.bench import move_losses
from desdaemon.engine.bench.bench import EngineBench, Plan
from desdaemon.engine.bench.move_losses import MoveLosses
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
    seen = []
    for found in move_losses.measure(weights, 30, 5, empties=9):
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
    assert (move_losses.mean([]), move_losses.standard_error([])) == (0, 0)
    assert (move_losses.mean([0, 0, 2, 2]), move_losses.standard_error([0, 0, 2, 2])) == (1, 0.5)


def test_an_interrupt_ends_it_with_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[list[MoveLosses]]:
        yield [MoveLosses(Limits(16, Selectivity(73)), [0, 2, 4], nodes=10, seconds=0.5)]
        raise KeyboardInterrupt

    monkeypatch.setattr(move_losses, "measure", interrupted)
    bench = EngineBench(Weights.load(), None, 1)
    bench.plan = Plan(positions=5)
    [only] = bench.moves()
    assert only[:3] == ("16 plies at 73 %", 0.5, 10)
    assert only.note.startswith("3 positions, best move 33.3 %, loss 2.000 +- 0.943, where 0 moves differ")
