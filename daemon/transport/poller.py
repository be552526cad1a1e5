"""Which sockets are ready, by epoll, which also tells of a peer that has left while nothing is read from it."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

READ, WRITE, LEFT = 1, 2, 4
"""What a socket may be ready for; `LEFT` is that its peer has closed or reset the connection."""

Handler = Callable[[int], None]


class Poller:
    """Descriptors, each with what it waits for and the function that is called with what it is ready for.

    For one thread. A function may change the poller; one that was unregistered meanwhile is not called any more.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self.woke = 0.0
        """When the last wait was over."""

    def register(self, descriptor: int, mask: int, handler: Handler) -> None:
        """Begin to watch a descriptor; with a mask of 0 for the end of the connection only."""
        self._epoll.register(descriptor, _events(mask))
        self._handlers[descriptor] = handler

    def modify(self, descriptor: int, mask: int) -> None:
        """Watch it for something else."""
        self._epoll.modify(descriptor, _events(mask))

    def unregister(self, descriptor: int) -> None:
        """Watch it no more."""
        del self._handlers[descriptor]
        self._epoll.unregister(descriptor)

    def poll(self, seconds: float) -> None:
        """Wait for at most so long and call the functions of those that are ready."""
        handlers = self._handlers
        found = self._epoll.poll(seconds)
        self.woke = time.monotonic()
        ready = [(descriptor, handlers[descriptor], events) for descriptor, events in found if descriptor in handlers]
        for descriptor, handler, events in ready:
            if handlers.get(descriptor) is handler:
                handler(_mask(events))

    def close(self) -> None:
        """Give the descriptors of the poller itself back."""
        self._epoll.close()


def _events(mask: int) -> int:
    reading = select.EPOLLIN if mask & READ else 0
    writing = select.EPOLLOUT if mask & WRITE else 0
    return reading | writing | select.EPOLLRDHUP


def _mask(events: int) -> int:
    gone = events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP)
    reading = READ if events & select.EPOLLIN else 0
    writing = WRITE if events & select.EPOLLOUT else 0
    return reading | writing | (LEFT if gone else 0)
