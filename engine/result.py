"""The result of a search: plain values, made by `engine.search`, read by everything that shows or stores analyses."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity


class Line(NamedTuple):
    """A root move with its score and principal variation; scores are seen from the side to move at the root.

    ``move`` is a square 0..63 (A1 = 0, H8 = 63) or `PASS`; ``lower`` and ``upper`` bound the score; ``depth`` is in
    plies and equals the empties of a search to the end of the game; ``pv`` begins with ``move``; ``nodes`` and
    ``time_ms`` are the cost of this line; ``empties`` is the number of empty squares at the root.
    """

    move: int
    score: MoverScore
    lower: MoverScore
    upper: MoverScore
    depth: int
    selectivity: Selectivity
    pv: tuple[int, ...]
    nodes: int
    time_ms: float
    empties: int

    @property
    def exact(self) -> bool:
        """Whether the score is proved: searched to the end of the game at 100 %, and both bounds are equal."""
        return self.depth >= self.empties and self.selectivity == Selectivity.FULL and self.lower == self.upper


class Result(NamedTuple):
    """The lines of a search, best first; none when the game is over. ``nodes`` and ``time_ms`` are those of all lines.

    ``complete`` is False when a limit or a stop ended the search before the requested depth. ``threads`` is the number
    that searched together: if it is above 1, a selective score may differ the next time.
    """

    lines: tuple[Line, ...]
    nodes: int
    time_ms: float
    complete: bool
    threads: int = 1
