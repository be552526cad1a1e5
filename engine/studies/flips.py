"""The number of discs that a move turns, by ply, over random games."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.engine.layout import WORD
from desdaemon.engine.memory import Block

from .compiled import Progress, in_parallel, kernels, processors, silent
from .layout import FLIP_COLUMNS, GAME_PLIES

_GAMES_AT_ONCE = 5_000


class PlyFlips(NamedTuple):
    """One ply: discs turned by a legal move, mean and standard deviation, and by the move played, mean.

    ``games`` reached it; the means are 0 where none did.
    """

    ply: int
    games: int
    mean: float
    deviation: float
    played: float


def count_flips(games: int, seed: int = 1, progress: Progress = silent) -> list[PlyFlips]:
    """Flips of each ply over random games from the opening position, every legal move as likely as another.

    All legal moves of a position count, those of all positions of a ply alike; passes are no plies. The same seed and
    number of games give the same figures. Raises ValueError for less than one game.
    """
    if games < 1:
        raise ValueError(f"{games} games: expected 1 or more")
    library = kernels(progress)
    parts = [(seed << 32) + at for at in range(0, games, _GAMES_AT_ONCE)]

    def play(part: int) -> list[int]:
        block = Block(WORD * FLIP_COLUMNS * GAME_PLIES)
        number = min(_GAMES_AT_ONCE, games - (part - (seed << 32)))
        # Far apart, so that no two parts share a stretch of the generator.
        library.random_games(part * 0xD1B54A32D192ED03 % (1 << 64), number, block.address)
        return list(block.words()[: FLIP_COLUMNS * GAME_PLIES])

    sums = [0] * (FLIP_COLUMNS * GAME_PLIES)
    for done, found in enumerate(in_parallel(play, parts, processors()), 1):
        sums = [one + other for one, other in zip(sums, found, strict=True)]
        progress("games", min(games, done * _GAMES_AT_ONCE), games)
    return [_ply(ply + 1, sums[FLIP_COLUMNS * ply : FLIP_COLUMNS * (ply + 1)]) for ply in range(GAME_PLIES)]


def _ply(ply: int, sums: list[int]) -> PlyFlips:
    moves, turned, squares, games, played = sums
    mean = turned / moves if moves else 0.0
    variance = squares / moves - mean * mean if moves else 0.0
    return PlyFlips(ply, games, mean, max(0.0, variance) ** 0.5, played / games if games else 0.0)


def mean_of_plies(found: list[PlyFlips]) -> tuple[float, float]:
    """The means over the plies that were reached, each counted once: of all legal moves, of those played."""
    reached = [ply for ply in found if ply.games]
    return (
        sum(ply.mean for ply in reached) / len(reached),
        sum(ply.played for ply in reached) / len(reached),
    )
