"""The stage itself: ratings, openings, two fits, the file, and how many moves of the last two years, which are held
out, it predicts.

Programs, whose names in WTHOR have brackets, count in the ratings but teach no moves. The weights are fitted to all
games without searches, then to a part of the positions with them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from desdaemon.engine.people import policy
from desdaemon.engine.training.store import StageProgress
from desdaemon.protocol.othello.rules import PASS

from .choices import Openings, choices, search
from .fit import Fit
from .games import LAST_PLY, Games, Positions, positions_of, ratings_before, read_games
from .report import report

_KNOWN_PLIES = 24
"""Last ply of known openings."""
_HELD_YEARS = 2
_CHUNK = 5000
"""Games whose positions are in memory at a time."""
_UNKNOWN = 0.2
"""Share of the positions that are learned as if the opponent's last move were not known."""
_RECENT = 20
"""Years before the held-out ones whose positions are searched."""
_FIRST_RATES = 0.2, 0.05
"""Step sizes of the first fit at its beginning, for rows and patterns; at its end they are half."""
_SECOND_RATES = (0.1, 0.02), (0.04, 0.01)
"""Step sizes of each pass of the second fit. A third pass would learn the positions by heart."""


def run(sources: list[Path], out: Path, *, games: int, searched: int, held: int, seed: int, command: str) -> None:
    """Fit a policy to all positions of ``games`` games, then to ``searched`` positions with searched values, write it
    to ``out``, and print how many moves it predicts in ``held`` positions of the held-out years.
    """
    progress = StageProgress("policy")
    rng = np.random.default_rng(seed)
    read = read_games(sources)
    first_held = _first_held(read)
    taught = read.part(read.years < first_held)
    ratings = ratings_before(read, first_held)
    progress.say(
        f"{len(read.years)} games, {len(taught.years)} before {first_held}, ratings of "
        f"{len(np.unique(ratings.players))} players, {int(ratings.values.min())} to {int(ratings.values.max())}"
    )
    openings = Openings.of(positions_of(taught, ratings, _KNOWN_PLIES))
    progress.say(f"{len(openings.keys)} opening positions known")

    def forgotten(positions: Positions) -> Positions:
        last = np.where(rng.random(len(positions.last)) < _UNKNOWN, PASS, positions.last)
        return positions._replace(last=last)

    fit, count = Fit(seed), 0
    picked = rng.permutation(len(taught.years))[:games]
    parts = np.array_split(picked, max(1, len(picked) // _CHUNK))
    for number, part in enumerate(parts):
        few = choices(forgotten(positions_of(taught.part(part), ratings, LAST_PLY)), openings, own=True)
        fit.run(few, rng, *(rate * (1 - number / len(parts) / 2) for rate in _FIRST_RATES))
        count += len(few.chosen)
        progress.say(f"{count} positions learned")
    test = choices(_drawn(held_out(read), held, rng), openings, own=False)
    without = fit.chances(test)
    values = search(test, progress)
    recent = taught.part(taught.years >= first_held - _RECENT)
    few = choices(forgotten(_drawn(positions_of(recent, ratings, LAST_PLY), searched, rng)), openings, own=True)
    search(few, progress)
    for rates in _SECOND_RATES:
        fit.run(few, rng, *rates)
        progress.say(f"{len(few.chosen)} searched positions learned")
    record = {"command": command, "games": len(picked), "positions": count, "searched": len(few.chosen)}
    policy.write(out, fit.weights(openings, record))
    report(test, openings, values[-1], without, fit.chances(test))


def _drawn(positions: Positions, number: int, rng: np.random.Generator) -> Positions:
    return positions.part(rng.permutation(len(positions.players))[:number])


def _first_held(games: Games) -> int:
    return int(games.years.max()) - _HELD_YEARS + 1


def held_out(games: Games) -> Positions:
    """Return the positions of the last two years, with the ratings by the results of earlier years."""
    found = [
        positions_of(games.part(games.years == year), ratings_before(games, year), LAST_PLY)
        for year in range(_first_held(games), int(games.years.max()) + 1)
    ]
    return Positions(*(np.concatenate(each) for each in zip(*found, strict=True)))
