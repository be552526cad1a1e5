"""GTP's reports during a search: the streams of ``lz-analyze`` and ``kata-analyze``, and GoGui's live graphics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.guis.codecs import gtp
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import depth_text

if TYPE_CHECKING:
    from desdaemon.dialogue.interrupt import StoppableSearch
    from desdaemon.dialogue.streams import DialogueOutput
    from desdaemon.engine.result import Line


class AnalysisStream:
    """Sends the best moves of a running search, if they have changed: at most once an interval, and at the end.

    Used as a context around the search. The search's thread calls `progress`; a thread of its own keeps the interval.
    """

    def __init__(
        self, say: Callable[[str], None], form: gtp.AnalysisForm, wanted: gtp.AnalysisOrder, moves: int
    ) -> None:
        """``moves`` is the number of moves searched; ``form`` makes a line of text about them, and ``say`` sends it,
        from any thread. Of ``wanted`` only the interval is used.
        """
        self._say = say
        self._form = form
        self._interval_s = wanted.interval_ms / 1000
        self._last = moves - 1
        self._lines: dict[int, Line] = {}
        """Each move's line in the present iteration, or in the last one until the present one has come to the move."""
        self._iteration: dict[int, Line] = {}
        """The lines of the present iteration."""
        self._nodes: dict[int, int] = {}
        """Nodes of all iterations so far, by move."""
        self._sent = ""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_interval, name="gtp-analysis", daemon=True)

    def __enter__(self) -> AnalysisStream:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._send()

    def progress(self, index: int, line: Line) -> None:
        """Note the line of rank ``index`` of a finished iteration."""
        with self._lock:
            if index == 0:
                self._iteration = {}
            self._iteration[line.move] = line
            self._nodes[line.move] = self._nodes.get(line.move, 0) + line.nodes
            if index >= self._last:
                self._lines = dict(self._iteration)
            else:
                self._lines.update(self._iteration)

    def _keep_interval(self) -> None:
        while not self._over.wait(self._interval_s):
            self._send()

    def _send(self) -> None:
        with self._lock:
            lines = sorted(self._lines.values(), key=lambda line: -line.score)[: self._last + 1]
            moves = [
                gtp.AnalyzedMove(line.move, line.score, line.exact, self._nodes[line.move], line.pv) for line in lines
            ]
        text = self._form(moves) if moves else ""
        if text and text != self._sent:
            self._sent = text
            self._say(text)


class _Wait:
    """A control without a search, by which `wait_for_a_line` waits for a stop."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def stop(self) -> None:
        self.over.set()


def wait_for_a_line(search: StoppableSearch) -> None:
    """Wait until the search is stopped. A stream must not end by itself: programs would take its end for the answer to
    their next line.
    """
    with search.control(_Wait()) as wait:
        wait.over.wait()


class LiveGraphics:
    """Draws searches in GoGui, while ``on``: blocks of ``gogui-gfx`` lines on standard error.

    Called by the dialogue's thread and the search's progress.
    """

    def __init__(self, output: DialogueOutput) -> None:
        self.on = False
        self._output = output

    def progress(self, black_to_move: bool, depth: int) -> Callable[[int, Line], None] | None:
        """Return the callback that draws a search of up to ``depth`` plies; None while drawing is off."""
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
        """Remove the drawing after a search."""
        if self.on:
            self._output.error("gogui-gfx: CLEAR")
