"""Problems of a file solved by a cluster, for `-solve`: in order, with the results of a single thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from desdaemon.book.progress import WorkCancelled
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.selectivity import Selectivity

from .connection import client_of
from .identity import identity
from .pool import ClusterSearches, Line
from .window import Search, WorkerAnswer

P = TypeVar("P")


def solver(
    place: tuple[str, str],
    eval_file: str,
    hash_bits: int,
    here: Callable[[int, int, Limits], Result],
    note: Callable[[str], None],
) -> ClusterSearches:
    """Return a solver that has positions searched by the workers of the cluster at ``place`` (address, folder of keys
    or ""), each with a table of at most 2 to the power ``hash_bits`` entries.

    ``here`` must search in this process, from an empty table; it is called for what the cluster cannot solve, and for
    what two workers answered differently. ``note`` is called once for each thing that a person should know. Raises
    `BadInput` if there is no scheduler, `WeightsError` if the weights cannot be used.
    """

    def answer(search: Search) -> WorkerAnswer | None:
        result = here(search.player, search.opponent, Limits(search.depth, Selectivity(search.selectivity)))
        line = result.lines[0]
        return WorkerAnswer((line.move, int(line.score)), result.time_ms, result.nodes, line)

    return ClusterSearches(
        client_of(*place), identity(Weights.load(eval_file or None)), answer,
        hash_bits=hash_bits, note=note,
    )  # fmt: skip


def solved(
    cluster: ClusterSearches, problems: Iterable[tuple[P, Position, Limits | None]], level: int
) -> Iterator[tuple[P, Result | None]]:
    """Yield each problem with its result. ``problems`` come with position and limits; without limits, because the game
    is over, the result is None.

    Ends when ``cluster`` is stopped. Raises `Unfinished` if the scheduler is lost. ``level`` serves to estimate times.
    """

    def line(problem: P, position: Position, limits: Limits | None) -> Line[tuple[P, Result | None]]:
        if limits is None:
            return problem, None
        answer = yield Search(position.player, position.opponent, level, 0, *limits[:2])
        assert answer is not None
        assert answer.line is not None
        return problem, Result((answer.line,), answer.nodes, answer.ms, complete=True)

    with suppress(WorkCancelled):
        yield from cluster.follow(itertools.starmap(line, problems))
