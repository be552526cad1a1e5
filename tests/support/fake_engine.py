"""A search that needs no compiler: fixed scores, one-move lines, and a pretence of endless searches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from desdaemon.core.search.loader import EngineConfig, LoadedEngine
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

ENDLESS_DEPTH = 37


class FakeControl:
    """Remembers that it was stopped."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def stop(self) -> None:
        self.event.set()


class FakeSearcher:
    """Scores a move by its square: the lower, the better. From `ENDLESS_DEPTH` on it waits for a stop; deeper still
    it has found something when it begins to wait.

    `calls` holds (player, opponent, limits, options) of every search; `begun` is set while one waits.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, Limits, dict[str, Any]]] = []
        self.begun = threading.Event()
        self.cleared = 0

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        self.calls.append((player, opponent, limits, options))
        control: FakeControl = options["control"]
        complete = True
        if limits.depth >= ENDLESS_DEPTH and not limits.time_ms and not limits.nodes:
            if limits.depth > ENDLESS_DEPTH:
                self._begin(player, opponent, options)
            self.begun.set()
            assert control.event.wait(60), "nobody stopped an endless search"
            complete = False
        empties = rules.empties(player, opponent)
        moves = rules.squares(rules.legal_moves(player, opponent) & options.get("allow", rules.FULL))
        if not moves:
            if rules.is_over(player, opponent):
                return Result((), 0, 0.0, True)
            moves = [PASS]
        progress: Callable[[int, Line], None] | None = options.get("progress")
        wanted = list(enumerate(moves[: options.get("multipv", 1)]))
        lines: list[Line] = []
        for depth in (max(0, limits.depth - 2), limits.depth):
            lines = [self._line(limits, depth, index, move, empties, complete=complete) for index, move in wanted]
            for rank, line in enumerate(lines):
                if progress:
                    progress(rank, line)
        return Result(tuple(lines), 12345, 5.0, complete and not control.event.is_set())

    def _line(self, limits: Limits, depth: int, index: int, move: int, empties: int, *, complete: bool) -> Line:
        score = MoverScore(10 - 2 * index)
        upper = score if complete else MoverScore(64)
        nodes = 1000 * depth
        return Line(move, score, score, upper, depth, Selectivity(limits.selectivity), (move,), nodes, 5.0, empties)

    def _begin(self, player: int, opponent: int, options: dict[str, Any]) -> None:
        progress: Callable[[int, Line], None] | None = options.get("progress")
        moves = rules.squares(rules.legal_moves(player, opponent) & options.get("allow", rules.FULL))
        if progress and moves:
            empties = rules.empties(player, opponent)
            progress(0, Line(moves[0], 10, 10, 10, 2, Selectivity(73), (moves[0],), 2000, 5.0, empties))

    def evaluate(self, player: int, opponent: int) -> float:
        return (player.bit_count() - opponent.bit_count()) / 4

    def clear(self) -> None:
        self.cleared += 1


def build_fake(config: EngineConfig) -> LoadedEngine:
    """What `desdaemon.core.search.loader.build_engine` does, without an engine."""
    return LoadedEngine(FakeSearcher(), FakeControl)
