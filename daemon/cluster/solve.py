"""The problems of a file solved by a cluster, for `-solve`: in the file's order, each as one thread solves it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

from .connection import CONNECTIONS
from .identity import identity
from .pool import POSITIONS, ClusterSearches
from .window import Search, WorkerAnswer

if TYPE_CHECKING:
    from desdaemon.core.search.loader import SearchProtocol
    from desdaemon.dialogue.session import Session
    from desdaemon.protocol.othello.obf import Problem


def cluster_of(
    session: Session, searcher: SearchProtocol, note: Callable[[str], None]
) -> ClusterSearches[Search, WorkerAnswer]:
    """The searches of the cluster that the session's options name. Raises `BadInput` where there is no scheduler.

    ``searcher`` is this process's, for what the cluster cannot do.
    """
    settings = session.settings

    def here(search: Search) -> WorkerAnswer | None:
        searcher.clear()
        result = searcher.search(search.player, search.opponent, Limits(search.depth, Selectivity(search.selectivity)))
        line = result.lines[0]
        return WorkerAnswer(line.move, line.score, result.nodes, result.time_ms, line.depth, line.selectivity, line.pv)

    return ClusterSearches(
        CONNECTIONS.client(settings.cluster, settings.cluster_tls),
        identity(Weights.load(settings.eval_file or None)),
        POSITIONS,
        here,
        hash_bits=settings.hash_table_size,
        note=note,
    )


def solved(
    session: Session, cluster: ClusterSearches[Search, WorkerAnswer], problems: Iterable[Problem]
) -> Iterator[tuple[Problem, Result | None]]:
    """Each problem with what was found, None for a game that is over; ends where ``cluster`` is stopped."""
    given: deque[Problem] = deque()

    def searches() -> Iterator[Search]:
        for problem in problems:
            given.append(problem)
            position = problem.position
            if not position.over:
                limits = session.limits(position)
                yield Search(position.player, position.opponent, session.settings.level, 0, *limits[:2])

    for found in cluster.answers(searches()):
        while given and given[0].position.over:
            yield given.popleft(), None
        if found is None or not given:
            return
        problem = given.popleft()
        yield problem, _result(problem.position.empties, found)
    while given:
        yield given.popleft(), None


def _result(empties: int, found: WorkerAnswer) -> Result:
    exact = found.depth >= empties and found.selectivity == 100
    lower, upper = (found.score, found.score) if exact else (-64, 64)
    line = Line(
        found.move,
        MoverScore(found.score),
        MoverScore(lower),
        MoverScore(upper),
        found.depth,
        Selectivity(found.selectivity),
        tuple(found.pv),
        found.nodes,
        found.ms,
        empties,
    )
    return Result((line,), found.nodes, found.ms, complete=True)
