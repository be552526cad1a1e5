"""How many discs of a loss each difference explains, on average: the least-squares fit of `python tests/lab reasons`.

The sample and the errors are in docs/notes/reasons.md.
"""

from __future__ import annotations

STAGES = (40, 20, 0)
"""The stages of a game: each has more empty squares than this."""

WEIGHTS: tuple[dict[str, float], ...] = (
    {
        "corner": 0.0,
        "x-square": -0.96,
        "c-square": -0.087,
        "moves": 0.601,
        "opens": 0.188,
        "wall": -0.18,
        "quiet": -0.331,
        "wedge": 0.249,
        "free": 0.35,
        "pass": -8.34,
        "early": -0.178,
        "last": 0.0,
        "turns": 0.0,
    },
    {
        "corner": 0.258,
        "x-square": -0.711,
        "c-square": -0.385,
        "moves": 0.886,
        "opens": 0.0,
        "wall": -0.356,
        "quiet": -0.258,
        "wedge": 1.062,
        "free": 0.327,
        "pass": 0.0,
        "early": -0.085,
        "last": 0.041,
        "turns": 0.0,
    },
    {
        "corner": 0.243,
        "x-square": -0.198,
        "c-square": 0.0,
        "moves": 1.2,
        "opens": 0.139,
        "wall": -0.049,
        "quiet": 0.0,
        "wedge": 0.334,
        "free": 0.512,
        "pass": -1.066,
        "early": 0.0,
        "last": 0.724,
        "turns": 0.084,
    },
)
"""The weight of each measure, in discs for a difference of 1, by stage."""
