"""Readiness of sockets: epoll where the system has it, else the best of `selectors` (kqueue, poll, select).

Used by the loop of `desdaemon.server.sockets`.
"""

from __future__ import annotations

import select
import selectors
import sys
import time
from collections.abc import Callable
from typing import Protocol

READ, WRITE, LEFT = 1, 2, 4
"""Events of a socket as bits of a mask; `LEFT` means that the peer has closed or reset the connection.

epoll reports `LEFT` at once, even for a mask of 0. Other systems do not: there only reading or writing shows it.
"""

ReadyHandler = Callable[[int], None]


class Readiness(Protocol):
    """The system call behind a `Poller`. Masks are made of the bits `READ`, `WRITE` and `LEFT`."""

    def register(self, descriptor: int, mask: int) -> None:
        """Start to watch a descriptor."""

    def modify(self, descriptor: int, mask: int) -> None:
        """Change the mask of a descriptor."""

    def unregister(self, descriptor: int) -> None:
        """Stop watching a descriptor."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Wait up to ``seconds``. Returns the ready descriptors, each with its mask."""

    def close(self) -> None:
        """Close the descriptors that the call itself needs."""


if sys.platform == "linux":

    class EpollReadiness:
        """`Readiness` by epoll, on Linux. For a mask of 0 it reports `LEFT` alone."""

        def __init__(self) -> None:
            self._epoll = select.epoll()

        def register(self, descriptor: int, mask: int) -> None:
            self._epoll.register(descriptor, self._events(mask))

        def modify(self, descriptor: int, mask: int) -> None:
            self._epoll.modify(descriptor, self._events(mask))

        def unregister(self, descriptor: int) -> None:
            self._epoll.unregister(descriptor)

        def wait(self, seconds: float) -> list[tuple[int, int]]:
            return [(descriptor, self._mask(events)) for descriptor, events in self._epoll.poll(seconds)]

        def close(self) -> None:
            self._epoll.close()

        @staticmethod
        def _events(mask: int) -> int:
            reading = select.EPOLLIN if mask & READ else 0
            writing = select.EPOLLOUT if mask & WRITE else 0
            return reading | writing | select.EPOLLRDHUP

        @staticmethod
        def _mask(events: int) -> int:
            gone = events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP)
            reading = READ if events & select.EPOLLIN else 0
            writing = WRITE if events & select.EPOLLOUT else 0
            return reading | writing | (LEFT if gone else 0)


class SelectorReadiness:
    """`Readiness` by `selectors`, on every system. It never reports `LEFT`, and nothing for a mask of 0."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        """``selector`` is None for the best that the system has."""
        self._selector = selector or selectors.DefaultSelector()
        self._masks: dict[int, int] = {}

    def register(self, descriptor: int, mask: int) -> None:
        self._masks[descriptor] = mask
        if mask:
            self._selector.register(descriptor, self._events(mask))

    def modify(self, descriptor: int, mask: int) -> None:
        old_mask = self._masks[descriptor]
        if mask and old_mask:
            self._masks[descriptor] = mask
            self._selector.modify(descriptor, self._events(mask))
        else:
            self.unregister(descriptor)
            self.register(descriptor, mask)

    def unregister(self, descriptor: int) -> None:
        if self._masks.pop(descriptor):
            self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        if not self._selector.get_map():
            # Windows refuses to wait for no socket.
            time.sleep(seconds)
            return []
        return [
            (
                key.fd,
                (READ if events & selectors.EVENT_READ else 0) | (WRITE if events & selectors.EVENT_WRITE else 0),
            )
            for key, events in self._selector.select(seconds)
        ]

    def close(self) -> None:
        self._selector.close()

    @staticmethod
    def _events(mask: int) -> int:
        return (selectors.EVENT_READ if mask & READ else 0) | (selectors.EVENT_WRITE if mask & WRITE else 0)


class Poller:
    """Watches descriptors and calls a function for each that is ready. For one thread.

    A handler may change the poller; handlers of descriptors that it unregisters are not called any more.
    """

    def __init__(self, readiness: Readiness | None = None) -> None:
        """``readiness`` is None for the best that the system has."""
        if readiness is None:
            if sys.platform == "linux":
                readiness = EpollReadiness()
            else:
                readiness = SelectorReadiness()
        self._readiness = readiness
        self._handlers: dict[int, ReadyHandler] = {}
        self.woke = 0.0
        """`time.perf_counter` at the end of the last wait, 0 during a wait. Other threads may read it."""

    def register(self, descriptor: int, mask: int, handler: ReadyHandler) -> None:
        """Watch a descriptor, and call ``handler`` with its events. For a mask of 0 see `LEFT`."""
        self._readiness.register(descriptor, mask)
        self._handlers[descriptor] = handler

    def modify(self, descriptor: int, mask: int) -> None:
        """Change the mask of a descriptor."""
        self._readiness.modify(descriptor, mask)

    def unregister(self, descriptor: int) -> None:
        """Stop watching a descriptor."""
        del self._handlers[descriptor]
        self._readiness.unregister(descriptor)

    def poll(self, seconds: float) -> None:
        """Wait up to ``seconds``, then call the handlers of the ready descriptors."""
        handlers = self._handlers
        self.woke = 0.0
        events = self._readiness.wait(seconds)
        self.woke = time.perf_counter()
        ready = [(descriptor, handlers[descriptor], mask) for descriptor, mask in events if descriptor in handlers]
        for descriptor, handler, mask in ready:
            if handlers.get(descriptor) is handler:
                handler(mask)

    def close(self) -> None:
        """Close the poller's own descriptors."""
        self._readiness.close()
