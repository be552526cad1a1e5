"""Openings to begin a match's games with: those of a file, or lines made by a rule.

The rule: eight moves drawn by lot from the start, kept when neither edge nor X-square has been touched (every disc is
within B2..G7, its corners excluded), when both sides have at least three discs and their numbers of moves differ by two
at most, and when no line that leads to the same board, mirrored or turned, was kept before. Such lines are sharper than
those people play, never lost, and there are thousands of them; each is played with both colours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from desdaemon.protocol import rules
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.game_bases import read_games
from desdaemon.protocol.games import GameRecord, PlayedMove
from desdaemon.protocol.notation import START

PLIES = 8
MOST = 2000
"""Openings of the rule in one match."""

_INNER = 0x003C_7E7E_7E7E_3C00
_LEAST_DISCS = 3
_MOST_DIFFERENCE = 2


def made_openings(count: int, seed: int = 1) -> list[GameRecord]:
    """``count`` different openings of the rule; the same seed gives the same, in the same order. Raises `BadInput`."""
    if not 1 <= count <= MOST:
        raise BadInput(f"{count} openings: expected 1 to {MOST} without a file of openings")
    lines = _lines(random.Random(seed))
    return [GameRecord(START, tuple(PlayedMove(move, 0.0) for move in next(lines))) for _ in range(count)]


def _lines(chance: random.Random) -> Iterator[list[int]]:
    seen = set()
    while True:
        player, opponent = rules.START
        moves: list[int] = []
        while len(moves) < PLIES:
            inner = rules.squares(rules.legal_moves(player, opponent) & _INNER)
            if not inner:
                break
            # `Random.choice` may draw otherwise in another Python.
            moves.append(inner[int(chance.random() * len(inner))])
            player, opponent = rules.play(player, opponent, moves[-1])
        board = rules.canonical(player, opponent)
        if len(moves) == PLIES and board not in seen and _even(player, opponent):
            seen.add(board)
            yield moves


def _even(player: int, opponent: int) -> bool:
    mine, theirs = (rules.legal_moves(*sides).bit_count() for sides in ((player, opponent), (opponent, player)))
    fewest = min(player.bit_count(), opponent.bit_count())
    return min(mine, theirs) > 0 and abs(mine - theirs) <= _MOST_DIFFERENCE and fewest >= _LEAST_DISCS


def openings_of_file(path: str, plies: int = 60) -> list[GameRecord]:
    """The games of a file, each cut after that many moves; what is over by then is left out. Raises `BadInput`."""
    openings = []
    for game in read_games(path):
        opening = GameRecord(game.record.initial, game.record.moves[:plies])
        if not opening.final.over:
            openings.append(opening)
    if not openings:
        raise BadInput(f"{quoted(path)}: expected games that go on after {plies} plies")
    return openings
