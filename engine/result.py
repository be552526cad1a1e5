"""The result of a search, in plain values."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity


class Line(NamedTuple):
    """A root move with its score and principal variation; scores are discs for the side to move at the root.

    ``move`` is a square 0..63 (A1 = 0, H8 = 63) or `PASS`; ``lower`` and ``upper`` bound the score; ``depth`` is in
    plies, the number of empties for a search to the end; ``pv`` begins with ``move``; ``nodes`` and ``time_ms`` are the
    cost of the line's last iteration, divided among the moves that lead to mirror images of one position; ``empties``
    is the number of empty squares at the root.
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
        """Whether the score is proved: searched to the end at 100 %, with equal bounds."""
        return self.depth >= self.empties and self.selectivity == Selectivity.FULL and self.lower == self.upper


class Result(NamedTuple):
    """The lines of a search, best first (none if the game is over), and the nodes and milliseconds of the whole search.

    ``complete`` is False if a limit or a stop ended the search before the requested depth. ``threads`` is the number
    that searched together: with several, a selective score may differ the next time.
    """

    lines: tuple[Line, ...]
    nodes: int
    time_ms: float
    complete: bool
    threads: int = 1
