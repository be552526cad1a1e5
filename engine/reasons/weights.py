"""How many discs of a loss each difference explains, on average: the least-squares fit of `python tests/lab reasons`.

The sample and the errors are in docs/notes/reasons.md.
"""

from __future__ import annotations

STAGES = (40, 20, 0)
"""The stages of a game: each has more empty squares than this."""

WEIGHTS: tuple[dict[str, float], ...] = (
    {
        "corner": 0.0,
        "x-square": -1.742,
        "c-square": 0.0,
        "moves": 0.545,
        "opens": 0.199,
        "wall": -0.292,
        "taken": 0.854,
        "quiet": -0.319,
        "wedge": 0.0,
        "free": 0.2,
        "pass": -7.389,
        "early": -0.198,
        "last": 0.0,
        "turns": 0.0,
    },
    {
        "corner": 0.372,
        "x-square": -0.953,
        "c-square": -0.19,
        "moves": 0.743,
        "opens": 0.0,
        "wall": -0.203,
        "taken": 0.691,
        "quiet": -0.423,
        "wedge": 1.182,
        "free": 0.363,
        "pass": 0.0,
        "early": -0.078,
        "last": 0.043,
        "turns": 0.0,
    },
    {
        "corner": 0.189,
        "x-square": -0.054,
        "c-square": -0.069,
        "moves": 1.098,
        "opens": 0.197,
        "wall": -0.109,
        "taken": 0.471,
        "quiet": -0.098,
        "wedge": 0.45,
        "free": 0.42,
        "pass": 0.0,
        "early": 0.0,
        "last": 0.436,
        "turns": 0.598,
    },
)
"""The weight of each measure, in discs for a difference of 1, by stage."""
