"""The clients of the sockets: connected, expected back, or forgotten. A state machine.

A client that gave a routing id outlives its connections: its replies are kept for a grace period, its text session for
longer. A client without one is forgotten when its only connection has ended and no request of it is in flight.

`desdaemon.server.peers` carries out the instructions, on the loop's thread. Times are seconds of any clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar


class Action(Enum):
    """What to do with a client, or with a connection of it."""

    CANCEL = "cancel"
    """Cancel the client's requests."""
    CLEAR = "clear"
    """Drop the replies in the client's outbox."""
    END_SESSION = "end session"
    """End the client's text session."""
    CLOSE = "close"
    """Close the connection."""
    SUPERSEDE = "supersede"
    """Read and send nothing more over the connection: the client has a newer one."""


class Connected(Protocol):
    """A connection, as far as the table uses it."""

    @property
    def broken(self) -> bool:
        """Whether the peer has gone."""

    @property
    def queued(self) -> bool:
        """Whether bytes from the peer wait to be read."""


class PresentClient(ABC):
    """A client as the table sees it. Only the table writes these attributes, except ``seen``."""

    def __init__(self, key: Hashable, *, named: bool) -> None:
        self.key = key
        self.named = named
        """Whether the client gave a routing id, and so can come back."""
        self.connection: Any = None
        """The client's connection; None while it is gone."""
        self.seen = 0.0
        """Time when the client last sent something."""
        self.gone: float | None = None
        """Time when the client's connection ended; None while it has one."""
        self.dropped = False
        """Whether the client's requests were cancelled because it is gone; then replies to it are dropped."""

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether a request of the client is in flight."""

    @property
    @abstractmethod
    def has_session(self) -> bool:
        """Whether the client has a text session."""


C = TypeVar("C", bound=PresentClient)


class Instruction(NamedTuple, Generic[C]):
    """An action, its client, and for `Action.CLOSE` and `Action.SUPERSEDE` the connection."""

    action: Action
    client: C
    connection: Any = None


class ClientTable(Generic[C]):
    """All clients, by ``key``, a value that tells each from all others. For one thread at a time.

    Methods that note events return instructions, to be carried out in order before the next event.
    """

    def __init__(self, most: int, grace_s: float, session_s: float) -> None:
        """Hold at most ``most`` clients. One that has gone is remembered for ``grace_s`` seconds; for ``session_s`` if
        it gave a routing id and has a text session.
        """
        self._most = most
        self._grace_s = grace_s
        self._session_s = session_s
        self._clients: dict[Hashable, C] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[C]:
        """Iterate over all clients, connected or gone; the table may change meanwhile."""
        return iter(list(self._clients.values()))

    def find(self, key: Hashable) -> C | None:
        """Return the client with this key; None if there is none."""
        return self._clients.get(key)

    def make_place(self) -> list[Instruction[C]]:
        """Make room for `add`: if the table is full, forget a client and return the instructions for it, else [].

        The first choice is a client that is gone, then one with unread messages, then one without a request in flight;
        among equals the one that has been silent longest.
        """

        def worth(client: C) -> tuple[bool, bool, bool, float]:
            connection: Connected | None = client.connection
            left = connection is None or connection.broken
            return not left, connection is None or not connection.queued, client.waits, client.seen

        if len(self._clients) < self._most:
            return []
        return self._forget(min(self._clients.values(), key=worth))

    def add(self, client: C) -> None:
        """Add a new client, which has no connection yet; call `joined` next."""
        assert client.key not in self._clients
        self._clients[client.key] = client

    def joined(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """Note a client's new connection, whose handshake is over. It supersedes the client's older connection."""
        older = client.connection
        client.connection = connection
        client.gone, client.dropped, client.seen = None, False, now
        return [] if older is None else [Instruction(Action.SUPERSEDE, client, older)]

    def left(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """Note that a connection of a client was closed. If a newer one has superseded it, nothing changes. A client
        without a routing id loses its session, and is forgotten unless a request of it is in flight.
        """
        if client.connection is not connection:
            return []
        client.connection = None
        client.gone = now
        if client.named:
            return []
        instructions = [Instruction(Action.CLEAR, client), Instruction(Action.END_SESSION, client)]
        return instructions if client.waits else instructions + self._forget(client)

    def tidy(self, now: float) -> list[Instruction[C]]:
        """Return instructions to cancel the requests, and drop the replies, of clients gone for ``grace_s`` seconds.

        These clients are forgotten too, those with a routing id and a text session only after ``session_s`` seconds.
        """
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
                instructions += self._forget(client)
        return instructions

    def _forget(self, client: C) -> list[Instruction[C]]:
        self._clients.pop(client.key, None)
        connection, client.connection = client.connection, None
        # Late replies must not fill the outbox again.
        client.dropped = True
        instructions = [Instruction(Action.CANCEL, client), Instruction(Action.END_SESSION, client)]
        if connection is not None:
            instructions.append(Instruction(Action.CLOSE, client, connection))
        return [*instructions, Instruction(Action.CLEAR, client)]
