"""The order in which connections are read, and how many messages of each are handled. A state machine.

First come connections that were quiet, then those in their handshake, then those that had more messages than their last
turn allowed. Each kind has milliseconds of its own in every round, so that a client that asks now and then does not
wait for another's flood.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Generic, Protocol, TypeVar

MESSAGES_IN_TURN = 64
"""Messages of one rank that are handled in a round, shared by its connections; at least one of each that is read."""


class Rank(Enum):
    """Why a connection is to be read."""

    FRESH = "fresh"
    """The connection was quiet and has sent something."""
    HANDSHAKE = "handshake"
    """The connection has sent something within its handshake."""
    BEHIND = "behind"
    """The connection has sent more than was handled, or its peer has left with something unread."""


_SECONDS = {Rank.FRESH: 0.0025, Rank.HANDSHAKE: 0.00125, Rank.BEHIND: 0.00125}
"""Seconds of each rank in a round."""


class Readable(Protocol):
    """A connection, as far as the order uses it."""

    queued: bool
    """Whether the connection is in the order; only the order writes this."""

    @property
    def closed(self) -> bool:
        """Whether the connection is closed; then it is not read."""

    @property
    def deserted(self) -> bool:
        """Whether nobody receives its replies any more."""


ReadableT = TypeVar("ReadableT", bound=Readable)


class ReadingOrder(Generic[ReadableT]):
    """The connections to be read, each at most once. For one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` returns seconds."""
        self._clock = clock
        self._waiting: dict[Rank, deque[ReadableT]] = {rank: deque() for rank in Rank}
        """All and only connections with ``queued``; some may have been closed meanwhile."""

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def put(self, connection: ReadableT, rank: Rank) -> None:
        """Add a connection at the end of its rank, unless it is there already."""
        if not connection.queued:
            connection.queued = True
            self._waiting[rank].append(connection)

    def round(self) -> Iterator[tuple[ReadableT, int, float]]:
        """Remove connections one by one. Yields each with the most of its messages to carry out, and the time to stop
        at, by the clock.

        Each rank that has connections gives at least one. Closed connections are removed, but not yielded. A connection
        that is put back into its rank waits for the next round.
        """
        for rank, waiting in self._waiting.items():
            until = self._clock() + _SECONDS[rank]
            for _ in range(len(waiting)):
                connection = waiting.popleft()
                connection.queued = False
                if not connection.closed:
                    # Connections without a receiver are finished quickly, and free memory.
                    sharing = 1 if connection.deserted else 1 + len(waiting)
                    yield connection, max(1, MESSAGES_IN_TURN // sharing), until
                if self._clock() >= until:
                    break
