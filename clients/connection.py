"""Finding a daemon, and a ZeroMQ connection to it with the events of its monitor."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import zmq
from zmq.utils.monitor import parse_monitor_message

from desdaemon.protocol.errors import BadInput, lacking, quoted
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.wire.connection import ConnectionFile, connection_path, events_endpoint, read_connection
from desdaemon.protocol.wire.constants import ALIVE_IDLE_S, ALIVE_INTERVAL_S, ALIVE_PROBES, UNACKNOWLEDGED_MS

from .errors import DaemonError, NoDaemon

CONNECTED, LOST = "connected", "lost"

_KEY_LINE = re.compile(r'^\s*(public-key|secret-key|server-key)\s*=\s*"([^"]*)"\s*$', re.MULTILINE)
_Z85_LENGTH = 40
_LARGEST_KEY = 65_536
_RETRY_MS, _SLOWEST_RETRY_MS = 50, 250
_FAILURES_UNTIL_REFUSED = 3
_POLL_S = 0.02
_MOST_DESCRIPTORS = 16
"""Descriptors that a context of libzmq and a connection with its monitor take, and a few more."""


class ClientKeys(NamedTuple):
    """A client's CURVE keys and the daemon's public key, in Z85."""

    public: str
    secret: str
    server: str


class DaemonAddress(NamedTuple):
    """A daemon's endpoints for requests and events, and the keys to use.

    Without keys, and over ``ipc:``, the connection is not encrypted. ``owner`` is the daemon's pid, 0 if unknown.
    """

    requests: str
    events: str
    keys: ClientKeys | None = None
    owner: int = 0


def find(endpoint: str | None, key: str | os.PathLike[str] | None, server_key: str | None) -> DaemonAddress:
    """Return the address of the daemon at ``endpoint``. Without an endpoint, return that of this user's running daemon,
    read from the connection file, which also names the default key file. No connection is made.

    ``key`` is a key file as `desdaemon keys new` writes it. ``server_key``, the daemon's public key, replaces the one
    in that file; without ``key`` a new pair of keys is made for it. Raises `NoDaemon` for a wrong endpoint or, without
    an endpoint, if no daemon runs. Raises `DaemonError` (``forbidden``) for keys that cannot be used.
    """
    keys = _read_keys(Path(key), server_key) if key else None
    if server_key and not key:
        public, secret = zmq.curve_keypair()
        keys = ClientKeys(public.decode(), secret.decode(), server_key)
    if endpoint:
        try:
            return DaemonAddress(endpoint, events_endpoint(endpoint), keys)
        except BadInput as error:
            raise NoDaemon(str(error)) from None
    path = connection_path()
    try:
        endpoints = read_connection(path)
    except BadInput as error:
        raise NoDaemon(str(error)) from None
    except OSError as error:
        raise NoDaemon(f"no daemon runs here ({path}: {error.strerror}): `desdaemon serve` starts one") from None
    if not platform.alive(endpoints.pid):
        raise NoDaemon(f"the daemon of process {endpoints.pid} is gone ({path}): `desdaemon serve` starts one")
    if endpoints.key_file and keys is None:
        keys = _read_keys(Path(endpoints.key_file), None)
    return DaemonAddress(endpoints.endpoints[0], endpoints.events[0], keys, endpoints.pid)


def started(process: subprocess.Popen[bytes], path: Path, seconds: float) -> ConnectionFile:
    """Wait until the daemon that was started as ``process`` has written its connection file at ``path``. Raises
    `NoDaemon` if it ends, or has not written it after ``seconds``.
    """
    due = time.monotonic() + seconds
    while not path.exists():
        if process.poll() is not None or time.monotonic() > due:
            raise NoDaemon("the daemon did not start")
        time.sleep(_POLL_S)
    try:
        return read_connection(str(path))
    except (BadInput, OSError) as error:
        raise NoDaemon(str(error)) from None


def _read_keys(path: Path, server_key: str | None) -> ClientKeys:
    try:
        status = path.stat()
        with files.open_regular(path) as file:
            text = file.read(_LARGEST_KEY).decode(errors="replace")
    except OSError as error:
        raise DaemonError("forbidden", f"{path}: {error.strerror}") from None
    fields = dict(_KEY_LINE.findall(text))
    public, secret, server = (fields.get(name, "") for name in ("public-key", "secret-key", "server-key"))
    keys = ClientKeys(public, secret, server_key or server)
    if not all(len(key) == _Z85_LENGTH for key in keys):
        raise DaemonError("forbidden", f"{path}: not a key file made by `desdaemon keys new`")
    if platform.open_to_others(status, 0o077):
        raise DaemonError("forbidden", f"{path}: others can read this secret key: make a new one, or chmod 600 it")
    try:
        fits = zmq.curve_public(secret.encode()).decode() == public
    except (zmq.ZMQError, ValueError):
        fits = False
    if not fits:
        raise DaemonError("forbidden", f"{path}: its secret key does not match its public one: make a new one")
    return keys


def equip(socket: zmq.Socket[bytes], target: DaemonAddress, endpoint: str) -> None:
    """Set a socket's keys (none over ``ipc:``), keep-alive and reconnection, and connect it to ``endpoint``, one of
    ``target``'s. If endpoint or key is unusable, the socket is closed and `NoDaemon` raised.

    libzmq's heartbeats are off and its receive queue is unbounded, because a heartbeat that meets a full queue and a
    broken connection aborts the process (``stream_engine_base.cpp``). The daemon bounds its replies.
    """
    socket.linger = 0
    socket.rcvhwm = 0
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, ALIVE_IDLE_S)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, ALIVE_INTERVAL_S)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, ALIVE_PROBES)
    socket.setsockopt(zmq.TCP_MAXRT, UNACKNOWLEDGED_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, _RETRY_MS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, _SLOWEST_RETRY_MS)
    socket.setsockopt(zmq.IPV6, int("[" in endpoint))
    if target.keys and not endpoint.startswith("ipc:"):
        public, secret, server = (key.encode() for key in target.keys)
        try:
            socket.curve_publickey, socket.curve_secretkey, socket.curve_serverkey = public, secret, server
        except zmq.ZMQError:
            socket.close()
            raise NoDaemon(f"{endpoint}: the key {quoted(target.keys.server)}: expected 40 characters of Z85") from None
    try:
        socket.connect(endpoint)
    except zmq.ZMQError as error:
        socket.close()
        raise NoDaemon(f"{endpoint}: {error.strerror}: expected an endpoint such as tcp://127.0.0.1:6464") from None


class DaemonLink:
    """A DEALER socket for one connection. After `LOST` close it and make a new one, so that libzmq never repeats a
    request; but do not if ``refusal`` is set: it is the reason why the daemon will refuse every connection.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], target: DaemonAddress) -> None:
        try:
            platform.require_descriptors(_MOST_DESCRIPTORS)
        except OSError as error:
            # libzmq would abort.
            raise NoDaemon(f"{target.requests}: {lacking(error)}") from None
        self.target = target
        self.refusal = ""
        self._failures = 0
        self.socket = context.socket(zmq.DEALER)
        self.socket.sndhwm = 0
        self.monitor = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED
            | zmq.EVENT_DISCONNECTED
            | zmq.EVENT_HANDSHAKE_FAILED_AUTH
            | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        )
        try:
            equip(self.socket, target, target.requests)
        except NoDaemon:
            self.monitor.close()
            raise

    def send(self, body: bytes) -> None:
        self.socket.send_multipart((b"", body), zmq.DONTWAIT)

    def received(self) -> list[bytes]:
        """Return the bodies received since the last call."""
        bodies = []
        while True:
            try:
                bodies.append(self.socket.recv_multipart(zmq.DONTWAIT)[-1])
            except zmq.Again:
                return bodies

    def news(self) -> list[str]:
        """Return the connection's events since the last call, `CONNECTED` and `LOST`; set ``refusal`` if the daemon
        refuses the keys.
        """
        events: list[str] = []
        while True:
            try:
                message = parse_monitor_message(self.monitor.recv_multipart(zmq.DONTWAIT))
                event, value = message["event"], message["value"]
            except zmq.Again:
                return events
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._failures = 0
                events.append(CONNECTED)
            elif event == zmq.EVENT_DISCONNECTED:
                events.append(LOST)
            else:
                self._failures += 1
                mismatch = (
                    event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
                )
                # A daemon that is killed leaves a handshake unfinished as well; one with another key does so every
                # time.
                unsaid = event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
                if not unsaid or (self.target.keys and self._failures >= _FAILURES_UNTIL_REFUSED):
                    self.refusal = f"{self.target.requests}: {self._reason(mismatch)}"

    def _reason(self, mismatch: bool) -> str:
        """Return why handshakes probably failed, with advice; ``mismatch`` says that only one side uses keys."""
        if not self.target.keys:
            return "the daemon needs a key: pass one that it allows with --key (`desdaemon keys new` makes one)"
        if mismatch:
            return "this endpoint does not use keys: connect without --key, or start the server with --keys FOLDER"
        return "the daemon refuses this key: let it in with `desdaemon keys allow`, and check the server's key"

    def close(self, linger_ms: int = 0) -> None:
        """Close the connection; bodies not sent within ``linger_ms`` are dropped."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=linger_ms)
