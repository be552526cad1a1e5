"""Stage `self-play`: games of the engine against itself from random openings.

Games of people visit few openings, and no game of theirs looks like what a search sees after an odd opening move. Each
game begins with a number of random moves, drawn from a range, and goes on with the engine's best moves at a fixed
depth; its last `SOLVED` empties are played perfectly.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.engine.training.labelling import boards
from desdaemon.engine.training.store import StageProgress, TrainingError, digest, load, save

from .game_files import verify

SOLVED = 12
"""Empties from which both sides play perfectly."""

BATCH = 1000
"""Games between two writes of the file."""


def play(searcher: Searcher, depth: int, random_plies: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """The moves of one game (60 squares, NO_SQUARE after the last)."""
    squares = np.full(60, boards.NO_SQUARE, np.uint8)
    player, opponent = int(boards.START_PLAYER), int(boards.START_OPPONENT)
    ply = 0
    while True:
        legal = int(boards.legal_moves(np.uint64(player), np.uint64(opponent)))
        if not legal:
            player, opponent = opponent, player
            legal = int(boards.legal_moves(np.uint64(player), np.uint64(opponent)))
            if not legal:
                return squares
        empties = 60 - ply
        if ply < random_plies:
            moves = [square for square in range(64) if legal >> square & 1]
            move = moves[int(random.integers(len(moves)))]
        else:
            limits = Limits(empties if empties <= SOLVED else depth)
            move = searcher.search(player, opponent, limits).lines[0].move
        squares[ply] = move
        ply += 1
        following = boards.play(np.uint64(player), np.uint64(opponent), move)
        player, opponent = int(following[0]), int(following[1])


def run(
    out: Path,
    *,
    count: int,
    weights: Path,
    depth: int,
    first_random: int,
    last_random: int,
    seed: int,
    workers: int,
    seconds: float,
) -> None:
    """Write up to `count` games, each begun with first_random..last_random random moves; goes on with those in `out`.

    A game's random moves depend on the seed and the game's number alone.
    """
    progress = StageProgress("self-play")
    made: dict[str, Any] = {"depth": depth, "random": [first_random, last_random], "seed": seed}
    squares = np.empty((0, 60), np.uint8)
    if out.exists():
        before, old = load(out)
        if any(old.get(key) != value for key, value in made.items()):
            raise TrainingError(f"{out}: holds games of another kind: {old}")
        squares = before["played"]
        progress.say(f"{len(squares)} games are there already")
    searchers: SimpleQueue[Searcher] = SimpleQueue()
    for _ in range(workers):
        searchers.put(Searcher(hash_bits=16, weights=Weights.load(weights)))

    def game(number: int) -> NDArray[np.uint8]:
        random = np.random.default_rng([seed, 4, number])
        searcher = searchers.get()
        found = play(searcher, depth, int(random.integers(first_random, last_random + 1)), random)
        searchers.put(searcher)
        return found

    with ThreadPoolExecutor(workers) as pool:
        while len(squares) < count and not 0 < seconds < progress.seconds:
            numbers = range(len(squares), min(count, len(squares) + BATCH))
            squares = np.concatenate([squares, np.stack(list(pool.map(game, numbers)))])
            arrays, account = verify(squares)
            record = {"stage": "self-play", **made, "weights": str(weights.name), **account}
            save(out, {**arrays, "played": squares}, {**record, "digest": digest(arrays["squares"])}, compress=True)
            progress.say(f"{len(squares)} of {count} games")
