"""How strengths play: people's chances times what moves are worth, and more so the higher the strength."""

from __future__ import annotations

import math
import random
from functools import reduce
from itertools import pairwise
from operator import and_
from pathlib import Path

import pytest
import referee

from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.people.policy import HumanPolicy, drawn
from desdaemon.engine.people.rows import GREATEST_RATING, LEAST_KNOWN, LEAST_RATING
from desdaemon.engine.people.strength import (
    CORNER,
    RARE,
    SEARCH,
    SHARES,
    TASTE,
    WEIGHTS,
    StrengthPolicy,
    beginners,
    share_of,
    weight_of,
)
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


def test_beginners_play_fewer_of_the_moves_the_higher_the_strength_and_none_of_known_people() -> None:
    assert (SHARES[0], SHARES[-1]) == ((LEAST_RATING, 1.0), (LEAST_KNOWN, 0.0))
    shares = [share_of(strength) for strength in range(LEAST_RATING, LEAST_KNOWN + 1)]
    assert all(more > less for more, less in pairwise(shares))
    assert share_of(GREATEST_RATING) == 0


def test_beginners_like_to_turn_discs_and_to_play_beside_corners() -> None:
    moves = "f5d6c3d3c4f4f6f3e6e7d7"
    position = play_moves(START, parse_moves(moves)).last
    cells = referee.from_bits(position.player, position.opponent)
    turned = {move: len(referee.flips(cells, move)) for move in referee.legal_moves(cells)}
    beside = {referee.square(name) for name in ("a2", "b1", "b2", "g1", "g2", "h2", "a7", "b7", "b8", "g7", "g8", "h7")}
    assert beside & turned.keys()
    wanted = {move: count * (TASTE if move in beside else 1) for move, count in turned.items()}
    found = beginners(position.player, position.opponent)
    assert found == pytest.approx({move: each / sum(wanted.values()) for move, each in wanted.items()})


def test_beginners_lose_to_random_moves() -> None:
    points = 0.0
    for seed in range(60):
        cells, lot = referee.start(), random.Random(seed)
        black = True
        while not referee.game_over(cells):
            if not referee.legal_moves(cells):
                cells = referee.passed(cells)
            elif black == (seed % 2 == 0):
                cells = referee.play(cells, drawn(beginners(*referee.to_bits(cells)), *referee.to_bits(cells), seed))
            else:
                cells = referee.play(cells, lot.choice(referee.legal_moves(cells)))
            black = not black
        score = referee.final_score(cells) * (1 if black == (seed % 2 == 0) else -1)
        points += (score > 0) + (score == 0) / 2
    assert points < 24


@pytest.mark.skipif(INTERPRETED, reason="searches as Python")
def test_strengths_between_mix_beginners_with_people() -> None:
    position = referee.to_bits(referee.random_position(1, 20))
    people = HumanPolicy.load().probabilities(*position, LEAST_KNOWN)
    playing, beginning = StrengthPolicy.load(), beginners(*position)
    assert playing.probabilities(*position, LEAST_KNOWN) == people
    assert playing.probabilities(*position, LEAST_RATING) == pytest.approx(beginning)
    found, share = playing.probabilities(*position, 400), share_of(400)
    assert found == pytest.approx({move: (1 - share) * people[move] + share * beginning[move] for move in people})


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
    """In the positions of ten games by lot of WTHOR's of 2024 and 2025, which taught the policy nothing, by the
    strength that the player's rating names. A corner is left where another move would have denied it.
    """
    playing = StrengthPolicy.load()
    expected = people = 0.0
    for line in (Path(__file__).parent / "games_of_people.txt").read_text().splitlines()[::2]:
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
