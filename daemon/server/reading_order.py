"""The order in which connections are read, and how many messages of each are handled. A state machine.

First come connections that were quiet, then those in their handshake, then those that had more messages than their last
turn allowed, then those whose peer has gone. Each kind has milliseconds of its own in every round, so that a client
that asks now and then does not wait for another's flood. A departed peer waits only for those that left before it.
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
    """The connection has sent more than was handled."""
    ABANDONED = "abandoned"
    """The peer has gone within the handshake."""


_SECONDS = {Rank.FRESH: 0.0025, Rank.HANDSHAKE: 0.00125, Rank.BEHIND: 0.00125, Rank.ABANDONED: 0.000625}
_DEPARTED_S = 0.000625
"""Seconds of each rank in a round, and of departed peers. A turn's replies are sent together at its end. With half of
this time for `Rank.BEHIND` a client with many requests took twice as many system calls, and had a third fewer answers.
"""


class Readable(Protocol):
    """A connection, as far as the order uses it."""

    queued: bool
    """Whether the connection is in a rank of the order; only the order writes this."""

    @property
    def closed(self) -> bool:
        """Whether the connection is closed; then it is not read."""

    @property
    def departed(self) -> bool:
        """Whether its peer has gone, after the handshake."""


ReadableT = TypeVar("ReadableT", bound=Readable)


class ReadingOrder(Generic[ReadableT]):
    """The connections to be read, each at most once. For one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` returns seconds."""
        self._clock = clock
        self._waiting: dict[Rank, deque[ReadableT]] = {rank: deque() for rank in Rank}
        """All and only connections with ``queued``; some may have been closed or left meanwhile."""
        self._departed: dict[ReadableT, None] = {}
        """Connections whose peers have departed, the first to leave at the front."""

    def __bool__(self) -> bool:
        return bool(self._departed) or any(self._waiting.values())

    def has_departed(self, connection: ReadableT) -> bool:
        """Return whether a connection is among the departed."""
        return connection in self._departed

    def discard(self, connection: ReadableT) -> None:
        """Remove a connection that was closed from the departed; in a rank its turn removes it."""
        self._departed.pop(connection, None)

    def put(self, connection: ReadableT, rank: Rank) -> None:
        """Add a connection at the end of its rank, or of the departed if it is one, unless it is there already or
        closed.
        """
        if connection.closed:
            return
        if connection.departed:
            self._departed[connection] = None
        elif not connection.queued:
            connection.queued = True
            self._waiting[rank].append(connection)

    def round(self) -> Iterator[tuple[ReadableT, int, float]]:
        """Remove connections one by one. Yields each with the most of its messages to carry out, and the time to stop
        at, by the clock.

        Each rank that has connections gives at least one. Closed connections are removed, but not yielded. A connection
        that is put back into its rank waits for the next round. The departed come last, one after another: each is
        yielded, in this round and the next, until `discard`.
        """
        for rank, waiting in self._waiting.items():
            if not waiting:
                continue
            until = self._clock() + _SECONDS[rank]
            for _ in range(len(waiting)):
                connection = waiting.popleft()
                connection.queued = False
                if connection.closed:
                    continue
                if connection.departed:
                    self.put(connection, rank)
                    continue
                yield connection, max(1, MESSAGES_IN_TURN // (1 + len(waiting))), until
                if self._clock() >= until:
                    break
        until = self._clock() + _DEPARTED_S
        while self._departed:
            yield next(iter(self._departed)), MESSAGES_IN_TURN, until
            if self._clock() >= until:
                break
