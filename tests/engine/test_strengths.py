"""How strengths play: people's chances times what moves are worth, and more so the higher the strength."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import referee

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.policy import HumanPolicy
from desdaemon.engine.search import Searcher
from desdaemon.engine.strength import RARE, SEARCHES, WEIGHTS, StrengthPolicy, weight_of
from desdaemon.protocol.commands.options import GREATEST_STRENGTH, LEAST_STRENGTH
from desdaemon.protocol.othello import rules

PLIES = (5, 18, 33)


def test_the_table_has_all_strengths_and_values_count_more_for_the_higher() -> None:
    assert (WEIGHTS[0][0], WEIGHTS[-1][0]) == (LEAST_STRENGTH, GREATEST_STRENGTH)
    weights = [weight_of(strength) for strength in range(LEAST_STRENGTH, GREATEST_STRENGTH + 1)]
    assert weights == sorted(weights)
    for strength, weight in WEIGHTS:
        assert weight_of(strength) == weight
    for (low, first), (high, second) in pairwise(WEIGHTS):
        assert weight_of((low + high) / 2) == pytest.approx((first + second) / 2)


@pytest.mark.skipif(INTERPRETED, reason="searches as Python")
@pytest.mark.parametrize("plies", PLIES)
@pytest.mark.parametrize("strength", [800, 1500, 2500])
def test_chances_are_those_of_people_times_what_the_moves_are_worth(plies: int, strength: int) -> None:
    """By searches of their own, of each move alone; selective ones may find other values than those of all moves, which
    share a table.
    """
    position = referee.to_bits(referee.random_position(1, plies))
    people = HumanPolicy.load().probabilities(*position, strength)
    playing = StrengthPolicy.load()
    assert playing.probabilities(*position, strength, weight=0.0) == people
    found = playing.probabilities(*position, strength, weight=0.25)
    assert set(found) == {move for move, chance in people.items() if chance >= RARE * max(people.values())}
    assert sum(found.values()) == pytest.approx(1)
    limits = [limits for least, limits in SEARCHES if strength >= least][-1]
    off = 0 if limits.selectivity == 100 else 3
    values = {}
    for move in found:
        after = rules.play(*position, move)
        values[move] = -Searcher(hash_bits=14).search(*after, limits).lines[0].score
    for (one, chance), (other, another) in pairwise(found.items()):
        raised = math.log(chance / another) - math.log(people[one] / people[other])
        assert raised / 0.25 == pytest.approx(values[one] - values[other], abs=off + 1e-6)
