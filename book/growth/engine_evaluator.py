"""The engine as a book's search: one searcher a thread, every search from a clean table, so that answers repeat."""

from __future__ import annotations

import threading
from collections.abc import Callable

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import level_limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, Searcher

_ALL = (1 << 64) - 1

HASH_BITS = 18
"""A search's table has at most 2 to the power of so many entries: its size is part of what decides the answer."""

Told = Callable[[int, int, Result], None]
"""Hears of a search: the discs of the side to move and of the other one, and what came out."""


class Searches:
    """A `book.Evaluate` for `jobs.Worker`: call it from any number of threads."""

    def __init__(self, *, hash_bits: int = HASH_BITS, weights: Weights | None = None, told: Told | None = None) -> None:
        """``weights`` None: the shipped ones. Each thread that searches has tables of at most 2**``hash_bits`` entries.
        ``told`` is called by it with every search that was not stopped.

        Low levels get smaller ones, as clearing a table would take longer than their searches. What `Searcher` raises
        is raised at the first search in a thread.
        """
        self._hash_bits = hash_bits
        self._weights = weights
        self._told = told
        self._local = threading.local()
        self._lock = threading.Lock()
        self._running: set[Control] = set()
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
        """Stop all running searches within milliseconds; they and all later ones answer None until `resume`."""
        with self._lock:
            self._stopped = True
            for control in self._running:
                control.stop()

    def resume(self) -> None:
        """Search again after a `stop`."""
        with self._lock:
            self._stopped = False

    def __call__(
        self, player: int, opponent: int, level: int, excluded: int, control: Control | None = None
    ) -> tuple[int, int] | None:
        """The best move outside ``excluded`` at an Edax level, and its score; None when it was stopped.

        ``control`` stops this search alone.
        """
        control = control or Control()
        with self._lock:
            if self._stopped:
                return None
            self._running.add(control)
        try:
            searcher = self._searcher(level)
            searcher.clear()
            empties = 64 - (player | opponent).bit_count()
            result = searcher.search(
                player, opponent, level_limits(level, empties), allow=_ALL & ~excluded, control=control
            )
        finally:
            with self._lock:
                self._running.discard(control)
        if not result.complete or control.stopped:
            return None
        if self._told is not None:
            self._told(player, opponent, result)
        return result.lines[0].move, result.lines[0].score
