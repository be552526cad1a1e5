"""Outboxes: bounded queues of replies that clients have not read. A state machine.

A queue over its bound drops its oldest partial, and without partials its oldest reply.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Outgoing(NamedTuple):
    """A message to send. ``prefix`` are the frames before ``body``; a ``partial`` is dropped before other messages."""

    prefix: tuple[bytes, ...]
    body: bytes
    partial: bool

    @property
    def size(self) -> int:
        """Bytes of all frames."""
        return len(self.body) + sum(map(len, self.prefix))


class ByteTotal:
    """The sum of the bytes in several outboxes."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class SendQueue:
    """The messages that wait for one client; ``bytes`` sums their frames. For one thread at a time."""

    __slots__ = ("_most", "_most_bytes", "_replies", "_total", "bytes")

    def __init__(self, most: int, most_bytes: int, total: ByteTotal) -> None:
        """Hold up to ``most`` messages and ``most_bytes``, or one longer message. The bytes are added to
        ``total`` too.
        """
        self.bytes = 0
        self._most = most
        self._most_bytes = most_bytes
        self._total = total
        self._replies: deque[Outgoing] = deque()

    def __len__(self) -> int:
        return len(self._replies)

    @property
    def crowded(self) -> bool:
        """Whether the queue is half full, so that no more work is taken from the client."""
        return 2 * len(self._replies) > self._most or 2 * self.bytes > self._most_bytes

    def put(self, reply: Outgoing) -> list[Outgoing]:
        """Add a message. Returns the messages that were dropped to keep the bounds, which may include the new one."""
        self._replies.append(reply)
        self._count(reply.size)
        dropped = []
        while len(self._replies) > self._most or (self.bytes > self._most_bytes and len(self._replies) > 1):
            dropped.append(self.drop_oldest())
        return dropped

    def drop_oldest(self) -> Outgoing:
        """Remove and return the oldest partial, or without partials the oldest message. There must be a message."""
        index = next((index for index, reply in enumerate(self._replies) if reply.partial), 0)
        dropped = self._replies[index]
        del self._replies[index]
        self._count(-dropped.size)
        return dropped

    def take(self, size: int) -> list[Outgoing]:
        """Remove and return the oldest messages until their frames, and 16 bytes for each, reach ``size`` bytes."""
        taken: list[Outgoing] = []
        removed = 0
        while self._replies and removed + 16 * len(taken) < size:
            reply = self._replies.popleft()
            taken.append(reply)
            removed += reply.size
        self._count(-removed)
        return taken

    def clear(self) -> None:
        self._replies.clear()
        self._count(-self.bytes)

    def _count(self, size: int) -> None:
        self.bytes += size
        self._total.bytes += size
