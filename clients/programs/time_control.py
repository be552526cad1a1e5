"""Time controls of a match and the clocks of its games."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted


class TimeControl(NamedTuple):
    """The time of one side: ``move`` ms for each move, and ``main`` ms for the game with ``increment`` ms added after
    each move; 0 means no such limit. ``level`` is the level to set in the program, -1 for none.
    """

    move: float = 0.0
    main: float = 0.0
    increment: float = 0.0
    level: int = -1

    @property
    def text(self) -> str:
        """The time for people: ``1 s a move``, ``60 s a game + 0.5 s a move``, ``level 10``."""
        parts = []
        if self.move:
            parts.append(f"{self.move / 1000:g} s a move")
        if self.main:
            added = f" + {self.increment / 1000:g} s a move" if self.increment else ""
            parts.append(f"{self.main / 1000:g} s a game{added}")
        if self.level >= 0:
            parts.append(f"level {self.level}")
        return ", ".join(parts) or "no limit"

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return bool(self.move or self.main)

    def part_used(self, used: float, games: int, moves: int) -> float | None:
        """Return which part ``used`` ms are of the clocks' time in ``games`` games, with increments for this side's
        ``moves`` moves in all of them: 0 to 1, above 1 if overdrawn. Returns None without a clock for the game.
        """
        given = games * self.main + moves * self.increment
        return used / given if self.main and given else None

    def part_used_at_lowest(self, games: Iterable[Sequence[float]]) -> float | None:
        """Return which part of the time on the clocks was used: 0 to 1, above 1 if overdrawn. In each game only the
        time until the clock stood lowest counts, because increments after that cannot be used up. ``games`` has the ms
        of all own moves of each game. Returns None without games, and without a clock for the game.
        """
        used_ms = given_ms = 0.0
        for moves in games:
            used, given = 0.0, self.main
            moments = [(used, given)]
            for ms in moves:
                used += ms
                moments.append((used, given))
                given += self.increment
            used, given = min(moments, key=lambda moment: moment[1] - moment[0])
            used_ms += used
            given_ms += given
        return used_ms / given_ms if self.main and given_ms else None

    def allowed(self, used: float, moves: int) -> float:
        """Return the ms for the next move after ``moves`` own moves, which took ``used`` ms; infinite without limit."""
        limits = [self.move] if self.move else []
        if self.main:
            limits.append(self.main + moves * self.increment - used)
        return min(limits, default=float("inf"))


class Stopwatch:
    """One side's clock in a game, kept by the referee's thread: the time ``used`` and the ``longest`` move in ms, and
    the number of ``moves``.
    """

    def __init__(self, control: TimeControl, margin: float) -> None:
        """``margin`` are the ms that a move may be late without losing the game."""
        self.control, self._margin = control, margin
        self.used = 0.0
        self.moves = 0
        self.longest = 0.0

    @property
    def left(self) -> float:
        """The ms for the next move, below 0 if the time is used up; infinite without a limit."""
        return self.control.allowed(self.used, self.moves)

    def spend(self, ms: float) -> bool:
        """Count a move that took ``ms``. Returns False if that was too long."""
        in_time = ms <= self.left + self._margin
        self.used += ms
        self.moves += 1
        self.longest = max(self.longest, ms)
        return in_time


def parse_seconds(text: str, what: str) -> float:
    """Return the ms of a number of seconds from 0.001 to 1,000,000, or 0 for ``none``. Raises `BadInput` for other
    text; the message names the option ``what``.
    """
    if text == "none":
        return 0.0
    try:
        ms = float(text) * 1000
    except ValueError:
        ms = 0.0
    if not 1 <= ms <= 1e9:
        raise BadInput(f"{what} {quoted(text)}: expected seconds such as 0.5, or none")
    return ms


def parse_clock(text: str, what: str) -> tuple[float, float]:
    """Return main time and increment in ms of ``60+0.5`` or ``60`` (seconds); zeros for ``none``. Raises `BadInput` for
    other text; the message names the option ``what``.
    """
    main, plus, increment = text.partition("+")
    try:
        if plus and "none" in (main, increment):
            raise BadInput(text)
        return parse_seconds(main, what), parse_seconds(increment, what) if plus else 0.0
    except BadInput:
        raise BadInput(f"{what} {quoted(text)}: expected seconds for the game such as 60 or 60+0.5, or none") from None
