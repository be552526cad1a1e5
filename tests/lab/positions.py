"""Generated positions of experiments."""

from __future__ import annotations

import random

from desdaemon.engine.bench.problems import by_lot, games_to
from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.rules import CORNERS, squares

_RANDOM_PLIES = 16
_CORNER = 12
"""As many of the opponent's moves is a corner worth in `simple_positions`."""


def play_positions(searcher: Searcher, number: int, empties: int, seed: int) -> list[tuple[int, int]]:
    """Positions (mover first, with a move) of games that begin with 16 random moves and go on at depth 2."""
    dice = random.Random(seed * 100 + empties)

    def choose(player: int, opponent: int, legal: int) -> int:
        if (player | opponent).bit_count() < 4 + _RANDOM_PLIES:
            return by_lot(dice, legal)
        return searcher.search(player, opponent, Limits(2)).lines[0].move

    return games_to(number, empties, choose)


def simple_positions(number: int, empties: int, seed: int) -> list[tuple[int, int]]:
    """Positions (mover first, with a move), the same for all weights.

    Of games that begin with 16 random moves and go on with those that leave the opponent the fewest replies, where a
    corner counts as twelve; among equals the lot decides.
    """
    engine = library.load(SPEC)
    dice = random.Random(seed * 100 + empties)

    def replies(square: int, player: int, opponent: int) -> int:
        flips = engine.board_flip(square, player, opponent)
        left: int = engine.board_moves(opponent ^ flips, player | flips | 1 << square)
        return left.bit_count() + _CORNER * ((left & CORNERS).bit_count() - (CORNERS >> square & 1))

    def choose(player: int, opponent: int, legal: int) -> int:
        if (player | opponent).bit_count() < 4 + _RANDOM_PLIES:
            return by_lot(dice, legal)
        left = {square: replies(square, player, opponent) for square in squares(legal)}
        return by_lot(dice, sum(1 << square for square in left if left[square] == min(left.values())))

    return games_to(number, empties, choose)
