"""GoGui's live graphics: blocks of ``gogui-gfx`` lines on standard error, drawn while the program thinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.dialects import gtp
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import depth_text

if TYPE_CHECKING:
    from desdaemon.dialogue.output import DialogueOutput
    from desdaemon.engine.result import Line


class LiveGraphics:
    """Draws the searches of one dialogue while ``on`` is true. Called by the dialogue's thread and by the search's
    progress.
    """

    def __init__(self, output: DialogueOutput) -> None:
        self.on = False
        self._output = output

    def progress(self, black_to_move: bool, depth: int) -> Callable[[int, Line], None] | None:
        """The progress callback that draws a search of up to ``depth`` plies; None while drawing is off."""
        if not self.on:
            return None
        scores: dict[int, MoverScore] = {}
        best: tuple[int, ...] = ()

        def draw(index: int, line: Line) -> None:
            nonlocal best
            scores[line.move] = line.score
            best = line.pv if index == 0 else best
            done = 100 * line.depth // max(1, depth)
            reached = depth_text(line.depth, line.selectivity)
            self._output.error(gtp.live_graphics(best, black_to_move, scores, reached, done))

        return draw

    def clear(self) -> None:
        """Called at the end of a search: nothing of it is drawn during the next command."""
        if self.on:
            self._output.error("gogui-gfx: CLEAR")
