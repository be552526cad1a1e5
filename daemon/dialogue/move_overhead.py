"""Move overhead: the measured delay between the planned time of a move and its arrival, under the machine's present
load.
"""

from __future__ import annotations

LATE_RESERVE_MS = 400
"""What is left on a clock after a move, if it can be helped: on a busy machine a process may have to wait for its
turn."""

FORGETTING = 0.8
"""How much of what a move came late is still expected of the move after the next."""

REMEMBERING = 0.98
"""How much of it is still taken for possible then."""

MOST_LATE_MS = 1000
"""More than this is no machine's doing: a process was held, or a clock was put."""


class MoveOverhead:
    """Measured delays of moves, ms. Used by the session's thread.

    ``recent`` is the delay expected of the next move, ``worst`` the largest to reserve for. It includes both a late end
    of the search and the time that a line waited to be read or an answer to be written.
    """

    def __init__(self) -> None:
        self.recent = 0.0
        self.worst = 0.0

    def note(self, ms: float) -> None:
        """Record the delay of a move; negative where it was early."""
        self.recent *= FORGETTING
        self.worst *= REMEMBERING
        self.raise_to(ms)

    def raise_to(self, ms: float) -> None:
        """Raise the delay recorded last to ``ms``, which the other end's clock has shown."""
        late = min(ms, MOST_LATE_MS)
        self.recent = max(late, self.recent)
        self.worst = max(late, self.worst)

    def subtracted_from(self, share: float) -> float:
        """A move's time with the expected delay subtracted, at least a fifth of ``share``."""
        return max(share - 2 * self.recent, share / 5)

    @property
    def reserve_ms(self) -> float:
        """The time to keep in reserve on a clock, ms."""
        return LATE_RESERVE_MS + 4 * self.worst
