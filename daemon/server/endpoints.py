"""The sockets of the daemon: where they are bound, who is let in, and what a message says about its sender.

A door is a ROUTER socket with a monitor; there is one for the ipc endpoint and one for TCP, since encryption is a
matter of the whole socket. Beside each is a PUB socket for events.
"""

from __future__ import annotations

import contextlib
import re
import socket
from ipaddress import ip_address
from typing import Any, NamedTuple

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.wire import codec
from desdaemon.protocol.wire.connection import events_endpoint
from desdaemon.protocol.wire.messages import ADMIN, EDITOR

from .keys import Keys

LARGEST_FRAME = 4 << 20
"""Bytes; a frame beyond this closes its connection. Up to here a body that is too large gets a reply."""

_RECEIVED_AHEAD = 64
_SENT_AHEAD = 256
_HEARTBEAT_MS = 10_000
_SILENCE_MS = 30_000
_ATTEMPTS = 50
_ASKED_MS = 500
_DOMAIN = b"desdaemon"
_TCP = re.compile(r"tcp://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9*._-]+):([0-9]{1,5})")
_LAST_PORT = 65_534
_PROTOCOL_ERRORS = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)


class Arrival(NamedTuple):
    """A message: who sent it, over which connection, the frames before the body that come back, and the body.

    ``body`` is None where the number of frames is wrong. ``user`` is the public key of an encrypted connection.
    """

    identity: bytes
    connection: int
    prefix: tuple[bytes, ...]
    body: bytes | None
    kind: str
    user: str


class Door:
    """A ROUTER socket; see the module. For one thread."""

    def __init__(self, context: zmq.Context[Any], name: str, role: str, keys: Keys | None) -> None:
        """``role`` is everybody's where there are no ``keys``."""
        self.name = name
        self.role = role
        self.keys = keys
        self.endpoints: list[str] = []
        self.events: list[str] = []
        self.connections: set[int] = set()
        """Those that are open, as far as `closed_connections` has told."""
        self.socket = context.socket(zmq.ROUTER)
        self.publisher = context.socket(zmq.PUB)
        for made in (self.socket, self.publisher):
            made.linger = 0
            made.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
            made.setsockopt(zmq.SNDHWM, _SENT_AHEAD)
            made.setsockopt(zmq.RCVHWM, _RECEIVED_AHEAD)
            made.setsockopt(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
            made.setsockopt(zmq.HEARTBEAT_TIMEOUT, _SILENCE_MS)
            made.setsockopt(zmq.BACKLOG, 1024)
            if keys is not None:
                public, secret = keys.server()
                made.curve_server = True
                made.curve_publickey = public.encode()
                made.curve_secretkey = secret.encode()
                made.zap_domain = _DOMAIN
        self.socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        # A client that comes back takes its identity over from a connection that has died unnoticed. With keys nobody
        # may do that, for it could be somebody else.
        self.socket.setsockopt(zmq.ROUTER_HANDOVER, int(keys is None))
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_ACCEPTED | _PROTOCOL_ERRORS)

    def bind(self, endpoint: str) -> None:
        """Listen at an endpoint and, for events, beside it; raises `BadInput`."""
        for made in (self.socket, self.publisher):
            made.ipv6 = "[" in endpoint
        for _ in range(_ATTEMPTS):
            try:
                if _is_listened_to(endpoint):
                    raise zmq.ZMQError(zmq.EADDRINUSE)
                self.socket.bind(endpoint)
            except zmq.ZMQError as error:
                holder = _holder(endpoint) if error.errno == zmq.EADDRINUSE else ""
                raise BadInput(
                    f"{endpoint}: {zmq.strerror(error.errno or 0)}{holder}: expected an endpoint that is free"
                ) from None
            bound = self.socket.last_endpoint.decode().rstrip("\0")
            try:
                beside = events_endpoint(bound)
                self.publisher.bind(beside)
            except (zmq.ZMQError, BadInput) as error:
                # The next port is taken; where any port will do, another pair may be free.
                self.socket.unbind(bound)
                if not endpoint.endswith(":0"):
                    raise BadInput(
                        f"{endpoint}: its events, beside it: {error}: expected an endpoint that is free"
                    ) from None
                continue
            self.endpoints.append(bound)
            self.events.append(beside)
            return
        raise BadInput(f"{endpoint}: expected two free ports in a row")

    def receive(self) -> Arrival:
        """The next message; raises `zmq.Again` where there is none."""
        identity = self.socket.recv(zmq.DONTWAIT)
        frame = self.socket.recv(zmq.DONTWAIT, copy=False)
        prefix: tuple[bytes, ...] = ()
        body: bytes | None = frame.bytes
        if frame.more:
            kind = str(frame.get("Socket-Type"))
            if not body:
                prefix = (b"",)
                frame = self.socket.recv(zmq.DONTWAIT, copy=False)
                body = frame.bytes
            while frame.more:
                body = None
                frame = self.socket.recv(zmq.DONTWAIT, copy=False)
            if not prefix:
                body = None
        else:
            kind = ""
        user = str(frame.get("User-Id")) if self.keys is not None else ""
        return Arrival(identity, int(frame.get(zmq.SRCFD)), prefix, body, kind, user)

    def role_of(self, user: str) -> tuple[str, str]:
        """Name and role of a sender; the role is empty for a key that was taken back."""
        if self.keys is None:
            return self.name, self.role
        found = self.keys.allowed().get(user)
        return (found.name, found.role) if found else (user[:8], "")

    def send(self, identity: bytes, prefix: tuple[bytes, ...], body: bytes) -> None:
        """Send a reply; raises `zmq.Again` where the client does not read, `zmq.ZMQError` where it has gone."""
        self.socket.send(identity, zmq.DONTWAIT | zmq.SNDMORE)
        for frame in prefix:
            self.socket.send(frame, zmq.DONTWAIT | zmq.SNDMORE)
        self.socket.send(body, zmq.DONTWAIT)

    def closed_connections(self) -> list[int]:
        """The connections that have ended since the last call; a refused one is -1."""
        found = []
        with contextlib.suppress(zmq.Again):
            while True:
                event = parse_monitor_message(self.monitor.recv_multipart(zmq.DONTWAIT))
                if event["event"] == zmq.EVENT_ACCEPTED:
                    self.connections.add(int(event["value"]))
                elif event["event"] == zmq.EVENT_DISCONNECTED:
                    self.connections.discard(int(event["value"]))
                    found.append(int(event["value"]))
                elif event["event"] & _PROTOCOL_ERRORS:
                    found.append(-1)
        return found

    def publish(self, topic: bytes, body: bytes) -> None:
        """Tell all who have subscribed; those who do not read miss it."""
        with contextlib.suppress(zmq.ZMQError):
            self.publisher.send_multipart((topic, body), zmq.DONTWAIT)

    def close(self, linger_ms: int) -> None:
        """Send what has been accepted, for at most so long."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.publisher.close(linger=linger_ms)
        self.socket.close(linger=linger_ms)


def _is_listened_to(endpoint: str) -> bool:
    """Whether somebody listens at an ipc endpoint already; libzmq would take the name away from them."""
    if not endpoint.startswith("ipc://"):
        return False
    with socket.socket(socket.AF_UNIX) as asker:
        return asker.connect_ex(endpoint.removeprefix("ipc://")) == 0


def _holder(endpoint: str) -> str:
    """Who answers at an endpoint, for messages; empty where it is no daemon, or one that wants a key."""
    with zmq.Context() as context, context.socket(zmq.REQ) as asker:
        asker.linger = 0
        asker.ipv6 = "[" in endpoint
        asker.connect(endpoint)
        asker.send(codec.encode({"v": codec.VERSION, "id": 0, "op": "status"}))
        if not asker.poll(_ASKED_MS):
            return ""
        try:
            return f" by the daemon of process {int(codec.decode(asker.recv())['data']['pid'])}"
        except (codec.WireError, KeyError, TypeError, ValueError):
            return ""


class Porter:
    """Answers libzmq's question whether a key may connect (ZAP)."""

    def __init__(self, context: zmq.Context[Any], keys: Keys) -> None:
        self._keys = keys
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind("inproc://zeromq.zap.01")
        self.refused = 0

    def answer(self) -> None:
        """Answer what has been asked."""
        with contextlib.suppress(zmq.Again):
            while True:
                version, number, domain, _address, _identity, mechanism, *shown = self.socket.recv_multipart(
                    zmq.DONTWAIT
                )
                public = z85.encode(shown[0]).decode() if shown and len(shown[0]) == 32 else ""
                known = mechanism == b"CURVE" and domain == _DOMAIN and self._knows(public)
                self.refused += not known
                verdict = (b"200", b"OK", public.encode()) if known else (b"400", b"this key is not allowed", b"")
                self.socket.send_multipart((version, number, *verdict, b""))

    def _knows(self, public: str) -> bool:
        try:
            return public in self._keys.allowed()
        except BadInput:
            return False


def is_loopback(endpoint: str) -> bool:
    """Whether only this machine can reach an endpoint."""
    host = endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]").lower()
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        # Whatever a name means today, it may mean something else tomorrow.
        return False


def _check_tcp(endpoint: str) -> None:
    """Raise `BadInput` for what is no address with a port; libzmq would take 99999 for 34463."""
    found = _TCP.fullmatch(endpoint)
    if not found or int(found[1]) > _LAST_PORT:
        raise BadInput(
            f"--bind {quoted(endpoint)}: expected an endpoint such as tcp://127.0.0.1:6464, port {_LAST_PORT} the last"
        )


def open_doors(
    context: zmq.Context[Any], ipc: str, tcp: list[str], keys: Keys | None, *, insecure: bool
) -> tuple[list[Door], Porter | None]:
    """Bind everything; raises `BadInput`, with nothing left open that would be missed.

    ``keys`` None: nobody needs a key.
    """
    for endpoint in tcp:
        _check_tcp(endpoint)
        if not is_loopback(endpoint) and keys is None and not insecure:
            raise BadInput(
                f"--bind {quoted(endpoint)}: other machines could connect: expected keys "
                "(desdaemon keys new NAME makes one) or --insecure"
            )
    doors: list[Door] = []
    porter = Porter(context, keys) if keys is not None and tcp else None
    if ipc:
        if len(ipc.encode()) > len("ipc://") + 107 - len("-events"):
            raise BadInput(
                f"{quoted(ipc)}: expected a path of at most 100 bytes; DESDAEMON_RUNTIME_DIR can name another"
            )
        doors.append(Door(context, "ipc", ADMIN, None))
        doors[-1].bind(ipc)
    if tcp:
        doors.append(Door(context, "tcp", EDITOR, keys))
        for endpoint in tcp:
            doors[-1].bind(endpoint)
    return doors, porter
