"""How far a search may go: the limits that level, depth and clocks add up to, and the share of a game's time."""

from __future__ import annotations

from desdaemon.engine.limits import Limits, level_limits

from .settings import Settings

RESERVE_MS = 30
"""Kept back of every move's time for what comes after the search was told to end."""

CUSHION_MS = 400
"""What is left on a clock that others keep after a move, if it can be helped: on a busy machine a process may have to
wait for its turn."""

FORGETTING = 0.8
"""How much of what a move took too long is still expected of the move after the next."""

MOST_LAG_MS = 150
"""What a clock that others keep may count more than was used: theirs runs while lines are under way and windows are
drawn. A tenth of the time for a move, up to this, is kept back for it."""

UNBOUNDED_PLIES = 36
"""A search of more plies than this, without a limit on time or nodes, may not end in anybody's lifetime."""


class Clock:
    """One side's clock as the other end of the dialogue keeps it; all times in ms.

    First there are ``main`` ms for the game, each move adding ``increment``; then, where ``stones`` is not 0,
    periods of ``period`` ms for that many moves each.
    """

    def __init__(self, main: float, period: float = 0.0, stones: int = 0, increment: float = 0.0) -> None:
        self.main, self.period, self.stones, self.increment = main, period, stones, increment
        self.restart()

    def restart(self) -> None:
        """Show what it showed at the beginning of the game."""
        self._planned = 0
        self._late = 0.0
        self.left = self.main
        self.left_stones = 0
        if not self.main:
            self._new_period()

    def _new_period(self) -> None:
        if self.stones:
            self.left, self.left_stones = self.period, self.stones

    def set(self, left: float, left_stones: int) -> None:
        """What it shows: ``left_stones`` moves to make in the time left, 0 where that is main time."""
        self.left, self.left_stones = left, left_stones

    def spend(self, ms: float) -> None:
        """A move that took so long has been made.

        One that took longer than was planned makes the next ones shorter, for as long as that goes on.
        """
        self._late = max(ms - self._planned, FORGETTING * self._late) if self._planned else 0.0
        self._planned = 0
        self.left += self.increment - ms
        if not self.left_stones:
            if self.left <= 0 and self.stones:
                over = self.left
                self._new_period()
                self.left += over
            else:
                return
        self.left_stones -= 1
        if not self.left_stones:
            self._new_period()

    def move_ms(self, settings: Settings, empties: int) -> int:
        """The time for the next move, at least 1."""
        share = self._share(settings, empties)
        self._planned = _after_lag(max(share - 2 * self._late, share / 5))
        return self._planned

    def _share(self, settings: Settings, empties: int) -> float:
        left = max(0.0, self.left)
        if self.left_stones:
            return left / self.left_stones
        share = left / _moves_to_share(settings, empties, left) + self.increment
        if self.stones:
            return max(share, self.period / self.stones)
        return min(share, max(left / 5, left - CUSHION_MS - 4 * self._late))


def move_limits(settings: Settings, empties: int, remaining_ms: float, clock: Clock | None = None) -> Limits:
    """The limits of a search with ``empties`` squares left.

    ``remaining_ms`` is what the side to move has left on its game clock, and ``clock`` is another one that it has
    to keep. A level that somebody asked for bounds the depth of a search with a clock as well; the default level
    does not.
    """
    depth, percent = empties, 100
    if not (settings.timed or clock) or settings.level_chosen:
        depth, percent = level_limits(settings.level, min(empties, 60))[:2]
    if settings.depth >= 0:
        depth, percent = min(settings.depth, empties), 100
    if settings.selectivity >= 0:
        percent = settings.selectivity
    return Limits(depth, percent, settings.nodes, _move_time(settings, empties, remaining_ms, clock))


def is_bounded(limits: Limits) -> bool:
    """Whether the search ends by itself within reason."""
    return bool(limits.nodes or limits.time_ms) or limits.depth <= UNBOUNDED_PLIES


def _move_time(settings: Settings, empties: int, remaining_ms: float, clock: Clock | None) -> int:
    """Milliseconds for this move, 0 without a clock."""
    times = [clock.move_ms(settings, empties)] if clock else []
    if settings.move_time:
        times.append(_after_reserve(settings.move_time))
    if settings.game_time:
        times.append(_after_reserve(max(0.0, remaining_ms) / _moves_to_share(settings, empties, remaining_ms)))
    return min(times, default=0)


def _after_lag(ms: float) -> int:
    return _after_reserve(ms - max(0.0, min(ms / 10, MOST_LAG_MS) - RESERVE_MS))


def _after_reserve(ms: float) -> int:
    return max(1, int(ms - RESERVE_MS), int(ms / 3))


def _moves_to_share(settings: Settings, empties: int, remaining_ms: float) -> float:
    """The own moves the clock has to last for: those before the end can be read out in a tenth of the time.

    A tree of k empties is taken to cost 2^k nodes, the iterations before it included; never less than two moves,
    so that no move may take more than half of what is left.
    """
    budget = settings.speed * settings.n_tasks * max(0.0, remaining_ms) / 10_000
    solvable, cost = 15, 2.0**15
    while cost <= budget and solvable < 60:
        solvable += 1
        cost += 2.0**solvable
    return max((empties - solvable) / 2, 2.0)
