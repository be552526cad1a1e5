"""Limits on requests in flight: by client, by key and for the daemon, counted in positions that have no answer yet.

A client may use half of what its key has left, a key half of what the daemon has left, so that no client can shut the
others out. A client with nothing in flight always gets a small request admitted. Used by `registry.Operations`; for one
thread at a time, except `Admission.leave`, which any thread may call.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from desdaemon.protocol.wire.messages import RequestError

if TYPE_CHECKING:
    from .request import ClientRecord, ServerLimits

SMALL = 4
"""Positions of a request that a client with nothing in flight may always make."""


class Admission:
    """Counts positions in flight by client, by key and in all, and refuses requests beyond the bounds."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._total = 0
        self._keys: dict[str, int] = {}
        self._clients: dict[int, int] = {}
        self._lock = threading.Lock()

    def enter(self, client: ClientRecord, positions: int) -> None:
        """Count a request in. Raises `RequestError` (``busy``) beyond a limit."""
        limits, key, number = self._limits, client.account, client.number
        with self._lock:
            mine, ours = self._clients.get(number, 0), self._keys.get(key, 0)
            if mine or positions > SMALL:
                left = limits.queue - self._total
                if mine + positions > min(left, limits.key_queue - ours) or ours + positions > left:
                    most = min(limits.queue, limits.key_queue)
                    if positions > most:
                        raise RequestError("busy", f"{positions} positions in a request: expected at most {most}")
                    raise RequestError(
                        "busy",
                        f"{mine} positions of this client, {ours} of {key} and {self._total} of all are in flight: "
                        "try later",
                    )
            self._clients[number] = mine + positions
            self._keys[key] = ours + positions
            self._total += positions

    def leave(self, number: int, key: str, positions: int) -> None:
        """Count a finished request of the client ``number`` and its key out. Any thread."""
        with self._lock:
            self._total -= positions
            mine, ours = self._clients.pop(number) - positions, self._keys.pop(key) - positions
            if mine:
                self._clients[number] = mine
            if ours:
                self._keys[key] = ours

    def in_flight(self, key: str) -> int:
        """The positions in flight of a key."""
        return self._keys.get(key, 0)
