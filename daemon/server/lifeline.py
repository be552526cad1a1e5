"""The lifeline: a socket by which a supervised daemon reports to its supervisor that it is ready and alive, a byte
each.
"""

from __future__ import annotations

import os

from desdaemon.protocol.system import platform

VARIABLE = "DESDAEMON_LIFELINE"
"""Names the socket in the environment of a supervised daemon, and how often it was restarted: ``4:0``."""

READY, ALIVE = b"r", b"."


class Lifeline:
    """The daemon's end of the socket to its supervisor; without one it does nothing. Made before any child is."""

    def __init__(self) -> None:
        found = os.environ.pop(VARIABLE, "")
        descriptor, _, restarts = found.partition(":")
        self.restarts = int(restarts or 0)
        """How often the daemon was restarted before."""
        self._socket = platform.socket_of_parent(descriptor) if found else None
        if self._socket is not None:
            self._socket.set_inheritable(False)
            self._socket.setblocking(False)

    def tell(self, what: bytes) -> bool:
        """Send `READY` or `ALIVE`; false where the supervisor is gone. Never waits."""
        if self._socket is None:
            return True
        try:
            self._socket.send(what)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True
