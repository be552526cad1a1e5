"""People's moves: chances of all legal moves, one draw for one seed, and errors that a higher rating avoids."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.limits import Limits
from desdaemon.engine.people.policy import HumanPolicy, drawn
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello import rules

pytestmark = pytest.mark.skipif(INTERPRETED, reason="searches as Python")

RATINGS = (800, 1200, 1600, 2000, 2400)


@pytest.fixture(scope="module")
def people() -> HumanPolicy:
    return HumanPolicy.load()


@pytest.fixture(scope="module")
def positions(people: HumanPolicy) -> list[tuple[int, int]]:
    """Positions with a choice of games that people of 1600 play."""
    found = []
    for seed in range(8):
        player, opponent = rules.START
        while not rules.is_over(player, opponent):
            if not rules.legal_moves(player, opponent):
                player, opponent = opponent, player
            if rules.legal_moves(player, opponent).bit_count() > 1:
                found.append((player, opponent))
            chances = people.probabilities(player, opponent, 1600)
            player, opponent = rules.play(player, opponent, drawn(chances, player, opponent, seed))
    return random.Random(1).sample(found, 120)


def test_every_legal_move_has_a_chance(people: HumanPolicy, positions: list[tuple[int, int]]) -> None:
    for player, opponent in positions[::4]:
        for rating in RATINGS:
            chances = people.probabilities(player, opponent, rating)
            assert sum(1 << move for move in chances) == rules.legal_moves(player, opponent)
            assert min(chances.values()) >= 0
            assert sum(chances.values()) == pytest.approx(1)


def test_the_same_seed_draws_the_same_move_and_all_seeds_by_the_chances(people: HumanPolicy) -> None:
    player, opponent = rules.START
    for move in (37, 43, 18):
        player, opponent = rules.play(player, opponent, move)
    chances = people.probabilities(player, opponent, 1500)
    moves = [drawn(chances, player, opponent, seed) for seed in range(1, 501)]
    assert moves == [drawn(chances, player, opponent, seed) for seed in range(1, 501)]
    for move, chance in chances.items():
        assert Counter(moves)[move] / 500 == pytest.approx(chance, abs=0.1)


def test_a_higher_rating_finds_the_best_move_more_often_and_loses_less(
    people: HumanPolicy, positions: list[tuple[int, int]]
) -> None:
    """By a search of six plies, which the policy does not see."""
    searcher = Searcher(hash_bits=16)
    values = []
    for player, opponent in positions:
        lines = searcher.search(player, opponent, Limits(6), multipv=40).lines
        values.append({line.move: line.score for line in lines})
    shares, losses = [], []
    for rating in RATINGS:
        best = lost = 0.0
        for (player, opponent), scores in zip(positions, values, strict=True):
            chances = people.probabilities(player, opponent, rating)
            most = max(scores.values())
            best += sum(chance for move, chance in chances.items() if scores[move] == most)
            lost += sum(chance * (most - scores[move]) for move, chance in chances.items())
        shares.append(best / len(positions))
        losses.append(lost / len(positions))
    assert shares == sorted(shares)
    assert losses == sorted(losses, reverse=True)
    assert shares[-1] > shares[0] + 0.1
    assert losses[0] > 1.5 * losses[-1]
