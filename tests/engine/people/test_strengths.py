"""How strengths play: people's chances times what moves are worth, and more so the higher the strength."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise
from operator import and_
from pathlib import Path

import pytest
import referee

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.people.policy import HumanPolicy
from desdaemon.engine.people.rows import GREATEST_RATING, LEAST_RATING
from desdaemon.engine.people.strength import CORNER, RARE, SEARCH, WEIGHTS, StrengthPolicy, weight_of
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, parse_moves, play_moves

PLIES = (5, 18, 33)


def test_the_table_has_all_strengths_and_values_count_more_for_the_higher() -> None:
    assert (WEIGHTS[0][0], WEIGHTS[-1][0]) == (LEAST_RATING, GREATEST_RATING)
    weights = [weight_of(strength) for strength in range(LEAST_RATING, GREATEST_RATING + 1)]
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
    corners = {1 << square for square in (0, 7, 56, 63)}
    people = HumanPolicy.load().probabilities(*position, strength)
    playing = StrengthPolicy.load()
    assert playing.probabilities(*position, strength, weight=0.0) == people
    found = playing.probabilities(*position, strength, weight=0.25)
    assert set(found) == {move for move, chance in people.items() if chance >= RARE * max(people.values())}
    assert sum(found.values()) == pytest.approx(1)
    worth = {}
    for move in found:
        after = rules.play(*position, move)
        value = -Searcher(hash_bits=14).search(*after, SEARCH).lines[0].score
        given = sum(1 for corner in corners if corner & rules.legal_moves(*after))
        worth[move] = value + given * math.log(CORNER) / 0.25
    for (one, chance), (other, another) in pairwise(found.items()):
        raised = math.log(chance / another) - math.log(people[one] / people[other])
        assert raised / 0.25 == pytest.approx(worth[one] - worth[other], abs=3)


@pytest.mark.skipif(INTERPRETED, reason="searches as Python")
def test_corners_are_left_less_often_than_people_left_them_but_nearly_as_often() -> None:
    """In the positions of twenty games by lot of WTHOR's of 2024 and 2025, which taught the policy nothing, by the
    strength that the player's rating names. A corner is left where another move would have denied it.
    """
    playing = StrengthPolicy.load()
    expected = people = 0.0
    for line in (Path(__file__).parent / "games_of_people.txt").read_text().splitlines():
        black, white, moves = line.split()
        position, last = START, rules.PASS
        for move in play_moves(START, parse_moves(moves)).moves:
            open_corners = {
                other: position.after(other).moves & rules.CORNERS for other in rules.squares(position.moves)
            }
            denied = ~reduce(and_, open_corners.values(), rules.CORNERS)
            leaving = {other for other, corners in open_corners.items() if corners & denied}
            if leaving:
                rating = int(black if position.black_to_move else white)
                chances = playing.probabilities(position.player, position.opponent, rating, last)
                expected += sum(chances.get(other, 0) for other in leaving)
                people += move in leaving
            position, last = position.after(move), move
    assert 0.75 * people < expected < 0.9 * people
