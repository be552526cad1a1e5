"""The clients of the sockets: connected, awaited back, or forgotten. A state machine.

A client that gave a routing id outlives its connections: for a grace period its replies are kept, and its text session
for longer. A client without one ends with its only connection, as soon as none of its requests is in flight.

`desdaemon.server.peers` carries out the instructions, on the loop's thread. Times are seconds of any clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar


class Action(Enum):
    """An instruction about a client, or about its connection."""

    CANCEL = "cancel"
    """Cancel its requests."""
    CLEAR = "clear"
    """Drop what waits in its outbox."""
    END_SESSION = "end session"
    """Close its text session."""
    CLOSE = "close"
    """Close the connection."""
    SUPERSEDE = "supersede"
    """Read no more from the connection, and send nothing over it: the client has a newer one."""


class Connected(Protocol):
    """A connection, as far as the table depends on it."""

    @property
    def broken(self) -> bool:
        """Whether the peer is gone."""

    @property
    def queued(self) -> bool:
        """Whether it has sent something that was not read yet."""


class PresentClient(ABC):
    """A client as the table sees it. The table alone writes these attributes, except ``seen``."""

    def __init__(self, key: Hashable, name: str, *, named: bool) -> None:
        self.key = key
        self.label = name
        """Name in log lines."""
        self.named = named
        """Whether it gave a routing id, so that it can come back."""
        self.connection: Any = None
        """None from the end of its connection until it comes back."""
        self.seen = 0.0
        """When it sent something last."""
        self.gone: float | None = None
        """Time when its connection ended; None while it has one."""
        self.dropped = False
        """Whether its requests were cancelled because it is gone: replies to it are then discarded."""

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether one of its requests is in flight."""

    @property
    @abstractmethod
    def has_session(self) -> bool:
        """Whether it has a text session."""


C = TypeVar("C", bound=PresentClient)


class Instruction(NamedTuple, Generic[C]):
    """An action, its client, and for `Action.CLOSE` and `Action.SUPERSEDE` the connection."""

    action: Action
    client: C
    connection: Any = None


class ClientTable(Generic[C]):
    """All clients by their keys. For one thread at a time.

    Methods for events return instructions: carry them out in their order, before the next event.
    """

    def __init__(self, most: int, grace_s: float, session_s: float) -> None:
        """Keep at most ``most`` clients; one that is gone for ``grace_s``, with a text session for ``session_s``."""
        self._most = most
        self._grace_s = grace_s
        self._session_s = session_s
        self._clients: dict[Hashable, C] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[C]:
        """Iterate over the present clients; they may be added and removed meanwhile."""
        return iter(list(self._clients.values()))

    def find(self, key: Hashable) -> C | None:
        """Return the client of that key, None if it is unknown or forgotten."""
        return self._clients.get(key)

    def make_place(self) -> list[Instruction[C]]:
        """Forget a client if the table is full; call it before `add`.

        The first choice is one that is gone, then one with unread messages, then one without a request in flight; of
        equals the one that has been silent for the longest time goes.
        """

        def worth(client: C) -> tuple[bool, bool, bool, float]:
            connection: Connected | None = client.connection
            left = connection is None or connection.broken
            return not left, connection is None or not connection.queued, client.waits, client.seen

        if len(self._clients) < self._most:
            return []
        return self._forget(min(self._clients.values(), key=worth), "evicted")

    def add(self, client: C) -> None:
        """Add a new client; its connection comes with `joined`."""
        assert client.key not in self._clients
        self._clients[client.key] = client

    def joined(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """Note that a client has finished the handshake of a connection, its first or a newer one."""
        older = client.connection
        client.connection = connection
        client.gone, client.dropped, client.seen = None, False, now
        return [] if older is None else [Instruction(Action.SUPERSEDE, client, older)]

    def left(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """Note that a connection of a client is closed."""
        if client.connection is not connection:
            return []
        client.connection = None
        client.gone = now
        if client.named:
            return []
        instructions = [Instruction(Action.CLEAR, client), Instruction(Action.END_SESSION, client)]
        return instructions if client.waits else instructions + self._forget(client, "forgotten")

    def tidy(self, now: float) -> list[Instruction[C]]:
        """Cancel the requests of clients that are gone for ``grace_s``, and forget clients that stay away."""
        instructions: list[Instruction[C]] = []
        for client in self:
            if client.gone is None:
                continue
            away = now - client.gone
            if away >= self._grace_s and not client.dropped:
                client.dropped = True
                instructions += [Instruction(Action.CANCEL, client), Instruction(Action.CLEAR, client)]
            comes_back = client.named and client.has_session
            if away >= (self._session_s if comes_back else self._grace_s):
                instructions += self._forget(client, "forgotten")
        return instructions

    def _forget(self, client: C, why: str) -> list[Instruction[C]]:
        self._clients.pop(client.key, None)
        connection, client.connection = client.connection, None
        # Replies that still come must not fill the outbox again.
        client.dropped = True
        instructions = [Instruction(Action.CANCEL, client), Instruction(Action.END_SESSION, client)]
        if connection is not None:
            instructions.append(Instruction(Action.CLOSE, client, connection))
        return [*instructions, Instruction(Action.CLEAR, client)]
