"""Connections from their arrival to the end of the handshake: accepted, refused, or given up.

Peers that only open connections cannot keep others out: `HandshakeTable` bounds the handshakes and chooses one to give
way. Without free descriptors nothing is accepted until the next `Newcomers.tidy`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from desdaemon.server.handshakes import HandshakeTable
from desdaemon.server.transport.connection import accepted
from desdaemon.server.transport.poller import READ, Poller
from desdaemon.server.transport.zmtp import OLD_ZMTP, SocketKind

from .endpoints import Acceptor
from .peers import ServedConnection

if TYPE_CHECKING:
    from desdaemon.core.metrics import ServerMetrics

_ACCEPTED_AT_ONCE = 32
_HANDSHAKE_S = 10.0
_MOST_HANDSHAKES, _MOST_OF_AN_ADDRESS = 1024, 512
_REFUSALS_LOGGED_S = 60.0
_MOST_OLD_NAMED = 1000
_MOST_KEYS_LOGGED = 8


class Newcomers:
    """Accepts connections, and ends those whose handshake fails or takes too long. For the loop's thread."""

    def __init__(
        self,
        acceptors: list[Acceptor],
        poller: Poller,
        health: ServerMetrics,
        arrived: Callable[[ServedConnection], None],
        close: Callable[[ServedConnection], None],
    ) -> None:
        """Let ``poller`` watch the listening sockets of ``acceptors``. ``arrived`` is called with each new connection;
        ``close`` must close a connection and call `leave` for it.
        """
        self._poller = poller
        self._health = health
        self._arrived = arrived
        self._close = close
        self._handshaking: HandshakeTable[ServedConnection] = HandshakeTable(_MOST_HANDSHAKES, _MOST_OF_AN_ADDRESS)
        """All and only open connections whose handshake is not over."""
        self._paused: list[tuple[socket.socket, Callable[[int], None]]] = []
        """Listening sockets that are not watched until the next `tidy`, with their handlers."""
        self._refusals: dict[str, int] = {}
        """Number of refusals by reason, since the last log line."""
        self._refused_keys: dict[str, None] = {}
        """The first refused keys since the last log line, each with its address."""
        self._refusals_logged = -_REFUSALS_LOGGED_S
        self._old: set[str] = set()
        """Addresses that a log line has named because their ZMTP is too old."""
        for acceptor in acceptors:
            for listening, kind in acceptor.listening:
                poller.register(listening.fileno(), READ, partial(self._on_listening, acceptor, listening, kind))

    def __contains__(self, connection: ServedConnection) -> bool:
        return connection in self._handshaking

    def leave(self, connection: ServedConnection) -> None:
        """Remove a connection. Call it when one is closed and when its handshake is over."""
        self._handshaking.discard(connection)

    def refuse(self, connection: ServedConnection, reason: str) -> None:
        """Close a connection whose handshake fails, after sending what is queued, such as an ERROR command."""
        address = self._handshaking.address(connection)
        if reason == OLD_ZMTP and address not in self._old and len(self._old) < _MOST_OLD_NAMED:
            self._old.add(address)
            self._health.log.warning("client of ZMTP 1 or 2 refused", address=address or "ipc", expected="ZMTP 3")
        self._count_refusal(reason)
        if connection.conversation.user and len(self._refused_keys) < _MOST_KEYS_LOGGED:
            self._refused_keys[f"{connection.conversation.user} from {address or 'ipc'}"] = None
        connection.flush()
        self._close(connection)

    def tidy(self, now: float) -> None:
        """Resume accepting after a pause, end handshakes that take too long, log refusals. Call it a few times a
        second.
        """
        for listening, handler in self._paused:
            self._poller.register(listening.fileno(), READ, handler)
        self._paused.clear()
        while (late := self._handshaking.oldest(now, _HANDSHAKE_S)) is not None:
            self.refuse(late, "took too long")
        self._log_refusals(now)

    def _on_listening(self, acceptor: Acceptor, listening: socket.socket, kind: SocketKind, mask: int) -> None:
        handler = partial(self._on_listening, acceptor, listening, kind)
        now = time.monotonic()
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                newcomer = accepted(listening)
            except OSError as error:
                # No descriptor is free: the oldest handshake is ended.
                self._count_refusal(error.strerror or "no descriptors")
                self._pause(listening, handler)
                oldest = self._handshaking.oldest(now, 0.0)
                if oldest is not None:
                    self.refuse(oldest, "too many")
                return
            if newcomer is None:
                return
            peer, address = newcomer
            self._make_room(now, address)
            connection = ServedConnection(acceptor, kind, peer)
            self._handshaking.add(connection, address, now)
            self._arrived(connection)

    def _make_room(self, now: float, address: str) -> None:
        """End the oldest handshakes until there is room for one more from ``address``, and in all."""
        for place in (address, ""):
            while self._handshaking.is_full(place):
                oldest = self._handshaking.oldest(now, 0.0, place)
                if oldest is None:
                    break
                self.refuse(oldest, "too many")

    def _pause(self, listening: socket.socket, handler: Callable[[int], None]) -> None:
        self._poller.unregister(listening.fileno())
        self._paused.append((listening, handler))

    def _count_refusal(self, reason: str) -> None:
        self._refusals[reason] = self._refusals.get(reason, 0) + 1
        self._health.count("handshakes refused")

    def _log_refusals(self, now: float) -> None:
        """Log the number of refused connections, and the keys that were refused, at most one line a minute."""
        if self._refusals and now - self._refusals_logged >= _REFUSALS_LOGGED_S:
            self._refusals_logged = now
            reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(self._refusals.items()))
            keys = {"keys": ", ".join(self._refused_keys)} if self._refused_keys else {}
            self._health.log.warning("handshakes refused", number=sum(self._refusals.values()), reasons=reasons, **keys)
            self._refusals.clear()
            self._refused_keys.clear()
