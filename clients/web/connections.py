"""The gateway's HTTP server, whose connections are bounded: silent ones keep nobody out.

Where one too many comes, or the system has no descriptors left, the oldest of the address that has most gives way.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.netutil import bind_sockets

MOST_CONNECTIONS = 512
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
_PAUSE_S = 0.25
_FREED = 8
"""Without descriptors one connection of so many ends."""


class BoundedServer(HTTPServer):
    """An HTTP server with at most `MOST_CONNECTIONS`, besides those that are kept."""

    def initialize(self, *arguments: Any, **options: Any) -> None:
        self._open: dict[IOStream, str] = {}
        """The connections, some of which may be closed, with their addresses, the oldest first."""
        super().initialize(*arguments, **options)

    def listen_at(self, port: int, address: str) -> None:
        """Accept connections at an address of this machine. Raises `OSError`."""
        self.add_sockets([_Listening(self, bound) for bound in bind_sockets(port, address)])

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        self.make_room(MOST_CONNECTIONS - 1)
        self._open[stream] = address[0]
        super().handle_stream(stream, address)

    def keep(self, stream: IOStream) -> None:
        """Count a connection no more: it is bounded elsewhere."""
        self._open.pop(stream, None)

    def make_room(self, most: int | None = None) -> None:
        """Close connections until there are at most ``most``; without it, some of them."""
        if most is not None and len(self._open) <= most:
            return
        self._open = {stream: address for stream, address in self._open.items() if not stream.closed()}
        count = len(self._open)
        for _ in range(1 + count // _FREED if most is None else count - most):
            if not self._open:
                return
            ((crowd, _number),) = Counter(self._open.values()).most_common(1)
            oldest = next(stream for stream, address in self._open.items() if address == crowd)
            del self._open[oldest]
            oldest.close()


class _Listening(socket.socket):
    """A listening socket that pauses where no connection can be accepted: Tornado would try without end."""

    def __init__(self, server: BoundedServer, bound: socket.socket) -> None:
        super().__init__(fileno=bound.detach())
        self._server = server

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _LACKING:
                raise
            self._server.make_room()
            IOLoop.current().update_handler(self.fileno(), 0)
            asyncio.get_running_loop().call_later(_PAUSE_S, self._go_on)
            raise BlockingIOError from None

    def _go_on(self) -> None:
        if self.fileno() >= 0:
            IOLoop.current().update_handler(self.fileno(), IOLoop.READ)
