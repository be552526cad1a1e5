"""How the option `strength` plays: as people of that rating, but with fewer mistakes.

Moves drawn as people of a rating choose them play weaker than these people, since the draws mix the mistakes of many,
and the more so the higher the rating. So the chance of each move is multiplied by e to the power of its value, in discs
by a search, times a weight: `WEIGHTS` has those with which two strengths score against each other as people do whose
ratings differ as much. Moves that let the opponent take a corner are made less likely besides: opponents that are
programs take more of the corners that are left to them than people do.

Below `LEAST_KNOWN` there are no people to learn from. There a strength plays a share of its moves, `SHARES`, as an
invented beginner does: by lot, a move the likelier the more discs it turns, and squares beside a corner much likelier.
The other moves are those of `LEAST_KNOWN`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity

from .policy import HumanPolicy
from .rows import LEAST_KNOWN, LEAST_RATING

RARE = 0.03
"""With a weight, moves are left out that are less likely than this times the chance of the likeliest."""
CORNER = 0.5
"""What the chance of a move is multiplied by for each corner that it lets the opponent take."""
SEARCH = Limits(7, Selectivity.PERCENT_73)
"""Limits of the search after each move."""
SOLVED_EMPTIES = 10
"""Most empty squares after a move from which it is searched to the end."""
_HASH_BITS = 14

WEIGHTS = (
    (LEAST_RATING, 0.0),
    (LEAST_KNOWN, 0.0),
    (1000, 0.015),
    (1300, 0.015),
    (1600, 0.045),
    (1800, 0.06),
    (2000, 0.12),
    (2200, 0.225),
    (2300, 0.35),
    (2400, 0.56),
    (2500, 2.0),
    (2700, 4.0),
)
"""The weight, per disc, of some strengths, drawn by hand through games of `python tests/lab strengths`
(docs/training.md); others lie on lines between.
"""

SHARES = (
    (LEAST_RATING, 1.0),
    (300, 0.63),
    (500, 0.28),
    (600, 0.16),
    (LEAST_KNOWN, 0.0),
)
"""The share of a beginner's moves at some strengths, drawn by hand through games as `WEIGHTS` was; others lie on lines
between.
"""
BESIDE = 0x42C3_0000_0000_C342
"""Mask of the squares beside a corner."""
TASTE = 20
"""How many times likelier a beginner plays on a square beside a corner than on another one."""


def weight_of(strength: float) -> float:
    """Return the weight of values at a strength."""
    return _between(WEIGHTS, strength)


def share_of(strength: float) -> float:
    """Return the share of a beginner's moves at a strength, from 0 to 1."""
    return _between(SHARES, strength)


def _between(table: Sequence[tuple[int, float]], strength: float) -> float:
    strength = min(max(table[0][0], strength), table[-1][0])
    place = min(max(1, bisect_right([row[0] for row in table], strength)), len(table) - 1)
    (low, first), (high, second) = table[place - 1 : place + 1]
    return first + (second - first) * (strength - low) / (high - low)


def beginners(player: int, opponent: int) -> dict[int, float]:
    """Return the chances, from 0 to 1, of the legal moves of ``player``, who has at least one, as a beginner draws."""
    chances = {
        move: rules.flips(player, opponent, move).bit_count() * (TASTE if BESIDE >> move & 1 else 1.0)
        for move in rules.squares(rules.legal_moves(player, opponent))
    }
    total = sum(chances.values())
    return {move: each / total for move, each in chances.items()}


class StrengthPolicy:
    """Moves as the option `strength` plays them. For one thread at a time."""

    def __init__(self, people: HumanPolicy) -> None:
        self.people = people
        self._searcher = Searcher(hash_bits=_HASH_BITS)

    @classmethod
    @cache
    def load(cls) -> StrengthPolicy:
        """Return that of the shipped policy, made once in a process; raises what `HumanPolicy.load` raises."""
        return cls(HumanPolicy.load())

    def probabilities(
        self, player: int, opponent: int, strength: float, last: int = rules.PASS, weight: float | None = None
    ) -> dict[int, float]:
        """Return the chances, from 0 to 1, of the legal moves of ``player``, who has at least one; moves that are left
        out have none. ``last`` is as for `HumanPolicy.probabilities`; ``weight`` replaces that of the strength.
        """
        chances = self.chances(player, opponent, strength, last)
        return self.raised(chances, player, opponent, weight_of(strength) if weight is None else weight)

    def chances(self, player: int, opponent: int, strength: float, last: int = rules.PASS) -> dict[int, float]:
        """Return the chances of moves before their values count: those of people, below `LEAST_KNOWN` mixed with a
        beginner's.
        """
        people = self.people.probabilities(player, opponent, max(strength, LEAST_KNOWN), last)
        share = share_of(strength)
        drawn = beginners(player, opponent)
        return {move: chance + share * (drawn[move] - chance) for move, chance in people.items()}

    def raised(self, chances: dict[int, float], player: int, opponent: int, weight: float) -> dict[int, float]:
        """Return what `probabilities` returns for a weight, from the ``chances`` without one."""
        if not weight:
            return chances
        rare = RARE * max(chances.values())
        likely = {move: chance for move, chance in chances.items() if chance >= rare}
        if len(likely) == 1:
            return dict.fromkeys(likely, 1.0)
        children = [rules.play(player, opponent, move) for move in likely]
        corners = [(rules.legal_moves(*child) & rules.CORNERS).bit_count() for child in children]
        values = self._values(children)
        best = max(values)
        raised = {
            move: chance * CORNER**given * math.exp(weight * (value - best))
            for (move, chance), given, value in zip(likely.items(), corners, values, strict=True)
        }
        total = sum(raised.values())
        return {move: each / total for move, each in raised.items()}

    def _values(self, children: list[tuple[int, int]]) -> list[float]:
        """Return the values, in discs for the side that has moved, of the positions after a position's moves, by
        `SEARCH`; with at most `SOLVED_EMPTIES` empty squares to the end.
        """
        solved = rules.empties(*children[0]) <= SOLVED_EMPTIES
        self._searcher.clear()
        return [
            -float(score) for score in self._searcher.scores(children, Limits(SOLVED_EMPTIES) if solved else SEARCH)
        ]
