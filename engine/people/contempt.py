"""How the option `contempt` plays: moves after which the opponent has only one good reply, at a small price.

Among the moves that are at most so many discs worse than the best, it plays the one whose second-best reply loses most:
an opponent who does not find the best reply pays for it. The book's moves come first.

The page of the board (`player.js`) has the rule a second time: its searches are requests, which it can end and whose
limits come from its own clock, and no operation makes several searches. One judge in the tests holds both to the rule.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import TooLate

from .rows import CONTEMPT

if TYPE_CHECKING:
    from desdaemon.dialogue.session import Session
    from desdaemon.engine.limits import Limits
    from desdaemon.protocol.othello.notation import Position


def choose(session: Session, position: Position, limits: Limits) -> int | None:
    """Return the move of the option `contempt` in a dialogue, within ``limits``; None where the book knows the
    position, and where there is nothing to choose or no time for it.
    """
    if position.moves.bit_count() == 1 or session.look_up(position, time.perf_counter()) is not None:
        return None
    # In one context, so that one stop ends all searches.
    with session.interrupt.searching(limits.bounded):
        try:
            return _choose(session, position, limits, session.settings.value(CONTEMPT, int))
        except TooLate:
            return None


def _choose(session: Session, position: Position, limits: Limits, contempt: int) -> int:
    """Return the move. Of a time in ``limits`` the best move is searched for half, its rivals and their replies for a
    quarter each. Raises `TooLate`.
    """
    share = _Shares(limits)
    best = session.search(position, share(2, 1), patient=False).lines[0]
    least = best.score - contempt
    known = session.search(
        position, share(4, 2), multipv=position.moves.bit_count(), window=(max(-64, least - 1), 64), patient=False
    )
    rivals = [line for line in known.lines if line.move != best.move and line.depth and line.score >= least]
    if not rivals:
        return best.move
    risks = []
    for done, line in enumerate((best, *rivals)):
        searches = len(rivals) + 1
        replying = share(4 * searches, searches - done)._replace(depth=max(1, limits.depth - 1))
        risks.append((_risk(session, position.after(line.move), replying), line.score, line))
    return max(risks, key=lambda risk: risk[:2])[2].move


class _Shares:
    """The parts of a move's time. A search that ends late takes from those after it, not from the clock."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._until = time.perf_counter() + limits.time_ms / 1000

    def __call__(self, parts: int, searches: int) -> Limits:
        """Return the limits of a search that gets one of ``parts`` of the whole time, or of what is left as much as
        each of the ``searches`` that are still to be made.
        """
        if not self._limits.time_ms:
            return self._limits
        left = int((self._until - time.perf_counter()) * 1000)
        return self._limits._replace(time_ms=max(1, min(self._limits.time_ms // parts, left // searches)))


def _risk(session: Session, position: Position, limits: Limits) -> int:
    """Return how many discs the second-best move of the side to move loses; 0 if it has no second one. Raises
    `TooLate`.
    """
    if position.moves.bit_count() < 2:
        return 0
    first, second = session.search(position, limits, multipv=2, patient=False).lines[:2]
    return first.score - second.score if second.depth else 0
