"""`python tests/lab selectivity`: what it measures is so, and selective searches are right as often as they promise."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from lab import selectivity

from desdaemon.engine.evaluation.weights import Weights


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
