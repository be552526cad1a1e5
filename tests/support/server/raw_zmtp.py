"""ZMTP over a plain socket, from the specification alone: peers that libzmq would not let one be."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

import msgpack

MORE, LONG, COMMAND = 1, 2, 4
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)


def frame(content: bytes, flags: int = 0) -> bytes:
    if len(content) < 256:
        return bytes([flags, len(content)]) + content
    return bytes([flags | LONG]) + struct.pack(">Q", len(content)) + content


def ready(kind: bytes = b"DEALER", identity: bytes = b"") -> bytes:
    properties = b"".join(
        bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        for name, value in ((b"Socket-Type", kind), (b"Identity", identity))
    )
    return frame(b"\x05READY" + properties, COMMAND)


PING = frame(b"\x04PING\x00\x00", COMMAND)


def request(number: int, op: str, **args: Any) -> bytes:
    return frame(msgpack.packb({"v": 1, "id": number, "op": op, "args": args}))


class RawPeer:
    """A connected socket; nothing is sent that a test does not ask for."""

    def __init__(self, endpoint: str) -> None:
        if endpoint.startswith("ipc://"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(endpoint.removeprefix("ipc://"))
        else:
            host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(30)
        self._data = b""

    def __enter__(self) -> RawPeer:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_what_fits(self, data: bytes) -> bytes:
        """Send until the daemon takes no more for now. Returns the rest."""
        self.socket.setblocking(False)
        try:
            while data:
                data = data[self.socket.send(data) :]
        except OSError:
            pass
        self.socket.settimeout(30)
        return data

    def reset(self) -> None:
        """Leave without a word: over TCP with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def greet(self, kind: bytes = b"DEALER", identity: bytes = b"") -> RawPeer:
        """The whole handshake."""
        self.send(GREETING + ready(kind, identity))
        assert self.exactly(64)[:10] == GREETING[:10]
        flags, content = self.frame()
        assert (flags, content[:6]) == (COMMAND, b"\x05READY")
        return self

    def exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            found = self.socket.recv(1 << 16)
            assert found, "the daemon has closed the connection"
            self._data += found
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def frame(self) -> tuple[int, bytes]:
        """The next frame: flags and content."""
        flags = self.exactly(1)[0]
        size = struct.unpack(">Q", self.exactly(8))[0] if flags & LONG else self.exactly(1)[0]
        return flags & ~LONG, self.exactly(size)

    def reply(self) -> dict[str, Any]:
        """The next reply of one frame."""
        flags, content = self.frame()
        assert flags == 0
        found: dict[str, Any] = msgpack.unpackb(content)
        return found

    @property
    def closed(self) -> bool:
        """Whether the daemon closes the connection, soon."""
        due = time.monotonic() + 30
        while time.monotonic() < due:
            try:
                if not self.socket.recv(1 << 16):
                    return True
            except ConnectionError:
                return True
        return False
