"""What a satellite adds to the daemon for as long as that runs: the interface of a `DaemonPart`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from desdaemon.core.books.jobs import BookJobs
    from desdaemon.core.metrics import ServerMetrics

    from .analysis import AnalysisService
    from .request import Data, PendingRequest, ServerLimits


class PartContext(NamedTuple):
    """What a part is made from.

    ``folder`` is for its files, "" where the daemon has no data folder; ``confine`` resolves a client's file name or
    raises `BadInput`.
    """

    folder: str
    jobs: BookJobs
    analyses: AnalysisService
    health: ServerMetrics
    limits: ServerLimits
    confine: Callable[[str], Path]


class Part(Protocol):
    """A part of the daemon. Any thread may call the methods; all but `close` return at once."""

    @property
    def available(self) -> bool:
        """Whether it answers its operations."""

    def start(self) -> None:
        """Go on with what an earlier process has left."""

    def ask(self, request: PendingRequest) -> None:
        """Carry out one of its operations, later and on another thread, and reply. Raises `RequestError`."""

    def status(self) -> Data:
        """Return its numbers for `status`."""

    def close(self) -> None:
        """Store what there is, and end."""
