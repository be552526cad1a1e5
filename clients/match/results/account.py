"""The JSON report of a match; docs/match.md describes its fields."""

from __future__ import annotations

import math
from typing import Any

from .ratings import Ratings
from .report import MatchOutcome
from .scores import PairingScore, Standing
from .statistics import Elo

FORMAT = 2
"""Raised when a key changes its meaning or goes."""


def account(found: MatchOutcome, about: dict[str, Any], programs: list[dict[str, Any]]) -> dict[str, Any]:
    """The data of the report; ``about`` holds the settings, ``programs`` an entry for each."""
    described = [
        {"name": name, **program, **_standing(one)}
        for name, program, one in zip(found.names, programs, found.standings, strict=True)
    ]
    return {
        "format": FORMAT,
        **about,
        "games": len(found.games),
        "different_games": found.different,
        "failed": found.names[found.failed] if found.failed >= 0 else None,
        "programs": described,
        "pairings": [
            {"first": first, "second": second, **_pairing(one, elo)}
            for (first, second), one, elo in zip(found.schedule.pairings, found.tallies, found.elo, strict=True)
        ],
        "ratings": _ratings(found.ratings),
        "sprt": found.test._asdict() if found.test else None,
    }


def _standing(one: Standing) -> dict[str, Any]:
    return {
        "games": one.games,
        "wins": one.wins,
        "draws": one.draws,
        "losses": one.losses,
        "points": one.points,
        "discs": one.discs,
        "mean_ms": one.mean_ms,
        "longest_ms": one.longest_ms,
        "faults": one.faults,
    }


def _pairing(one: PairingScore, elo: Elo | None) -> dict[str, Any]:
    return {
        "games": one.games,
        "different_games": one.different,
        "score": one.score,
        "black": one.black,
        "white": one.white,
        "discs": one.discs,
        "pairs": one.pairs,
        "mean_ms": one.mean_ms,
        "longest_ms": one.longest_ms,
        "faults": one.faults,
        "elo": {name: value if math.isfinite(value) else None for name, value in elo._asdict().items()}
        if elo
        else None,
    }


def _ratings(found: Ratings | None) -> dict[str, Any] | None:
    return found._asdict() if found else None
