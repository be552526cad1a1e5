"""Search limits for a move: those set by level, depth, nodes and times, and the part of the game's time that a move
gets.
"""

from __future__ import annotations

import itertools

from desdaemon.core.settings import SessionSettings
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.protocol.othello.selectivity import Selectivity

from .move_overhead import MoveOverhead

RESERVE_MS = 30
"""Reserved of a move's time for the work after the stop of the search."""

LEAST_OF_FIXED, LEAST_OF_CLOCK = 0.7, 1 / 3
"""What is left for the search of a time for one move, whatever the reserve, and of a move's share of a clock, where
time saved is time for the next moves."""

MOST_LAG_MS = 150
"""What a clock that others keep may count more than was used: theirs runs while lines are in transit and windows are
drawn. A tenth of the time for a move, up to this, is kept back for it."""

_SPEEDUPS = ((1, 1.0), (2, 1.7), (8, 6.1), (16, 11.9), (32, 19.6), (64, 30.4))
"""The speed of so many threads relative to one: `desdaemon bench threads` (docs/performance.md, Threads)."""


class Clock:
    """One side's clock as kept by the other end of the dialogue; all times in ms.

    It starts with ``main`` ms and gains ``increment`` with each move. If ``stones`` is not 0, periods of ``period`` ms
    for that many moves follow, as in GTP's ``time_settings``.
    """

    def __init__(self, main: float, period: float = 0.0, stones: int = 0, increment: float = 0.0) -> None:
        self.main, self.period, self.stones, self.increment = main, period, stones, increment
        self.restart()

    def restart(self) -> None:
        """Set the clock back to the start of the game."""
        self._due: float | None = None
        self.left = self.main
        self.left_stones = 0
        if not self.main:
            self._new_period()

    def _new_period(self) -> None:
        if self.stones:
            self.left, self.left_stones = self.period, self.stones

    def set(self, left: float, left_stones: int) -> float:
        """Set the time left, for ``left_stones`` moves, or 0 for main time.

        Returns by how many ms the other end charged the last move more than was spent. A clock in whole seconds cannot
        measure that.
        """
        unseen = max(0.0, self._due - left) if self._due is not None and not left_stones and left % 1000 else 0.0
        self._due = None
        self.left, self.left_stones = left, left_stones
        return unseen

    def spend(self, ms: float) -> None:
        """Charge a move of ``ms``."""
        self._due = None
        self.left += self.increment - ms
        if not self.left_stones:
            if self.left <= 0 and self.stones:
                over = self.left
                self._new_period()
                self.left += over
            else:
                self._due = self.left
                return
        self.left_stones -= 1
        if not self.left_stones:
            self._new_period()

    def move_ms(self, settings: SessionSettings, empties: int, overhead: MoveOverhead) -> int:
        """The time for the next move, at least 1."""
        # What the last move of a period leaves of it is lost.
        least = LEAST_OF_FIXED if self.left_stones == 1 else LEAST_OF_CLOCK
        return _after_lag(overhead.subtracted_from(self._share(settings, empties, overhead)), least)

    def _share(self, settings: SessionSettings, empties: int, overhead: MoveOverhead) -> float:
        left = max(0.0, self.left)
        if self.left_stones:
            return left / self.left_stones
        if self.stones:
            share = left / _moves_to_share(settings, empties, left) + self.increment
            return max(share, self.period / self.stones)
        return _share_of_game(settings, empties, left, self.increment, overhead)


def move_limits(
    settings: SessionSettings, empties: int, remaining_ms: float, overhead: MoveOverhead, clock: Clock | None = None
) -> Limits:
    """The limits of a search with ``empties`` squares left.

    ``remaining_ms`` is the side's time on the game clock, ``clock`` a second clock that it has to keep. A level that
    was set explicitly bounds the depth of a search with a clock too; the default level does not.
    """
    depth, selectivity = empties, Selectivity.FULL
    if not (settings.timed or clock) or settings.level_chosen:
        depth, selectivity = level_limits(settings.level, empties)[:2]
    if settings.depth >= 0:
        depth, selectivity = min(settings.depth, empties), Selectivity.FULL
    if settings.selectivity >= 0:
        selectivity = Selectivity(settings.selectivity)
    return Limits(depth, selectivity, settings.nodes, _move_time(settings, empties, remaining_ms, overhead, clock))


def _move_time(
    settings: SessionSettings, empties: int, remaining_ms: float, overhead: MoveOverhead, clock: Clock | None
) -> int:
    """Milliseconds for this move, 0 without a clock."""
    times = [clock.move_ms(settings, empties, overhead)] if clock else []
    if settings.move_time:
        times.append(_after_reserve(overhead.subtracted_from(settings.move_time), LEAST_OF_FIXED))
    if settings.game_time:
        share = _share_of_game(settings, empties, max(0.0, remaining_ms), 0.0, overhead)
        times.append(_after_reserve(overhead.subtracted_from(share), LEAST_OF_CLOCK))
    return min(times, default=0)


def speedup(threads: int) -> float:
    """The speed of a search with ``threads`` relative to one thread, interpolated between `_SPEEDUPS`."""
    for (fewer, less), (more, most) in itertools.pairwise(_SPEEDUPS):
        if threads <= more:
            return less + (most - less) * (threads - fewer) / (more - fewer)
    return _SPEEDUPS[-1][1]


def _share_of_game(
    settings: SessionSettings, empties: int, left: float, increment: float, overhead: MoveOverhead
) -> float:
    """A move's part of the ms left for a game; half of it or less once the reserve is used, to restore it."""
    share = left / _moves_to_share(settings, empties, left) + increment
    spare = left - overhead.reserve_ms
    return min(share, max(spare, min(share, left / 5 + increment) / 2))


def _after_lag(ms: float, least: float) -> int:
    return _after_reserve(ms - max(0.0, min(ms / 10, MOST_LAG_MS) - RESERVE_MS), least)


def _after_reserve(ms: float, least: float) -> int:
    return max(1, int(ms - RESERVE_MS), int(ms * least))


def _moves_to_share(settings: SessionSettings, empties: int, remaining_ms: float) -> float:
    """The number of own moves that the clock has to last for: those until the rest can be solved in a tenth of the
    time.

    A tree of k empties is estimated at 2^k nodes, earlier iterations included. Never less than two, so that no move
    takes more than half of the rest.
    """
    budget = settings.speed * speedup(settings.threads) * max(0.0, remaining_ms) / 10_000
    solvable, cost = 15, 2.0**15
    while cost <= budget and solvable < 60:
        solvable += 1
        cost += 2.0**solvable
    return max((empties - solvable) / 2, 2.0)
