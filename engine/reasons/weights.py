"""How many discs of a loss each difference explains, on average: the least-squares fit of `python tests/lab reasons`.

The sample and the errors are in docs/notes/reasons.md.
"""

from __future__ import annotations

STAGES = (40, 20, 0)
"""The stages of a game: each has more empty squares than this."""

WEIGHTS: tuple[dict[str, float], ...] = (
    {
        "corner": 0.0,
        "x-square": -1.815,
        "c-square": 0.0,
        "moves": 0.333,
        "room": 0.412,
        "opens": 0.158,
        "wall": -0.612,
        "taken": 0.592,
        "quiet": -0.151,
        "wedge": 0.0,
        "free": 0.782,
        "pass": -7.944,
        "early": -0.029,
        "last": 0.0,
        "turns": 0.0,
    },
    {
        "corner": 0.386,
        "x-square": -1.04,
        "c-square": -0.15,
        "moves": 0.751,
        "room": 0.007,
        "opens": 0.0,
        "wall": -0.444,
        "taken": 0.626,
        "quiet": -0.362,
        "wedge": 1.041,
        "free": 1.112,
        "pass": 0.0,
        "early": -0.008,
        "last": 0.0,
        "turns": 0.0,
    },
    {
        "corner": 0.179,
        "x-square": -0.029,
        "c-square": 0.0,
        "moves": 1.167,
        "room": 0.0,
        "opens": 0.227,
        "wall": -0.028,
        "taken": 0.459,
        "quiet": -0.103,
        "wedge": 0.418,
        "free": 1.528,
        "pass": 0.0,
        "early": 0.0,
        "last": 0.387,
        "turns": 0.581,
    },
)
"""The weight of each measure, in discs for a difference of 1, by stage."""
