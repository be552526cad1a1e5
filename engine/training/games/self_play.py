"""Stage `self-play`: games of an evaluation against itself, for positions that people do not reach.

A game begins with 6 to 12 random moves. Then each side makes the move that looks best at once, by the static evaluation
and some noise: one core plays ten thousand games a second. The last ten moves are left out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from desdaemon.engine.training.labelling import boards, positions
from desdaemon.engine.training.store import Arrays, StageProgress, digest, save
from desdaemon.engine.training.validate import Static, static_of

_RANDOM_MOVES = 6, 12
_LENGTH = 50

_EVEN = 12.0
"""After the random moves a game goes on if the evaluation is within so many discs of even."""

_BATCH = 10_000
"""Games played side by side. Each batch has a seed of its own, so that more games begin with the same ones."""


def play(static: Static, count: int, rng: np.random.Generator, noise: float) -> Arrays:
    """Play ``count`` games and return those that stayed even, as arrays of stage `games`.

    ``noise`` is the standard deviation, in discs, of what is added to the score of each move.
    """
    players = np.full(count, boards.START_PLAYER, np.uint64)
    opponents = np.full(count, boards.START_OPPONENT, np.uint64)
    squares = np.full((count, 60), boards.NO_SQUARE, np.uint8)
    random_moves = rng.integers(_RANDOM_MOVES[0], _RANDOM_MOVES[1] + 1, count)
    going = np.arange(count)
    for ply in range(_LENGTH):
        if ply == _RANDOM_MOVES[1]:
            going = going[np.abs(static(players[going], opponents[going], ply)) <= _EVEN]
        own, other, parents = positions.successors(players[going], opponents[going])
        games = going[parents]
        drawn = rng.normal(0, 1, len(own))
        values = np.where(ply < random_moves[games], drawn, noise * drawn - static(own, other, ply + 1))
        # Sorted by game and value: the last of each game is its best move.
        order = np.lexsort((values, games))
        best = order[np.append(games[order][1:] != games[order][:-1], True)] if len(order) else order
        # A game that has ended has no successors.
        going = games[best]
        placed = (own[best] | other[best]) ^ (players[going] | opponents[going])
        squares[going, ply] = np.log2(placed.astype(np.float64)).astype(np.uint8)
        players[going], opponents[going] = own[best], other[best]
    played = squares[squares[:, _RANDOM_MOVES[1]] != boards.NO_SQUARE]
    lengths, scores = np.zeros(len(played), np.uint8), np.zeros(len(played), np.int8)
    finished = np.zeros(len(played), np.bool_)
    boards.replay(played, lengths, scores, finished)
    return {"squares": played, "lengths": lengths, "scores": scores, "finished": finished}


def run(weights: Path, out: Path, *, games: int, noise: float, seed: int) -> None:
    """Play ``games`` games and write those that stayed even to ``out``, about half of them."""
    progress = StageProgress("self-play")
    static = static_of(weights)
    parts: list[Arrays] = []
    for first in range(0, games, _BATCH):
        rng = np.random.default_rng([seed, 4, first])
        count = min(_BATCH, games - first)
        parts.append(play(static, count, rng, noise))
        progress.now_and_then(f"{first + count} of {games} games")
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    count = len(joined["lengths"])
    record = {
        "stage": "self-play",
        "games": count,
        "played": games,
        "noise": noise,
        "seed": seed,
        "digest": digest(joined["squares"]),
    }
    save(out, joined, record, compress=True)
    progress.say(f"{count} of {games} games stayed even")
