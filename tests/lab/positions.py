"""Generated positions of experiments."""

from __future__ import annotations

import random
from collections.abc import Iterator

from desdaemon.engine.bench.problems import by_lot, games_to
from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.rules import CORNERS, MOST_MOVES, canonical, legal_moves, squares

_RANDOM_PLIES = 16
_RANDOM_STARTS = 8, 16
_NOISE = 2.0
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


def plausible_positions(searcher: Searcher, number: int, empties: int, seed: int) -> Iterator[tuple[int, int]]:
    """Canonical positions (mover first, with a choice of moves), no two alike, each of a game of its own.

    A game begins with 8 to 16 random moves and goes on with those that a search of 4 plies thinks best when each score
    is off by a normal error of `_NOISE` discs.
    """
    dice = random.Random(seed * 100 + empties)
    seen: set[tuple[int, int]] = set()
    while len(seen) < number:
        searcher.clear()
        plies = dice.randint(*_RANDOM_STARTS)

        def choose(player: int, opponent: int, legal: int, plies: int = plies) -> int:
            if (player | opponent).bit_count() < 4 + plies:
                return by_lot(dice, legal)
            lines = searcher.search(player, opponent, Limits(4), multipv=MOST_MOVES).lines
            return max((line.score + dice.gauss(0, _NOISE), line.move) for line in lines)[1]

        position = canonical(*games_to(1, empties, choose)[0])
        if position not in seen and legal_moves(*position).bit_count() > 1:
            seen.add(position)
            yield position


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
