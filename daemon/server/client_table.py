"""The clients of the sockets: who is connected, who may come back, who is forgotten. A state machine.

A client that gave a routing id outlives its connections: within a grace period it gets what it missed, and its session
lasts longer. Without one it ends with its one connection, as soon as nothing is in flight for it.

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
    """A connection, as far as the machine asks about it."""

    @property
    def broken(self) -> bool:
        """Whether the peer is gone."""

    @property
    def queued(self) -> bool:
        """Whether it waits for its turn to be read from."""


class PresentClient(ABC):
    """The presence of a client; the component's class adds to it. The attributes are the machine's to write."""

    def __init__(self, key: Hashable, name: str, *, named: bool) -> None:
        self.key = key
        self.label = name
        """For logs."""
        self.named = named
        """Whether it gave a routing id, so that it can come back."""
        self.connection: Any = None
        self.seen = 0.0
        """When it sent something; the component writes it."""
        self.gone: float | None = None
        """Since when it has no connection."""
        self.dropped = False
        """Whether what it had in flight was ended because it has gone."""

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether a request of it is in flight."""

    @property
    @abstractmethod
    def has_session(self) -> bool:
        """Whether it has a text session."""


C = TypeVar("C", bound=PresentClient)


class Instruction(NamedTuple, Generic[C]):
    """An action, the client, and the connection that it had where the action is about one."""

    action: Action
    client: C
    connection: Any = None


class ClientTable(Generic[C]):
    """All clients by their keys. For one thread at a time.

    Events return instructions, which are to be carried out in their order and before the next event.
    """

    def __init__(self, most: int, grace_s: float, session_s: float) -> None:
        """``most`` clients are kept; one that has gone for ``grace_s`` is dropped, one with a session is forgotten
        after ``session_s``.
        """
        self._most = most
        self._grace_s = grace_s
        self._session_s = session_s
        self._clients: dict[Hashable, C] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[C]:
        """All clients, also while others join and leave."""
        return iter(list(self._clients.values()))

    def find(self, key: Hashable) -> C | None:
        """The client of that key, if it is known."""
        return self._clients.get(key)

    def make_place(self) -> list[Instruction[C]]:
        """Forget one client if there are as many as may be: call it before a new one is added.

        If possible one without a connection, or one that has sent more than was read yet; of the others one that waits
        for no reply, and of these the one not heard of for the longest time.
        """

        def worth(client: C) -> tuple[bool, bool, bool, float]:
            connection: Connected | None = client.connection
            left = connection is None or connection.broken
            return not left, connection is None or not connection.queued, client.waits, client.seen

        if len(self._clients) < self._most:
            return []
        return self._forget(min(self._clients.values(), key=worth), "evicted")

    def add(self, client: C) -> None:
        """A client that is not known yet; its connection comes with `joined`."""
        assert client.key not in self._clients
        self._clients[client.key] = client

    def joined(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """A client has finished the handshake of a connection, its first or another one."""
        older = client.connection
        client.connection = connection
        client.gone, client.dropped, client.seen = None, False, now
        return [] if older is None else [Instruction(Action.SUPERSEDE, client, older)]

    def left(self, client: C, connection: Connected, now: float) -> list[Instruction[C]]:
        """A connection of a client is closed."""
        if client.connection is not connection:
            return []
        client.connection = None
        client.gone = now
        if client.named:
            return []
        found = [Instruction(Action.CLEAR, client), Instruction(Action.END_SESSION, client)]
        return found if client.waits else found + self._forget(client, "forgotten")

    def tidy(self, now: float) -> list[Instruction[C]]:
        """Time has passed: what those had in flight that are gone for long is cancelled; those that stay away are
        forgotten.
        """
        found: list[Instruction[C]] = []
        for client in self:
            if client.gone is None:
                continue
            away = now - client.gone
            if away >= self._grace_s and not client.dropped:
                client.dropped = True
                found += [Instruction(Action.CANCEL, client), Instruction(Action.CLEAR, client)]
            comes_back = client.named and client.has_session
            if away >= (self._session_s if comes_back else self._grace_s):
                found += self._forget(client, "forgotten")
        return found

    def _forget(self, client: C, why: str) -> list[Instruction[C]]:
        self._clients.pop(client.key, None)
        connection, client.connection = client.connection, None
        # What is still in progress for it must not fill the outbox again.
        client.dropped = True
        found = [Instruction(Action.CANCEL, client), Instruction(Action.END_SESSION, client)]
        if connection is not None:
            found.append(Instruction(Action.CLOSE, client, connection))
        return [*found, Instruction(Action.CLEAR, client)]
