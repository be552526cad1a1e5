"""The order in which connections are read, and how many messages of each are handled. A state machine.

Connections that were quiet go first, then those in their handshake, then those that had more messages than were handled
in their last turn. So a client that asks now and then does not wait for another's flood. In every round each kind has
its own milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Generic, Protocol, TypeVar

MESSAGES_IN_TURN = 64
"""Messages that the connections of a rank may share; each may send one."""


class Rank(Enum):
    """The reason why a connection is to be read."""

    FRESH = "fresh"
    """It was quiet and has sent something."""
    HANDSHAKE = "handshake"
    """The same, before its handshake is over."""
    BEHIND = "behind"
    """It has sent more than was handled, or its peer has left with something unread."""


_SECONDS = {Rank.FRESH: 0.0025, Rank.HANDSHAKE: 0.00125, Rank.BEHIND: 0.00125}
"""The time of each rank in a round."""


class Readable(Protocol):
    """A connection, as far as the order depends on it."""

    queued: bool
    """Whether it is in the order; written here alone."""

    @property
    def closed(self) -> bool:
        """Whether there is nothing more to read."""

    @property
    def deserted(self) -> bool:
        """Whether nobody hears its replies any more."""


ReadableT = TypeVar("ReadableT", bound=Readable)


class ReadingOrder(Generic[ReadableT]):
    """The connections to be read from, each at most once. For one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` returns seconds."""
        self._clock = clock
        self._waiting: dict[Rank, deque[ReadableT]] = {rank: deque() for rank in Rank}
        """All and only connections with ``queued``; some may have been closed meanwhile."""

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def put(self, connection: ReadableT, rank: Rank) -> None:
        """Add a connection at the end of its rank, unless it waits already."""
        if not connection.queued:
            connection.queued = True
            self._waiting[rank].append(connection)

    def round(self) -> Iterator[tuple[ReadableT, int, float]]:
        """Take connections out: each with the number of messages to handle at most, and the time after which to stop.

        At least one of each rank comes. One that is put back into the rank it had waits for the next round.
        """
        for rank, waiting in self._waiting.items():
            until = self._clock() + _SECONDS[rank]
            for _ in range(len(waiting)):
                connection = waiting.popleft()
                connection.queued = False
                if not connection.closed:
                    # To get rid of those that nobody hears any more is quick, and frees what they hold.
                    sharing = 1 if connection.deserted else 1 + len(waiting)
                    yield connection, max(1, MESSAGES_IN_TURN // sharing), until
                if self._clock() >= until:
                    break
