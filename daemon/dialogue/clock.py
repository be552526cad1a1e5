"""The limits of a move's search, by the options and the clocks: how much of the time left a move gets."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.othello.selectivity import Selectivity

if TYPE_CHECKING:
    from desdaemon.engine.limits import Limits

RESERVE_MS = 30
"""Ms of a move's time that are left for the work after the search has stopped."""

LEAST_OF_FIXED, LEAST_OF_CLOCK = 0.7, 1 / 3
"""The least parts of a move's time that are spent on its search, however much is subtracted for delays.

`LEAST_OF_FIXED` is for a time of this move alone; `LEAST_OF_CLOCK` for a share of a clock, where saved time serves
later moves.
"""

MOST_LAG_MS = 150
"""Most ms subtracted from a move on a clock that the other end keeps: lines in transit and drawing count on it.

Up to this limit a tenth of the move's time is subtracted.
"""

_SPEEDUPS = ((1, 1.0), (2, 1.7), (8, 6.1), (16, 11.9), (32, 19.6), (64, 30.4))
"""Numbers of threads with the speed of a search relative to one thread, by `desdaemon bench threads`."""

LATE_RESERVE_MS = 400
"""Ms to leave on a clock after each move, because on a busy machine the process may have to wait for a processor."""

RECENT_KEPT, WORST_KEPT = 0.8, 0.98
"""The parts of `MoveOverhead.recent` and ``worst`` that are kept with each new move."""

MOST_LATE_MS = 1000
"""Longest delay in ms that counts: longer ones come from a stopped process or an adjusted clock."""


class MoveOverhead:
    """How late moves arrive, in ms, because searches end late, lines wait to be read, and answers wait to be written.

    For the session's thread.
    """

    def __init__(self) -> None:
        self.recent = 0.0
        """Expected delay of the next move, ms."""
        self.worst = 0.0
        """Largest delay to be ready for, ms; at least ``recent``."""

    def note(self, ms: float) -> None:
        """Record how late a move was, ms; negative for an early one. Earlier delays fade with each move."""
        self.recent *= RECENT_KEPT
        self.worst *= WORST_KEPT
        self.raise_to(ms)

    def raise_to(self, ms: float) -> None:
        """Raise `recent` and `worst` to at least ``ms``, a delay that was observed; more than `MOST_LATE_MS` counts as
        `MOST_LATE_MS`.
        """
        late = min(ms, MOST_LATE_MS)
        self.recent = max(late, self.recent)
        self.worst = max(late, self.worst)

    def subtracted_from(self, share: float) -> float:
        """Return ``share``, a move's time in ms, minus twice the expected delay, but at least a fifth of ``share``."""
        return max(share - 2 * self.recent, share / 5)

    def reserve_ms(self, moves: float, increment: float) -> float:
        """Return the ms to leave on a clock for the delays of ``moves`` later moves, each of which adds ``increment``
        ms. Moves that need no search are late too, and count.
        """
        return LATE_RESERVE_MS + 4 * self.worst + moves * max(0.0, self.recent - increment)


class Clock:
    """The clock of one side, as the other end of the dialogue keeps it; all times in ms.

    It starts with ``main`` ms and gains ``increment`` with each move. If ``stones`` is not 0, periods follow, each of
    ``period`` ms for ``stones`` moves.
    """

    def __init__(self, main: float, period: float = 0.0, stones: int = 0, increment: float = 0.0) -> None:
        self.main, self.period, self.stones, self.increment = main, period, stones, increment
        self.left = main
        self.left_stones = 0
        """Moves to make in the present period; 0 in main time."""
        self._expected: float | None = None
        """Ms that the other end's clock should show after our last move; None if unknown."""
        self.restart()

    def restart(self) -> None:
        """Reset the clock to the start of the game."""
        self._expected = None
        self.left = self.main
        self.left_stones = 0
        if not self.main:
            self._new_period()

    def _new_period(self) -> None:
        if self.stones:
            self.left, self.left_stones = self.period, self.stones

    def set(self, left: float, left_stones: int) -> float:
        """Set the ms left for ``left_stones`` moves, or in main time if that is 0.

        Returns the ms by which the other end's time for the last move exceeds the time measured here. Returns 0.0 if no
        move in main time was entered by `spend` just before, and for a clock in whole seconds, which is too coarse.
        """
        excess = 0.0
        if self._expected is not None and not left_stones and left % 1000:
            excess = max(0.0, self._expected - left)
        self._expected = None
        self.left, self.left_stones = left, left_stones
        return excess

    def spend(self, ms: float) -> None:
        """Take ``ms`` for a move off the clock, add the increment, and begin a period if one is due."""
        self._expected = None
        self.left += self.increment - ms
        if not self.left_stones:
            if self.left <= 0 and self.stones:
                over = self.left
                self._new_period()
                self.left += over
            else:
                self._expected = self.left
                return
        self.left_stones -= 1
        if not self.left_stones:
            self._new_period()

    def move_ms(self, settings: SessionSettings, empties: int, overhead: MoveOverhead) -> int:
        """Return the ms for the next move, with ``empties`` squares left: a share of the clock minus the expected
        delays; at least 1.
        """
        # Time that is left at the end of a period is lost.
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
    """Return the limits of a search for a move with ``empties`` squares left.

    ``remaining_ms`` is what is left of the option `game-time`, if that is set; ``clock`` is a clock that the other end
    keeps. The options `depth` (at 100 %) and `selectivity`, if set, replace those of the level. In a search with a
    clock or a time for the move the level counts only if a user has set it.
    """
    # Imported here: the first prompt needs clocks but no limits.
    from desdaemon.engine.limits import Limits, level_limits

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
    """Return the time for the move, ms: the least that ``clock`` and the options `move-time` and `game-time` allow; 0
    if none of them is set.
    """
    times = [clock.move_ms(settings, empties, overhead)] if clock else []
    if settings.move_time:
        times.append(_after_reserve(overhead.subtracted_from(settings.move_time), LEAST_OF_FIXED))
    if settings.game_time:
        share = _share_of_game(settings, empties, max(0.0, remaining_ms), 0.0, overhead)
        times.append(_after_reserve(overhead.subtracted_from(share), LEAST_OF_CLOCK))
    return min(times, default=0)


def speedup(threads: int) -> float:
    """Return the speed of a search with ``threads`` relative to one thread, interpolated from `_SPEEDUPS`. For more
    threads than listed there it is the last speed.
    """
    for (fewer, less), (more, most) in itertools.pairwise(_SPEEDUPS):
        if threads <= more:
            return less + (most - less) * (threads - fewer) / (more - fewer)
    return _SPEEDUPS[-1][1]


def _share_of_game(
    settings: SessionSettings, empties: int, left: float, increment: float, overhead: MoveOverhead
) -> float:
    """Return the ms for a move out of the ms ``left`` for the game: an equal share plus ``increment``, cut so that
    `MoveOverhead.reserve_ms` is left on the clock. At least half of the share remains, or half of (``left`` / 5 +
    ``increment``) if that is less.
    """
    share = left / _moves_to_share(settings, empties, left) + increment
    spare = left - overhead.reserve_ms(empties / 2, increment)
    return min(share, max(spare, min(share, left / 5 + increment) / 2))


def _after_lag(ms: float, least: float) -> int:
    return _after_reserve(ms - max(0.0, min(ms / 10, MOST_LAG_MS) - RESERVE_MS), least)


def _after_reserve(ms: float, least: float) -> int:
    return max(1, int(ms - RESERVE_MS), int(ms * least))


def _moves_to_share(settings: SessionSettings, empties: int, remaining_ms: float) -> float:
    """Return the number of own moves, at least 2, among which to divide the clock: those until a tenth of the time
    suffices to solve the game.

    To solve k empties is taken to cost 2^k nodes, and all earlier iterations together as much.
    """
    budget = settings.speed * speedup(settings.threads) * max(0.0, remaining_ms) / 10_000
    solvable, cost = 15, 2.0**15
    while cost <= budget and solvable < 60:
        solvable += 1
        cost += 2.0**solvable
    return max((empties - solvable) / 2, 2.0)
