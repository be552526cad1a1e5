"""Problems of a file solved by a cluster, for `-solve`: in order, with the results of a single thread."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from desdaemon.book.progress import WorkCancelled
from desdaemon.core.searchers import SolverSearches
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.selectivity import Selectivity

from .connection import client_of
from .identity import identity
from .pool import ClusterSearches, Line
from .rows import place
from .window import Search, WorkerAnswer

P = TypeVar("P")


class ClusterSolver:
    """A `desdaemon.core.searchers.Solver`."""

    def __init__(self, searches: ClusterSearches, level: int) -> None:
        """``level`` serves to estimate times."""
        self._searches = searches
        self._level = level

    def stop(self) -> None:
        """End all searches, and begin no more."""
        self._searches.stop()

    def solved(self, problems: Iterable[tuple[P, Position, Limits | None]]) -> Iterator[tuple[P, Result | None]]:
        """Yield each problem with its result, as in `desdaemon.core.searchers.Solver`."""

        def line(problem: P, position: Position, limits: Limits | None) -> Line[tuple[P, Result | None]]:
            if limits is None:
                return problem, None
            answer = yield Search(position.player, position.opponent, self._level, 0, *limits[:2])
            assert answer is not None
            assert answer.line is not None
            return problem, Result((answer.line,), answer.nodes, answer.ms, complete=True)

        with suppress(WorkCancelled):
            yield from self._searches.follow(itertools.starmap(line, problems))


def solver(searches: SolverSearches) -> ClusterSolver:
    """Return a solver that has positions searched by the workers of the cluster that the options name. Raises
    `BadInput` if there is no scheduler, `WeightsError` if the weights cannot be used.
    """
    settings, here, note = searches

    def answer(search: Search) -> WorkerAnswer | None:
        result = here(search.player, search.opponent, Limits(search.depth, Selectivity(search.selectivity)))
        line = result.lines[0]
        return WorkerAnswer((line.move, int(line.score)), result.time_ms, result.nodes, line)

    weights = identity(Weights.load(settings.eval_file or None))
    cluster = ClusterSearches(
        client_of(*place(settings)), weights, answer, hash_bits=settings.hash_table_size, note=note
    )
    return ClusterSolver(cluster, settings.level)
