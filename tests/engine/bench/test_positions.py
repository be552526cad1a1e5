"""The generated positions of the measurements."""

from __future__ import annotations

from statistics import mean

import pytest
from lab.positions import simple_positions

from desdaemon.engine.bench.problems import random_problems
from desdaemon.protocol.othello.rules import legal_moves


@pytest.mark.parametrize("empties", [40, 30, 12])
def test_simple_play_leaves_few_replies(empties: int) -> None:
    found = simple_positions(40, empties, 1)
    assert len(set(found)) > 35
    assert {64 - (player | opponent).bit_count() for player, opponent in found} == {empties}
    replies = [legal_moves(*board).bit_count() for board in found]
    assert min(replies) > 0
    by_lot = [legal_moves(*problem.position[:2]).bit_count() for problem in random_problems(40, empties, 1)]
    assert mean(replies) < 0.8 * mean(by_lot)


def test_the_seed_decides_the_positions_of_simple_play() -> None:
    assert simple_positions(5, 36, 1) == simple_positions(5, 36, 1) != simple_positions(5, 36, 2)
