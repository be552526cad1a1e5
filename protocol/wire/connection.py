"""The connection file, by which clients on the same machine find the daemon: one JSON object, mode 0600.

The daemon writes it after it has bound its sockets. Nothing here creates a folder.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import files, folders, platform

EVENTS_SUFFIX = "-events"
_LONGEST_FILE = 65_536


class ConnectionFile(NamedTuple):
    """The content of the connection file.

    ``protocol`` is the version of the wire protocol, ``version`` the program's. ``endpoints`` are the addresses of the
    ROUTER socket, ipc first, ``events`` those of the PUB socket in the same order. ``public_key`` (Z85) is the
    daemon's, which clients on TCP need, None without encryption; ipc is never encrypted. ``key_file`` is a client's key
    for this user's programs on systems without ipc, otherwise None.
    """

    protocol: int
    pid: int
    version: str
    endpoints: tuple[str, ...]
    events: tuple[str, ...]
    public_key: str | None = None
    key_file: str | None = None

    def text(self) -> str:
        """Return the content as JSON."""
        import json

        return json.dumps(self._asdict(), indent=1) + "\n"


def connection_path() -> str:
    """Return the path of the connection file."""
    return os.path.join(folders.runtime(), "connection.json")  # noqa: PTH118


def default_endpoint() -> str:
    """Return the endpoint for clients on this machine: ipc, or on systems without it a free port of the loopback."""
    if not platform.HAS_IPC:
        return "tcp://127.0.0.1:0"
    return "ipc://" + os.path.join(folders.runtime(), "desdaemon.sock")  # noqa: PTH118


def events_endpoint(requests: str) -> str:
    """Return the endpoint for events that goes with the endpoint ``requests``: ``-events`` after a path, the next port
    of TCP. Raises `BadInput` for TCP without a port from 1 to 65534.
    """
    if not requests.startswith("tcp://"):
        return requests + EVENTS_SUFFIX
    host, colon, port = requests.rpartition(":")
    if not colon or not port.isdecimal() or not 1 <= int(port) < 65_535:
        raise BadInput(f"endpoint {quoted(requests)}: expected one such as tcp://127.0.0.1:6464")
    return f"{host}:{int(port) + 1}"


def read_connection(path: str) -> ConnectionFile:
    """Return the content of a connection file. Raises `OSError` if it cannot be read or is no regular file, and
    `BadInput`, which names the file, if it holds something else.
    """
    import json

    with files.open_regular(path) as file:
        text = file.read(_LONGEST_FILE).decode(errors="replace")
    try:
        content = json.loads(text)
        connection = ConnectionFile(
            int(content["protocol"]),
            int(content["pid"]),
            str(content["version"]),
            tuple(map(str, content["endpoints"])),
            tuple(map(str, content["events"])),
            str(content["public_key"]) if content.get("public_key") else None,
            str(content["key_file"]) if content.get("key_file") else None,
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise BadInput(f"{path}: {quoted(text)}: expected a connection file that a daemon has written") from None
    if not connection.endpoints or len(connection.endpoints) != len(connection.events):
        raise BadInput(f"{path}: expected endpoints for requests and as many for events")
    return connection
