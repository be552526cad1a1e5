"""Checks of the endpoints: the runtime folder, a running daemon, free ports, keys of clients."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.system import folders, platform
from desdaemon.protocol.wire.connection import (
    EVENTS_SUFFIX,
    connection_path,
    default_endpoint,
    events_endpoint,
    read_connection,
)

from . import FAULT, OK, WARNING, Finding


def runtime() -> Finding:
    """Check that the folder of the sockets and the connection file can be used, or made."""
    folder = Path(folders.runtime())
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    mend = "name another with DESDAEMON_RUNTIME_DIR"
    if platform.HAS_IPC:
        path = default_endpoint().removeprefix("ipc://") + EVENTS_SUFFIX
        length, most = len(os.fsencode(path)), platform.LONGEST_SOCKET_PATH
        if length > most:
            return Finding("runtime folder", FAULT, f"{path}: {length} bytes, a socket's path has {most} at most", mend)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Finding("runtime folder", FAULT, f"{existing}: cannot be written", mend)
    status = folder.stat() if folder.exists() else None
    if status is not None and not platform.is_ours(status):
        return Finding("runtime folder", FAULT, f"{folder}: belongs to another user", mend)
    local = "ipc" if platform.HAS_IPC else "TCP on the loopback device with a key"
    return Finding("runtime folder", OK, f"{folder}; local clients use {local}")


def daemon() -> Finding:
    """Report whether this user runs a daemon; a connection file that cannot be read is a warning."""
    path = connection_path()
    try:
        connection = read_connection(path)
    except FileNotFoundError:
        return Finding("daemon", OK, "none runs")
    except (BadInput, OSError) as error:
        return Finding("daemon", WARNING, str(error), f"remove {path}, or start a daemon, which replaces it")
    if not platform.alive(connection.pid):
        return Finding("daemon", OK, f"none runs; process {connection.pid} was ended by force")
    return Finding("daemon", OK, f"{connection.version}, process {connection.pid}, at {' '.join(connection.endpoints)}")


def ports(endpoints: list[str]) -> Iterator[Finding]:
    """Check that a daemon could listen on these endpoints."""
    from desdaemon.protocol.rows import EDITOR
    from desdaemon.server.endpoints import Acceptor, check_tcp

    for endpoint in endpoints:
        acceptor = Acceptor("tcp", EDITOR, None)
        try:
            check_tcp(endpoint)
            acceptor.bind(endpoint)
        except BadInput as error:
            yield Finding("port", FAULT, str(error), "end that program, or choose another port")
            continue
        finally:
            acceptor.close()
        yield Finding("port", OK, f"{endpoint} is free, and {events_endpoint(acceptor.endpoints[0])} for events")


def keys() -> Finding:
    """Check libsodium, which keys need, and the folder of keys."""
    from desdaemon.core.paths import keys_folder
    from desdaemon.server.keys import KeyStore
    from desdaemon.server.transport import sodium

    store = KeyStore(keys_folder())
    try:
        sodium.library()
        count = len(store.allowed())
    except sodium.NoSodium as error:
        state = WARNING if platform.HAS_IPC else FAULT
        return Finding("keys", state, str(error), "pip install pynacl, or install libsodium")
    except BadInput as error:
        return Finding("keys", FAULT, str(error), "chmod go-w that file, or remove it")
    except OSError as error:
        return Finding("keys", FAULT, f"{store.folder}: {error.strerror}", "let this user read it")
    return Finding("keys", OK, f"{count or 'no'} client{'s' * (count != 1)} in {store.folder}")
