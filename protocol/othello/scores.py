"""Scores: disc differences at the end of a game, the empty squares counted for the winner, typed by point of view.

Two integer types that a type checker keeps apart; at run time they are plain integers of whole discs, -64 to 64.
"""

from __future__ import annotations

from typing import NewType

MoverScore = NewType("MoverScore", int)
"""Seen from the side to move in the position that the score belongs to."""

BlackScore = NewType("BlackScore", int)
"""Seen from Black, whichever side is to move."""


def opposite(score: MoverScore) -> MoverScore:
    """Return the score seen from the other side, for example a position's score as that of the move leading to it."""
    return MoverScore(-score)


def seen_by_black(score: MoverScore, black_to_move: bool) -> BlackScore:
    """Return the score of a side to move as Black sees it."""
    return BlackScore(score if black_to_move else -score)
