"""Connections whose handshake is not over: their limit, and which one is closed for a new one. A state machine.

A peer that only opens connections must keep nobody out, of its own address or another. An honest handshake takes
milliseconds, so the oldest one gives way to a newcomer. Times are seconds of any clock.
"""

from __future__ import annotations

from typing import Generic, TypeVar

ConnectionT = TypeVar("ConnectionT")


class HandshakeTable(Generic[ConnectionT]):
    """Connections by age and by source address: at most ``most`` in all and ``most_of_address`` of one address. `add`
    does not check these limits: ask `is_full` first. The address of ipc is "", for which only the first limit applies.
    """

    def __init__(self, most: int, most_of_address: int) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._since: dict[ConnectionT, tuple[float, str]] = {}
        """Time and address of each connection, oldest first."""
        self._of_address: dict[str, dict[ConnectionT, None]] = {}
        """The same connections by address, oldest first, without those of "". An address without connections is
        removed.
        """

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, connection: ConnectionT) -> bool:
        return connection in self._since

    def add(self, connection: ConnectionT, address: str, now: float) -> None:
        """Add a connection that was accepted at ``now``."""
        self._since[connection] = now, address
        if address:
            self._of_address.setdefault(address, {})[connection] = None

    def discard(self, connection: ConnectionT) -> None:
        """Remove a connection, if it is in the table."""
        _, address = self._since.pop(connection, (0.0, ""))
        others = self._of_address.get(address, {})
        others.pop(connection, None)
        if address and not others:
            self._of_address.pop(address, None)

    def address(self, connection: ConnectionT) -> str:
        """Return the address of a connection, "" if it is not in the table."""
        return self._since.get(connection, (0.0, ""))[1]

    def is_full(self, address: str = "") -> bool:
        """Return whether one more connection is too many: from ``address`` if given, else in all."""
        if address:
            return len(self._of_address.get(address, ())) >= self._most_of_address
        return len(self._since) >= self._most

    def oldest(self, now: float, least_s: float, address: str = "") -> ConnectionT | None:
        """Return the oldest connection, from ``address`` if given; None if none is ``least_s`` seconds old. It stays in
        the table.
        """
        oldest = next(iter(self._of_address.get(address, ()) if address else self._since), None)
        return oldest if oldest is not None and now - self._since[oldest][0] >= least_s else None
