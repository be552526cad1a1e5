"""Readiness of sockets, by the best of `selectors` that the system has: epoll, kqueue, poll or select.

Used by the loop of `desdaemon.server.sockets`.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
"""Events of a socket as bits of a mask. A peer that has closed or reset the connection makes its socket ready for what
the mask asks for.
"""

ReadyHandler = Callable[[int], None]


class Poller:
    """Watches descriptors and calls a function for each that is ready. For one thread.

    A handler may change the poller; handlers of descriptors that it unregisters are not called any more.
    """

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        """``selector`` is None for the best that the system has."""
        self._selector = selector or selectors.DefaultSelector()
        self._watched: dict[int, tuple[int, ReadyHandler]] = {}
        """Mask and handler of each descriptor. The selector has those whose mask is not 0."""
        self.woke = 0.0
        """`time.monotonic` at the end of the last wait, 0 during a wait. Other threads may read it."""

    def register(self, descriptor: int, mask: int, handler: ReadyHandler) -> None:
        """Watch a descriptor, and call ``handler`` with its events; none come for a mask of 0."""
        self._watched[descriptor] = mask, handler
        if mask:
            self._selector.register(descriptor, mask)

    def modify(self, descriptor: int, mask: int) -> None:
        """Change the mask of a descriptor."""
        old_mask, handler = self._watched[descriptor]
        if mask and old_mask:
            self._watched[descriptor] = mask, handler
            self._selector.modify(descriptor, mask)
        else:
            self.unregister(descriptor)
            self.register(descriptor, mask, handler)

    def unregister(self, descriptor: int) -> None:
        """Stop watching a descriptor."""
        mask, _ = self._watched.pop(descriptor)
        if mask:
            self._selector.unregister(descriptor)

    def poll(self, seconds: float) -> None:
        """Wait up to ``seconds``, then call the handlers of the ready descriptors."""
        self.woke = 0.0
        if self._selector.get_map():
            events = self._selector.select(seconds)
        else:
            # Windows refuses to wait for no socket.
            time.sleep(seconds)
            events = []
        self.woke = time.monotonic()
        ready = [(key.fd, self._watched[key.fd][1], mask) for key, mask in events]
        for descriptor, handler, mask in ready:
            if descriptor in self._watched and self._watched[descriptor][1] is handler:
                handler(mask)

    def close(self) -> None:
        """Close the poller's own descriptors."""
        self._selector.close()
