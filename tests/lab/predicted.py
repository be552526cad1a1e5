"""`python tests/lab predicted WTHOR`: how many moves of people the policy that ships, and strengths, guess.

The positions are drawn from the two last years of WTHOR's files, in which people had a choice from ply 4 on; the policy
learned the years before. A guess is the likeliest move for the player's rating, by the policy alone and as the strength
of that name plays, with its search.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from desdaemon.engine.people.fitting.choices import NEWCOMER
from desdaemon.engine.people.fitting.games import read_games
from desdaemon.engine.people.fitting.stage import held_out
from desdaemon.engine.people.strength import StrengthPolicy, weight_of
from desdaemon.engine.training.store import write_line
from desdaemon.protocol.command_line import Parser, whole


def main(arguments: list[str]) -> int:
    """Print the shares; returns the exit status."""
    parser = Parser(prog="python tests/lab predicted", description=__doc__)
    parser.add_argument("wthor", metavar="WTHOR", type=Path)
    parser.add_argument("--positions", type=whole(1, 10**6), default=40_000)
    parser.add_argument("--seed", type=int, default=1, help="which positions")
    asked = parser.parse_args(arguments)
    positions = held_out(read_games([asked.wthor]))
    order = np.random.default_rng(asked.seed).permutation(len(positions.players))[: asked.positions]
    policy = StrengthPolicy.load()
    alone = searched = 0
    for player, opponent, square, rating, last in zip(*(each[order].tolist() for each in positions), strict=True):
        strength = NEWCOMER if math.isnan(rating) else rating
        people = policy.people.probabilities(player, opponent, strength, last)
        played = policy.raised(people, player, opponent, weight_of(strength))
        alone += max(people, key=lambda move: people[move]) == square
        searched += max(played, key=lambda move: played[move]) == square
    for name, right in (("policy", alone), ("strengths", searched)):
        share = right / len(order)
        error = math.sqrt(share * (1 - share) / len(order))
        write_line(f"{name:10} {100 * share:6.2f} +- {100 * error:4.2f} % of {len(order)} positions")
    return 0
