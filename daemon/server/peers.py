"""The clients of the sockets: their identity, connections, and how long they are remembered.

For the loop's thread, except `SocketClients.in_flight`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.operations.registry import ClientRecord, Operations, PendingRequest, ServerLimits
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.transport.connection import ZmtpConnection
from desdaemon.transport.outbox import ByteTotal, SendQueue

from .endpoints import Acceptor

if TYPE_CHECKING:
    import socket

    from desdaemon.transport.zmtp import SocketKind

    from .metrics import ServerMetrics
    from .text_sessions import TextSessions

LARGEST_OUTBOXES = 64 << 20
"""Bytes of all clients' outboxes together."""

_CROWDED_SHARE = 32 << 10
REVOKED = RequestError("forbidden", "this key was revoked")

Key = tuple[str, str, bytes, int]
"""What tells clients apart: their acceptor and public key, and the routing id they gave or the connection's number."""


class ServedConnection(ZmtpConnection):
    """A connection with the acceptor that accepted it and, for requests after the handshake, its client."""

    __slots__ = ("acceptor", "peer", "watched")

    def __init__(self, acceptor: Acceptor, kind: SocketKind, accepted: socket.socket, since: float) -> None:
        super().__init__(kind, acceptor.security(), accepted, since)
        self.acceptor = acceptor
        self.peer: SocketClient | None = None
        self.watched = True
        """Whether the loop's poller knows of it."""

    @property
    def deserted(self) -> bool:
        """Whether no reply can be delivered any more: the peer has gone and cannot come back under its routing id."""
        return self.broken and self.peer is not None and not self.peer.named

    @property
    def crowded(self) -> bool:
        """Whether back-pressure holds: nothing more is taken from the client until it reads."""
        return self.peer is not None and self.peer.crowded


class SocketClient(ClientRecord):
    """A client of a socket. With a routing id it outlives its connections; without, it ends with its one connection."""

    def __init__(self, key: Key, acceptor: Acceptor, name: str, outbox: SendQueue, total: ByteTotal) -> None:
        super().__init__(name, acceptor.role)
        self.key = key
        self.acceptor = acceptor
        self.user = key[1]
        """Its public key, or ""."""
        self.named = key[3] == 0
        """Whether it gave a routing id, so that it can come back."""
        self.connection: ServedConnection | None = None
        self.last_only = False
        """Whether it hears the last reply to a request only, as REQ sockets do."""
        self.seen = 0.0
        self.gone: float | None = None
        """Since when it has no connection."""
        self.dropped = False
        """Whether what it had in flight was ended because it has gone."""
        self.lines = 0
        self.outbox = outbox
        self._total = total

    @property
    def crowded(self) -> bool:
        """Whether nothing more is taken from it until it reads: its outbox, or all of them together, are half full."""
        return self.outbox.crowded or (self.outbox.bytes > _CROWDED_SHARE and 2 * self._total.bytes > LARGEST_OUTBOXES)


class SocketClients:
    """All clients of the sockets, by acceptor, public key and routing id. For the loop's thread, except `in_flight`."""

    def __init__(
        self,
        operations: Operations,
        texts: TextSessions,
        health: ServerMetrics,
        close: Callable[[ServedConnection], None],
    ) -> None:
        """``close`` closes a connection."""
        self.total = ByteTotal()
        self._operations = operations
        self._limits: ServerLimits = operations.limits
        self._texts = texts
        self._health = health
        self._close = close
        self._peers: dict[Key, SocketClient] = {}

    def __len__(self) -> int:
        return len(self._peers)

    def in_flight(self) -> list[PendingRequest]:
        """All requests whose final or error has not been sent yet. Any thread."""
        return [
            request
            for peer in list(self._peers.values())
            for request in (*list(peer.requests.values()), *list(peer.parting))
        ]

    def joined(self, connection: ServedConnection, now: float) -> SocketClient:
        """The client of a connection that has finished its handshake."""
        conversation = connection.conversation
        identity = conversation.identity
        number = 0 if identity else connection.number
        key = (connection.acceptor.name, conversation.user, identity, number)
        peer = self._peers.get(key)
        if peer is None:
            if len(self._peers) >= self._limits.clients:
                self._evict_client()
            peer = self._made(key, connection)
        elif peer.connection is not None:
            # The older connection may have died unnoticed. What came over it is dealt with, and nothing more.
            peer.connection.outbox = None
            peer.connection.stop_input()
        peer.connection = connection
        peer.last_only = conversation.peer_type == b"REQ"
        peer.gone, peer.dropped, peer.seen = None, False, now
        connection.peer = peer
        connection.outbox = peer.outbox
        self._renew(peer)
        return peer

    def _made(self, key: Key, connection: ServedConnection) -> SocketClient:
        name = f"{key[0]}/{key[2].hex()[:16] if key[2] else connection.number}"
        limits = self._limits
        outbox = SendQueue(limits.backlog, limits.backlog_bytes, self.total)
        peer = self._peers[key] = SocketClient(key, connection.acceptor, name, outbox, self.total)
        self._health.clients = len(self._peers)
        return peer

    def left(self, connection: ServedConnection, now: float) -> None:
        """Note that a connection is closed."""
        peer, connection.peer, connection.outbox = connection.peer, None, None
        if peer is None or peer.connection is not connection:
            return
        peer.connection = None
        peer.gone = now
        if not peer.named:
            peer.outbox.clear()
            self._texts.forget(peer)
            if not peer.requests:
                self._forget(peer)

    def tidy(self, now: float) -> None:
        """Cancel the requests of clients that have disconnected, and remove those that stay away."""
        for peer in list(self._peers.values()):
            if peer.gone is None:
                continue
            away = now - peer.gone
            if away >= self._limits.grace_s and not peer.dropped:
                peer.dropped = True
                self._operations.drop(peer)
                peer.outbox.clear()
            comes_back = peer.named and peer.texts is not None
            if away >= (self._limits.session_s if comes_back else self._limits.grace_s):
                self._forget(peer)

    def renew_roles(self, acceptor: Acceptor) -> None:
        """Apply a changed list of keys: requests of revoked keys are cancelled."""
        for peer in list(self._peers.values()):
            if peer.acceptor is acceptor:
                self._renew(peer)
                if not peer.role:
                    for request in list(peer.requests.values()):
                        cancel = request.cancel
                        request.fail(REVOKED)
                        if cancel is not None and not request.outlives:
                            cancel()

    def _renew(self, peer: SocketClient) -> None:
        if peer.acceptor.keys is None:
            return
        name, peer.role = peer.name, ""
        with contextlib.suppress(BadInput):
            name, peer.role = peer.acceptor.role_of(peer.user)
        peer.rename(name)

    def relieve(self) -> None:
        """Bring all outboxes together under their limit by dropping from the longest."""
        while self.total.bytes > LARGEST_OUTBOXES:
            longest = max(self._peers.values(), key=lambda peer: peer.outbox.bytes, default=None)
            if longest is None or not len(longest.outbox):
                return
            for _ in range(1 + len(longest.outbox) // 4):
                self.count_dropped(partial=longest.outbox.drop_oldest().partial)

    def count_dropped(self, *, partial: bool) -> None:
        """Count a reply that cannot be delivered."""
        self._health.count("partials dropped" if partial else "replies dropped")

    def _evict_client(self) -> None:
        """Evict one client: if possible a disconnected one, or one that has sent more than was read yet.

        Of the others, one that waits for no reply, and of these the one not heard of for the longest time.
        """

        def worth(peer: SocketClient) -> tuple[bool, bool, bool, float]:
            connection = peer.connection
            left = connection is None or connection.broken
            return not left, connection is None or not connection.queued, bool(peer.requests), peer.seen

        oldest = min(self._peers.values(), key=worth)
        self._health.count("clients forgotten")
        self._forget(oldest)

    def _forget(self, peer: SocketClient) -> None:
        self._operations.drop(peer)
        self._texts.forget(peer)
        self._peers.pop(peer.key, None)
        if peer.connection is not None:
            self._close(peer.connection)
        peer.outbox.clear()
        # What is still in progress for it must not fill the outbox again.
        peer.dropped = True
        self._health.clients = len(self._peers)
