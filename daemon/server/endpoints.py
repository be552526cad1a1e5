"""Endpoints: listening sockets, and who may connect to them.

An `Acceptor` listens at endpoints of one kind, ipc or TCP: at each for requests, and beside it, at a second socket, for
subscribers to events.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
from ipaddress import ip_address

from desdaemon.protocol.errors import BadInput, lacking, quoted
from desdaemon.protocol.rows import ADMIN, EDITOR
from desdaemon.protocol.system import platform
from desdaemon.protocol.wire import codec, constants
from desdaemon.protocol.wire.connection import EVENTS_SUFFIX, events_endpoint
from desdaemon.server.transport.curve import CurveSecurity, from_z85
from desdaemon.server.transport.zmtp import Security, SocketKind

from .keys import AllowedKey, KeyStore

_BACKLOG = 1024
_ATTEMPTS = 50
_ASKED_MS = 500
_TCP = re.compile(r"tcp://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9*._-]+):([0-9]{1,5})")
_METRICS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_LAST_PORT = 65_534


class Acceptor:
    """Listens at endpoints of one kind, ipc or TCP. A client gets the name and role of its key or, without ``keys``,
    the acceptor's ``name`` and ``role``.
    """

    def __init__(self, name: str, role: str, keys: KeyStore | None) -> None:
        """Raises `BadInput` if the daemon's key cannot be used or made."""
        self.name = name
        self.role = role
        self.keys = keys
        self.endpoints: list[str] = []
        self.events: list[str] = []
        self.listening: list[tuple[socket.socket, SocketKind]] = []
        self._known: dict[str, AllowedKey] | None = None
        self._own_keys: tuple[bytes, bytes] | None = None
        """The daemon's public and secret key; None without ``keys``."""
        if keys is not None:
            public, secret = keys.server()
            self._own_keys = from_z85(public), from_z85(secret)

    def security(self) -> Security | None:
        """Return the security of a new connection; None without keys."""
        return CurveSecurity(*self._own_keys, self.admits) if self._own_keys is not None else None

    def bind(self, endpoint: str) -> None:
        """Listen at an endpoint, and beside it for events; for port 0 two free ports in a row are chosen. Raises
        `BadInput` if one of the two cannot be had.
        """
        for _ in range(_ATTEMPTS):
            try:
                listening, bound = _listen(endpoint)
            except OSError as error:
                holder = _holder(endpoint) if error.errno == errno.EADDRINUSE else ""
                raise BadInput(f"{endpoint}: {lacking(error) or error.strerror}{holder}") from None
            try:
                beside, events = _listen(events_endpoint(bound))
            except (OSError, BadInput) as error:
                listening.close()
                if lacking(error) or not endpoint.endswith(":0"):
                    reason = lacking(error) or (error.strerror if isinstance(error, OSError) else error)
                    raise BadInput(f"{endpoint}: its events, beside it: {reason}") from None
                continue
            self.listening += [(listening, SocketKind.REQUESTS), (beside, SocketKind.EVENTS)]
            self.endpoints.append(bound)
            self.events.append(events)
            return
        raise BadInput(f"{endpoint}: no two free ports in a row")

    def role_of(self, user: str) -> tuple[str, str]:
        """Return the name and role of a client by its public key; without keys the acceptor's own. For a key that is
        not allowed the name is its first characters, the role "". Raises `BadInput` if the list of keys cannot be used.
        """
        if self.keys is None:
            return self.name, self.role
        key = self.keys.allowed().get(user)
        return (key.name, key.role) if key else (user[:8], "")

    def admits(self, user: str) -> bool:
        """Return whether a client with this public key may connect. Without keys all may; if the list of keys cannot be
        used, none may.
        """
        try:
            return self.keys is None or user in self.keys.allowed()
        except BadInput:
            return False

    def keys_changed(self) -> bool:
        """Return whether the list of keys was read again since the last call, or has become usable or unusable. So a
        key is noticed that was allowed and revoked between two calls: its client may have come in meanwhile.
        """
        if self.keys is None:
            return False
        try:
            allowed = self.keys.allowed()
        except BadInput:
            allowed = None
        changed, self._known = allowed is not self._known, allowed
        return changed

    def close(self) -> None:
        """Close the listening sockets and remove the files of ipc endpoints; accepted connections stay open."""
        for listening, _ in self.listening:
            listening.close()
        for endpoint in (*self.endpoints, *self.events):
            if endpoint.startswith("ipc://") and not endpoint.startswith("ipc://@"):
                with contextlib.suppress(OSError):
                    os.unlink(endpoint.removeprefix("ipc://"))  # noqa: PTH108
        self.listening = []


def _listen(endpoint: str) -> tuple[socket.socket, str]:
    """Return a listening socket and its endpoint, where port 0 is replaced by the system's choice. Raises `OSError`."""
    if endpoint.startswith("ipc://"):
        return _listen_on_path(endpoint.removeprefix("ipc://")), endpoint
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    name = "" if host == "*" else host.strip("[]")
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        platform.claim_port(listening)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((name, int(port)))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    address = listening.getsockname()
    shown = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
    return listening, f"tcp://{shown}:{address[1]}"


def _listen_on_path(path: str) -> socket.socket:
    if _is_listened_to(path):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    address = "\0" + path[1:] if path.startswith("@") else path
    if not path.startswith("@"):
        # A daemon that was killed has left its socket's file.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108
    listening = platform.ipc_socket()
    try:
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _is_listened_to(path: str) -> bool:
    with platform.ipc_socket() as asker:
        return asker.connect_ex("\0" + path[1:] if path.startswith("@") else path) == 0


def _holder(endpoint: str) -> str:
    """Return words that name the daemon at an endpoint, for an error message; "" if none answers without a key."""
    import zmq

    with zmq.Context() as context, context.socket(zmq.REQ) as asker:
        asker.linger = 0
        asker.ipv6 = "[" in endpoint
        asker.connect(endpoint)
        asker.send(codec.encode({"v": constants.VERSION, "id": 0, "op": "status"}))
        if not asker.poll(_ASKED_MS):
            return ""
        try:
            return f" by the daemon of process {int(codec.decode(asker.recv())['data']['pid'])}"
        except (codec.WireError, KeyError, TypeError, ValueError):
            return ""


def is_loopback(endpoint: str) -> bool:
    """Return whether only this machine can reach a TCP endpoint; False for host names other than ``localhost``."""
    host = endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]").lower()
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        # A name may stand for another address tomorrow.
        return False


def check_tcp(endpoint: str) -> None:
    """Raise `BadInput` unless ``endpoint`` is a TCP address with a port, at most `_LAST_PORT`."""
    match = _TCP.fullmatch(endpoint)
    if not match or int(match[1]) > _LAST_PORT:
        raise BadInput(
            f"--bind {quoted(endpoint)}: expected an endpoint such as tcp://127.0.0.1:6464, port {_LAST_PORT} at most"
        )


def open_acceptors(
    ipc: str, tcp: list[str], keys: KeyStore | None, *, insecure: bool, local_keys: KeyStore | None = None
) -> list[Acceptor]:
    """Return acceptors that listen at all endpoints; ``ipc`` is "" for none. Raises `BadInput`, with none left open, if
    an endpoint cannot be bound or, unless ``insecure``, if one beyond this machine has no ``keys``.

    Without ``keys`` clients of ``tcp`` need no key. With ``local_keys``, ``ipc`` names a TCP endpoint instead, whose
    clients need one of these keys.
    """
    for endpoint in tcp:
        check_tcp(endpoint)
        if not is_loopback(endpoint) and keys is None and not insecure:
            raise BadInput(
                f"--bind {quoted(endpoint)}: beyond this machine TCP needs keys "
                "(desdaemon keys new NAME makes one), or --insecure"
            )
    acceptors: list[Acceptor] = []
    try:
        if ipc and local_keys is not None:
            acceptors.append(Acceptor("local", ADMIN, local_keys))
            acceptors[-1].bind(ipc)
        elif ipc:
            longest = platform.LONGEST_SOCKET_PATH - len(EVENTS_SUFFIX)
            if len(ipc.encode()) > len("ipc://") + longest:
                raise BadInput(
                    f"{quoted(ipc)}: expected a path of at most {longest} bytes; DESDAEMON_RUNTIME_DIR can name another"
                )
            acceptors.append(Acceptor("ipc", ADMIN, None))
            acceptors[-1].bind(ipc)
        if tcp:
            acceptors.append(Acceptor("tcp", EDITOR, keys))
            for endpoint in tcp:
                acceptors[-1].bind(endpoint)
    except BadInput:
        for acceptor in acceptors:
            acceptor.close()
        raise
    return acceptors


def metrics_address(text: str, *, insecure: bool) -> tuple[str, int]:
    """Return host and port that ``--metrics`` names.

    Raises `BadInput` for no address and, unless ``insecure``, for one that other machines can reach.
    """
    match = _METRICS.fullmatch(text)
    if not match or int(match[2]) > 65_535:
        raise BadInput(f"--metrics {quoted(text)}: expected an address such as 127.0.0.1:9464")
    if not insecure and not is_loopback(f"tcp://{text}"):
        raise BadInput(f"--metrics {quoted(text)}: beyond this machine it needs --insecure")
    return match[1].strip("[]"), int(match[2])
