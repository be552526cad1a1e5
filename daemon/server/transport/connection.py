"""An accepted connection: its socket, its ZMTP conversation, and the bytes to send.

A connection has a number that, unlike a descriptor, is never used again in the process, so that notes about one
connection cannot be taken for another's.
"""

from __future__ import annotations

import contextlib
import itertools
import socket

from desdaemon.protocol.wire.constants import (
    ALIVE_IDLE_S,
    ALIVE_INTERVAL_S,
    ALIVE_PROBES,
    LARGEST_BODY,
    UNACKNOWLEDGED_MS,
)

from .outbox import SendQueue
from .zmtp import Conversation, Security, SocketKind

RECEIVED_AT_ONCE = 32 << 10
"""Most bytes received in one call; also the most bytes of waiting requests that a connection holds."""

_SENT_AT_ONCE = {SocketKind.REQUESTS: 16 << 10, SocketKind.EVENTS: 4 << 10}
"""Approximate bytes of replies taken from the outbox at a time: the most that a connection holds besides it."""

_KEPT_OF_A_FRAME = LARGEST_BODY + 64
_numbers = itertools.count(1)


class ZmtpConnection:
    """An accepted connection: socket, ZMTP conversation, send queue. For the loop's thread."""

    __slots__ = (
        "_pending",
        "blocked",
        "broken",
        "closed",
        "conversation",
        "ended",
        "held",
        "kind",
        "number",
        "outbox",
        "queued",
        "reading",
        "socket",
        "writing",
    )

    def __init__(self, kind: SocketKind, security: Security | None, accepted: socket.socket) -> None:
        self.number = next(_numbers)
        self.kind = kind
        self.socket = accepted
        self.conversation = Conversation(kind, security, _KEPT_OF_A_FRAME)
        self.outbox: SendQueue | None = None
        self.held = 0
        """Bytes of an unfinished large message, 0 without one; the loop sums them."""
        self.queued = False
        """Whether the connection waits for its turn to be read, in `ReadingOrder`, which alone writes this."""
        self.blocked = False
        """Whether unread messages wait until the peer reads replies. Mutually exclusive with ``queued``."""
        self.ended = False
        """Whether the peer sends nothing more and all that it sent was received."""
        self.broken = False
        """Whether the peer is gone and nothing can be sent; messages that it sent may still be unread."""
        self.closed = False
        self.reading = False
        self.writing = False
        self._pending: memoryview | None = None

    def receive(self, buffer: memoryview) -> None:
        """Receive available bytes. Sets ``ended`` if the peer sends nothing more or the connection is lost. The bytes
        come through ``buffer``, of `RECEIVED_AT_ONCE` bytes, which the connections of a thread share.

        A new buffer for each call, cut to its data, would fragment the heap.
        """
        try:
            size = self.socket.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            size = 0
        if size:
            self.conversation.feed(bytes(buffer[:size]))
        else:
            self.ended = True

    def flush(self) -> bool:
        """Send queued bytes. Returns False if some are left because the peer reads too slowly. If the connection is
        lost, sets ``broken``, drops the queued bytes and returns True.
        """
        while not self.broken:
            if self._pending is None:
                batch = self._next_batch()
                if not batch:
                    return True
                self._pending = memoryview(batch)
            try:
                sent = self.socket.send(self._pending)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                self.broken = True
                break
            self._pending = self._pending[sent:] if sent < len(self._pending) else None
        self._pending = None
        if self.outbox is not None:
            self.outbox.clear()
        return True

    def _next_batch(self) -> bytes:
        conversation = self.conversation
        parts = []
        if conversation.outgoing:
            parts.append(bytes(conversation.outgoing))
            conversation.outgoing.clear()
        if self.outbox is not None:
            replies = self.outbox.take(_SENT_AT_ONCE[self.kind])
            parts += [conversation.message(reply.prefix, reply.body) for reply in replies]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def unsent(self) -> bool:
        """Whether bytes are left to send, and the peer has not gone."""
        return not self.broken and (
            self._pending is not None or bool(self.conversation.outgoing) or bool(self.outbox and len(self.outbox))
        )

    def stop_input(self) -> None:
        """Receive nothing more from the peer, except bytes that have already arrived."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        self.closed = True
        self.socket.close()


def accepted(listening: socket.socket) -> tuple[socket.socket, str] | None:
    """Accept the next connection. Returns its socket and source address, "" for ipc; None if none waits.

    Raises `OSError` without free descriptors.
    """
    try:
        peer, address = listening.accept()
    except (BlockingIOError, InterruptedError, ConnectionAbortedError):
        return None
    peer.setblocking(False)
    if peer.family not in (socket.AF_INET, socket.AF_INET6):
        return peer, ""
    _keep_alive(peer)
    return peer, address[0]


def _keep_alive(peer: socket.socket) -> None:
    """Enable TCP keep-alive, which notices within about half a minute that the other machine is lost."""
    with contextlib.suppress(OSError):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", ALIVE_IDLE_S),
            ("TCP_KEEPINTVL", ALIVE_INTERVAL_S),
            ("TCP_KEEPCNT", ALIVE_PROBES),
            ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS),
        ):
            if hasattr(socket, name):
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
