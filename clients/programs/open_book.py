"""The book of a daemon that has just started: waiting for it, because an analysis goes on without one."""

from __future__ import annotations

from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.errors import DaemonError


class OpenBook:
    """Whether a client's daemon has opened its book since the client was connected."""

    def __init__(self) -> None:
        self._connections = 0
        """The client's connections when the book was open."""

    async def wait(self, client: AsyncClient) -> None:
        """Return when the book is open, or there is none: a look-up waits for a book that is being opened. A wait that
        was cancelled is made again by the next one, as is that after a new connection.
        """
        connections = client.connections
        if self._connections == connections:
            return
        try:
            await client.book_get()
        except DaemonError as error:
            if error.code == "busy":
                return
        self._connections = connections
