"""Scores: disc differences at the end of a game, empty squares counted for the winner, typed by point of view.

A type checker keeps the two types apart; at run time both are integers, -64 to 64 discs.
"""

from __future__ import annotations

from typing import NewType

MoverScore = NewType("MoverScore", int)
"""A score for the side to move in the position that it belongs to."""

BlackScore = NewType("BlackScore", int)
"""A score for Black, whichever side is to move."""


BARE_WIN = BlackScore(1)
"""A win of Black of which the discs are not known, as a result; White's is -1. With all squares counted no game ends
so.
"""


def discs_text(score: BlackScore) -> str:
    """Return a result as the discs of Black and White, ``33-31``; ``1-0`` or ``0-1`` if they are not known."""
    if abs(score) == BARE_WIN:
        return "1-0" if score > 0 else "0-1"
    return f"{32 + score // 2}-{32 - score // 2}"


def opposite(score: MoverScore) -> MoverScore:
    """Return the score for the other side: a position's score becomes that of the move leading to it."""
    return MoverScore(-score)


def seen_by_black(score: MoverScore, black_to_move: bool) -> BlackScore:
    """Return Black's score from that of the side to move."""
    return BlackScore(score if black_to_move else -score)
