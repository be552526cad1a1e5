"""The connections whose handshake is not over: their limit, and the one that gives way. A state machine.

A peer that only opens connections must not keep others out. An honest handshake takes milliseconds, so one that has
lasted for `GIVES_WAY_S` loses its place to a newcomer. Times are seconds of any clock.
"""

from __future__ import annotations

from typing import Generic, TypeVar

GIVES_WAY_S = 1.0

ConnectionT = TypeVar("ConnectionT")


class HandshakeTable(Generic[ConnectionT]):
    """Connections by age and by the address they come from; connections by ipc have the address "", without a bound."""

    def __init__(self, most: int, most_of_address: int) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._since: dict[ConnectionT, tuple[float, str]] = {}
        """When each was added, and its address; from the oldest to the youngest."""
        self._of_address: dict[str, dict[ConnectionT, None]] = {}
        """The same connections in the same order, by address, except those without one. No address is empty."""

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, connection: ConnectionT) -> bool:
        return connection in self._since

    def add(self, connection: ConnectionT, address: str, now: float) -> None:
        """Add a connection that has just been accepted."""
        self._since[connection] = now, address
        if address:
            self._of_address.setdefault(address, {})[connection] = None

    def discard(self, connection: ConnectionT) -> None:
        """Remove a connection, if it is there."""
        _, address = self._since.pop(connection, (0.0, ""))
        others = self._of_address.get(address, {})
        others.pop(connection, None)
        if address and not others:
            self._of_address.pop(address, None)

    def is_full(self, address: str = "") -> bool:
        """Return whether there is no room for one more: from ``address`` if given, otherwise in all."""
        if address:
            return len(self._of_address.get(address, ())) >= self._most_of_address
        return len(self._since) >= self._most

    def oldest(self, now: float, least_s: float, address: str = "") -> ConnectionT | None:
        """Return the oldest connection, of ``address`` if given; None if it has not lasted for over ``least_s``."""
        oldest = next(iter(self._of_address.get(address, ()) if address else self._since), None)
        return oldest if oldest is not None and now - self._since[oldest][0] > least_s else None
