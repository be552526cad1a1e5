"""Output of ``lz-analyze``, ``kata-analyze`` and their ``genmove`` forms: lines of information while a search runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.dialects import gtp

if TYPE_CHECKING:
    from desdaemon.dialogue.interrupt import StoppableSearch
    from desdaemon.engine.result import Line


class AnalysisStream:
    """Sends the moves found so far by a running search, at most once an interval and only after a change.

    A context around the search. `progress` is called by the search's thread; a thread of its own keeps the interval.
    """

    def __init__(
        self, say: Callable[[str], None], form: gtp.AnalysisForm, wanted: gtp.AnalysisOrder, moves: int
    ) -> None:
        """``moves`` are the moves searched; ``say`` sends a line, from any thread."""
        self._say = say
        self._form = form
        self._interval_s = wanted.interval_ms / 1000
        self._last = moves - 1
        self._known: dict[int, Line] = {}
        self._fresh: dict[int, Line] = {}
        self._nodes: dict[int, int] = {}
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
        """A finished iteration of the line with that index."""
        with self._lock:
            if index == 0:
                self._fresh = {}
            self._fresh[line.move] = line
            self._nodes[line.move] = self._nodes.get(line.move, 0) + line.nodes
            if index >= self._last or not self._known:
                self._known = dict(self._fresh)
            else:
                # What is new of this iteration, and of the one before what this one has not come to.
                self._known.update(self._fresh)

    def _keep_interval(self) -> None:
        while not self._over.wait(self._interval_s):
            self._send()

    def _send(self) -> None:
        with self._lock:
            lines = sorted(self._known.values(), key=lambda line: -line.score)[: self._last + 1]
            found = [
                gtp.AnalyzedMove(line.move, line.score, line.exact, self._nodes[line.move], line.pv) for line in lines
            ]
        text = self._form(found) if found else ""
        if text and text != self._sent:
            self._sent = text
            self._say(text)


class _Wait:
    """A control without a search: where nothing is left to search, a stop ends the wait for the next line."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def stop(self) -> None:
        """End it."""
        self._over.set()

    def wait(self) -> None:
        """Return when it has ended."""
        self._over.wait()


def wait_for_a_line(search: StoppableSearch) -> None:
    """Wait until the search was stopped: programs take the end of a stream for the answer to their next line."""
    with search.control(_Wait()) as wait:
        wait.wait()
