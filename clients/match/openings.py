"""Openings to begin a match's games with: those of a file, or those of the list."""

from __future__ import annotations

import random

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, parse_moves

from .opening_lines import LINES

PLIES = 8


def listed_openings(count: int, seed: int = 1) -> list[GameRecord]:
    """``count`` different openings of the list, in an order that the seed decides.

    Raises `BadInput` where there are not so many.
    """
    lines = LINES.split()
    if not 1 <= count <= len(lines):
        raise BadInput(f"{count} openings: expected at most {len(lines)}, or a file of openings")
    chance = random.Random(seed)
    chosen = []
    for _ in range(count):
        # `Random.sample` may draw otherwise in another Python.
        at = int(chance.random() * len(lines))
        lines[at], lines[-1] = lines[-1], lines[at]
        chosen.append(lines.pop())
    return [GameRecord(START, tuple(PlayedMove(move, 0.0) for move in parse_moves(line))) for line in chosen]


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
