"""The engine as a book's evaluator.

Each thread has a searcher, whose table is emptied before each search, so that results repeat.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import level_limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, Searcher

_ALL = (1 << 64) - 1

HASH_BITS = 18
"""Largest logarithm (base 2) of the number of entries of a search's table. The size of the table influences results."""

OnSearch = Callable[[int, int, Result], None]
"""Called after a search with the discs of the side to move, those of the other side, and the result."""


class Searches:
    """The engine's searches as a `book.Evaluate` for `rounds.Worker`; any number of threads may call it at once."""

    def __init__(
        self, *, hash_bits: int = HASH_BITS, weights: Weights | None = None, on_search: OnSearch | None = None
    ) -> None:
        """``weights`` None stands for the shipped ones. Each thread has a table of at most 2**``hash_bits`` entries,
        fewer for low levels, whose searches take less time than clearing it. ``on_search`` is called after every search
        that was not stopped.

        Errors of `Searcher` are raised at the first search of a thread.
        """
        self._hash_bits = hash_bits
        self._weights = weights
        self._on_search = on_search
        self._local = threading.local()
        self._lock = threading.Lock()
        self._running: set[Control] = set()
        self.nodes = 0
        """Number of nodes of all searches so far."""
        self.most_nodes: int | None = None
        """The most that ``nodes`` may reach, nearly: a running search ends there, and returns None."""
        self.deadline: float | None = None
        """The `time.monotonic` at which a running search ends, and returns None."""
        self._stopped = False

    def _searcher(self, level: int) -> Searcher:
        bits = min(self._hash_bits, 10 + level)
        if not hasattr(self._local, "kept"):
            self._local.kept = {}
        kept: dict[int, Searcher] = self._local.kept
        if bits not in kept:
            with self._lock:
                if self._weights is None:
                    self._weights = Weights.load()
            kept[bits] = Searcher(hash_bits=bits, weights=self._weights)
        return kept[bits]

    def stop(self) -> None:
        """Stop all running searches within milliseconds. Every search, running or new, returns None from now on."""
        with self._lock:
            self._stopped = True
            for control in self._running:
                control.stop()

    def __call__(
        self, player: int, opponent: int, level: int, excluded: int, control: Control | None = None
    ) -> tuple[int, int] | None:
        """Return the best move outside the mask ``excluded`` at an Edax level, and its score in discs for ``player``;
        None if the search was stopped.

        ``control`` stops this search alone.
        """
        result = self.result(player, opponent, level, excluded, control)
        return None if result is None else (result.lines[0].move, result.lines[0].score)

    def result(
        self, player: int, opponent: int, level: int, excluded: int, control: Control | None = None
    ) -> Result | None:
        """Search as a call does, and return the whole result."""
        control = control or Control()
        with self._lock:
            if self._stopped:
                return None
            self._running.add(control)
        nodes = 0
        try:
            searcher = self._searcher(level)
            searcher.clear()
            limits = level_limits(level, 64 - (player | opponent).bit_count())
            if self.most_nodes is not None:
                limits = limits._replace(nodes=max(1, self.most_nodes - self.nodes))
            if self.deadline is not None:
                # Up, so that the budget is spent when the search has ended.
                limits = limits._replace(time_ms=max(1, math.ceil(1000 * (self.deadline - time.monotonic()))))
            result = searcher.search(player, opponent, limits, allow=_ALL & ~excluded, control=control)
            nodes = result.nodes
        finally:
            with self._lock:
                self._running.discard(control)
                self.nodes += nodes
        if not result.complete or control.stopped:
            return None
        if self._on_search is not None:
            self._on_search(player, opponent, result)
        return result
