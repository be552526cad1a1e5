"""The clients of the sockets: identity, connections, roles and outboxes.

`ClientTable` decides how long each is remembered and what ends with it; `SocketClients` carries that out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.core.requests.operations import Operations
from desdaemon.core.requests.request import ENDINGS, ClientRecord, PendingRequest, ServerLimits
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.server.transport.connection import ZmtpConnection
from desdaemon.server.transport.outbox import ByteTotal, SendQueue

from .client_table import Action, ClientTable, Instruction, PresentClient
from .endpoints import Acceptor

if TYPE_CHECKING:
    import socket

    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.dialogue.text_sessions import TextSessions
    from desdaemon.server.transport.zmtp import SocketKind

LARGEST_OUTBOXES = 64 << 20
"""Most bytes in all outboxes together."""

_CROWDED_SHARE = 32 << 10
REVOKED = RequestError("forbidden", ENDINGS["forbidden"])

Key = tuple[str, str, bytes, int]
"""Identity of a client: name of its acceptor, public key or "", routing id or b"", and without a routing id the number
of its connection, else 0.
"""


class ServedConnection(ZmtpConnection):
    """A connection and the acceptor that accepted it. ``peer`` is its client: None until the handshake is over, and
    always None for a connection that does not carry requests.
    """

    __slots__ = ("acceptor", "peer", "watched")

    def __init__(self, acceptor: Acceptor, kind: SocketKind, accepted: socket.socket) -> None:
        super().__init__(kind, acceptor.security(), accepted)
        self.acceptor = acceptor
        self.peer: SocketClient | None = None
        self.watched = True
        """Whether the loop's poller watches the connection."""

    @property
    def deserted(self) -> bool:
        """Whether no reply can be delivered any more: the peer has gone and gave no routing id to come back with."""
        return self.broken and self.peer is not None and not self.peer.named

    @property
    def departed(self) -> bool:
        """Whether the peer has gone, after its handshake."""
        return self.broken and self.conversation.open

    @property
    def crowded(self) -> bool:
        """Whether reading stops until the client takes replies (back-pressure)."""
        return self.peer is not None and self.peer.crowded


class SocketClient(ClientRecord, PresentClient):
    """A client of a socket. With a routing id it outlives its connections; without one it has a single connection."""

    connection: ServedConnection | None

    def __init__(self, key: Key, acceptor: Acceptor, name: str, outbox: SendQueue, total: ByteTotal) -> None:
        ClientRecord.__init__(self, name, acceptor.role)
        PresentClient.__init__(self, key, named=key[3] == 0)
        self.acceptor = acceptor
        self.user = key[1]
        """The client's public key in Z85, or ""."""
        self.last_only = False
        """Whether partials are not sent: a REQ socket takes one reply to a request."""
        self.lines = 0
        """Number of text lines that the client has sent."""
        self.outbox = outbox
        self._total = total

    @property
    def waits(self) -> bool:
        return bool(self.requests)

    @property
    def has_session(self) -> bool:
        return self.texts is not None

    @property
    def departed(self) -> bool:
        return not self.named and (self.connection is None or self.connection.broken)

    @property
    def crowded(self) -> bool:
        """Whether reading stops until the client takes replies: its outbox, or all outboxes together, are half full."""
        return self.outbox.crowded or (self.outbox.bytes > _CROWDED_SHARE and 2 * self._total.bytes > LARGEST_OUTBOXES)


class SocketClients:
    """Keeps the clients of the sockets, gives them their connections and roles, and forgets them as `ClientTable`
    decides. For the loop's thread, except `in_flight`.
    """

    def __init__(
        self,
        operations: Operations,
        texts: TextSessions,
        health: ServerMetrics,
        close: Callable[[ServedConnection], None],
    ) -> None:
        self.total = ByteTotal()
        self._operations = operations
        limits: ServerLimits = operations.limits
        self._limits = limits
        self._table: ClientTable[SocketClient] = ClientTable(limits.clients, limits.grace_s, limits.session_s)
        self._texts = texts
        self._health = health
        self._close = close

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[SocketClient]:
        """Iterate over all clients, connected or gone; clients may be added and forgotten meanwhile."""
        return iter(self._table)

    def in_flight(self) -> list[PendingRequest]:
        """Return all requests whose final or error was not sent yet. Any thread may call it."""
        return [request for peer in self._table for request in (*list(peer.requests.values()), *list(peer.parting))]

    def joined(self, connection: ServedConnection, now: float) -> SocketClient:
        """Return the client of a connection whose handshake is over, and give it the connection. A client that is not
        known is added; if there are too many, another is forgotten first.
        """
        conversation = connection.conversation
        identity = conversation.identity
        number = 0 if identity else connection.number
        key = (connection.acceptor.name, conversation.user, identity, number)
        peer = self._table.find(key)
        if peer is None:
            evictions = self._table.make_place()
            if evictions:
                self._health.count("clients forgotten")
                self._apply(evictions)
            peer = self._made(key, connection)
        self._apply(self._table.joined(peer, connection, now))
        peer.last_only = conversation.peer_type == b"REQ"
        connection.peer = peer
        connection.outbox = peer.outbox
        self._renew(peer)
        return peer

    def _made(self, key: Key, connection: ServedConnection) -> SocketClient:
        name = f"{key[0]}/{key[2].hex()[:16] if key[2] else connection.number}"
        limits = self._limits
        outbox = SendQueue(limits.backlog, limits.backlog_bytes, self.total)
        peer = SocketClient(key, connection.acceptor, name, outbox, self.total)
        self._table.add(peer)
        self._health.clients = len(self._table)
        return peer

    def left(self, connection: ServedConnection, now: float) -> None:
        """Note that a connection was closed."""
        peer, connection.peer, connection.outbox = connection.peer, None, None
        if peer is not None:
            self._apply(self._table.left(peer, connection, now))

    def tidy(self, now: float) -> None:
        """Cancel the requests of clients that have been gone for the grace period, and forget those that stay away."""
        self._apply(self._table.tidy(now))

    def _apply(self, instructions: list[Instruction[SocketClient]]) -> None:
        for action, peer, connection in instructions:
            if action is Action.CANCEL:
                self._operations.drop(peer)
            elif action is Action.CLEAR:
                peer.outbox.clear()
            elif action is Action.END_SESSION:
                self._texts.forget(peer)
            elif action is Action.CLOSE:
                self._close(connection)
            else:
                # The older connection may have died unnoticed: only messages that it has brought already are handled.
                connection.outbox = None
                connection.stop_input()
        self._health.clients = len(self._table)

    def renew_roles(self, acceptor: Acceptor) -> None:
        """Apply a changed list of keys to the clients of ``acceptor``. Requests of revoked keys end with an error and
        are cancelled, as are lines of their text sessions; jobs on the book go on.
        """
        for peer in self._table:
            if peer.acceptor is acceptor:
                self._renew(peer)
                if not peer.role:
                    self._operations.drop(peer, "forbidden")

    def _renew(self, peer: SocketClient) -> None:
        if peer.acceptor.keys is None:
            return
        name, peer.role = peer.name, ""
        with contextlib.suppress(BadInput):
            name, peer.role = peer.acceptor.role_of(peer.user)
        peer.rename(name)

    def relieve(self) -> None:
        """Drop replies, from the longest outboxes first, until all outboxes together are under their limit."""
        while self.total.bytes > LARGEST_OUTBOXES:
            longest = max(self._table, key=lambda peer: peer.outbox.bytes, default=None)
            if longest is None or not len(longest.outbox):
                return
            for _ in range(1 + len(longest.outbox) // 4):
                self.count_dropped(partial=longest.outbox.drop_oldest().partial)

    def count_dropped(self, *, partial: bool) -> None:
        """Count a reply that was dropped; ``partial`` says that it was a partial."""
        self._health.count("partials dropped" if partial else "replies dropped")
