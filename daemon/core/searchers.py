"""Who searches for jobs beside this process: a satellite's `Searchers`, as long as its option is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from desdaemon.protocol import satellites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from desdaemon.book.front import CommandProgress, Evaluate
    from desdaemon.core.settings import SessionSettings
    from desdaemon.engine.evaluation.weights import Weights
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result
    from desdaemon.protocol.othello.notation import Position
    from desdaemon.protocol.rows import Searchers

P = TypeVar("P")


class JobSearches(NamedTuple):
    """What the function ``worker`` of a `Searchers` gets: a book job's searches, and whom to tell of them."""

    settings: SessionSettings
    weights: Weights
    evaluate: Evaluate
    """Searches in this process."""
    threads: int
    """Threads of this process that the job may use."""
    on_progress: Callable[[CommandProgress], bool]
    on_figures: Callable[[int, int, float], None]
    """To be called with the number of workers, of their slots, and the part of the slots in use, 0 to 1."""
    on_gone: Callable[[str], None]
    """To be called with a message when nobody searches any more."""
    note: Callable[[str], None]
    """To be called once for each thing that a person should know."""


class SolverSearches(NamedTuple):
    """What the function ``solver`` of a `Searchers` gets: the searches of `-solve`."""

    settings: SessionSettings
    here: Callable[[int, int, Limits], Result]
    """Searches in this process, from an empty table: what nobody else can solve, or two answered differently."""
    note: Callable[[str], None]
    """As in `JobSearches`."""


class Solver(Protocol):
    """What the function ``solver`` of a `Searchers` returns. Any thread may call `stop`."""

    def stop(self) -> None:
        """End all searches, and begin no more."""

    def solved(self, problems: Iterable[tuple[P, Position, Limits | None]]) -> Iterator[tuple[P, Result | None]]:
        """Yield each problem with its result, in order. ``problems`` come with position and limits; without limits,
        because the game is over, the result is None. Ends after `stop`. Raises `Unfinished` if nobody searches any
        more.
        """


def searchers(settings: SessionSettings) -> Searchers | None:
    """Return who searches beside this process, by the options that are set; None: nobody."""
    rows = (row for satellite in satellites.present("searchers") for row in satellite.searchers)
    return next((row for row in rows if settings.value(row.option, object)), None)
