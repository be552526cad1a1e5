"""What a search answers."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity


class Line(NamedTuple):
    """One root move and what is known of it; scores in discs, from the view of the side to move at the root.

    ``move`` is a square 0..63 (A1 = 0, H8 = 63) or `PASS`; ``lower`` and ``upper`` bound the score; ``depth`` in
    plies (equal to the empties when read to the end) and ``selectivity`` in percent say how it was searched;
    ``pv`` begins with ``move``; ``nodes`` and ``time_ms`` are what this line cost.
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
        """Whether the score is proved: read to the end, without selectivity, both bounds met."""
        return self.depth >= self.empties and self.selectivity == Selectivity.FULL and self.lower == self.upper


class Result(NamedTuple):
    """The lines of a search, best first; none when the game is over.

    ``complete`` is False when a limit or a stop ended the search before the depth asked for.
    """

    lines: tuple[Line, ...]
    nodes: int
    time_ms: float
    complete: bool
