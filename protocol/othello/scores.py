"""Scores: disc differences at the end of a game, empty squares counted for the winner, typed by point of view.

A type checker keeps the two types apart; at run time both are integers, -64 to 64 discs.
"""

from __future__ import annotations

from typing import NewType

MoverScore = NewType("MoverScore", int)
"""A score for the side to move in the position that it belongs to."""

BlackScore = NewType("BlackScore", int)
"""A score for Black, whichever side is to move."""


def opposite(score: MoverScore) -> MoverScore:
    """Return the score for the other side: a position's score becomes that of the move leading to it."""
    return MoverScore(-score)


def seen_by_black(score: MoverScore, black_to_move: bool) -> BlackScore:
    """Return Black's score from that of the side to move."""
    return BlackScore(score if black_to_move else -score)
