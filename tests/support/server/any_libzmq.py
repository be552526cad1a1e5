"""A conversation with a daemon through the libzmq of a file, by ctypes: releases whose pyzmq is not for this Python.

Arguments: the library, the daemon's endpoint, that of its events, and with CURVE the keys: server, public, secret.
Prints what was answered as one JSON object.
"""

import ctypes
import json
import sys
from pathlib import Path

import msgpack

REQ, DEALER, SUB = 3, 5, 2
IDENTITY, SUBSCRIBE, LINGER, RCVTIMEO, HEARTBEAT = 5, 6, 17, 27, 75
PUBLIC, SECRET, SERVER = 48, 49, 50
SNDMORE = 2
PATIENCE_MS = 30_000


class Library:
    """As much of libzmq as is needed; every call is checked."""

    def __init__(self, path: str, keys: list[str]) -> None:
        for sodium in Path(path).parent.glob("libsodium*"):
            ctypes.CDLL(str(sodium))
        self.zmq = ctypes.CDLL(path)
        self.zmq.zmq_ctx_new.restype = self.zmq.zmq_socket.restype = ctypes.c_void_p
        self.zmq.zmq_strerror.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p(self.zmq.zmq_ctx_new())
        self.keys = keys

    @property
    def version(self) -> str:
        numbers = [ctypes.c_int() for _ in range(3)]
        self.zmq.zmq_version(*map(ctypes.byref, numbers))
        return ".".join(str(number.value) for number in numbers)

    def _checked(self, result: int) -> int:
        if result < 0:
            raise OSError(self.zmq.zmq_strerror(self.zmq.zmq_errno()).decode())
        return result

    def socket(self, kind: int, endpoint: str, options: dict[int, bytes | int]) -> ctypes.c_void_p:
        socket = ctypes.c_void_p(self.zmq.zmq_socket(self.context, kind))
        given: dict[int, bytes | int] = {LINGER: 0, RCVTIMEO: PATIENCE_MS, **options}
        if self.keys:
            server, public, secret = (key.encode() for key in self.keys)
            given |= {SERVER: server, PUBLIC: public, SECRET: secret}
        for option, value in given.items():
            data = value if isinstance(value, bytes) else ctypes.c_int(value)
            size = ctypes.c_size_t(len(value) if isinstance(value, bytes) else 4)
            pointer = data if isinstance(data, bytes) else ctypes.byref(data)
            self._checked(self.zmq.zmq_setsockopt(socket, option, pointer, size))
        self._checked(self.zmq.zmq_connect(socket, endpoint.encode()))
        return socket

    def send(self, socket: ctypes.c_void_p, *frames: bytes) -> None:
        for number, frame in enumerate(frames, 1):
            flags = SNDMORE if number < len(frames) else 0
            self._checked(self.zmq.zmq_send(socket, frame, ctypes.c_size_t(len(frame)), flags))

    def receive(self, socket: ctypes.c_void_p) -> bytes:
        buffer = ctypes.create_string_buffer(1 << 20)
        size = self._checked(self.zmq.zmq_recv(socket, buffer, ctypes.c_size_t(len(buffer)), 0))
        return buffer.raw[:size]


def request(number: int, op: str, **args: object) -> bytes:
    packed: bytes = msgpack.packb({"v": 1, "id": number, "op": op, "args": args})
    return packed


def main(path: str, endpoint: str, events: str, *keys: str) -> None:
    library = Library(path, list(keys))
    found: dict[str, object] = {"version": library.version}
    dealer = library.socket(DEALER, endpoint, {IDENTITY: b"me", HEARTBEAT: 100})
    library.send(dealer, request(1, "legal", moves="f5"))
    found["legal"] = msgpack.unpackb(library.receive(dealer))["data"]["moves"]
    library.send(dealer, b"", request(2, "legal", padding="x" * 300_000))
    found["delimiter"] = library.receive(dealer) == b""
    found["long"] = len(msgpack.unpackb(library.receive(dealer))["data"]["moves"])
    library.send(dealer, b"play f5d6")
    library.receive(dealer)
    library.send(dealer, b"moves")
    found["text"] = len(library.receive(dealer)) > 10
    asker = library.socket(REQ, endpoint, {})
    for number in range(100):
        library.send(asker, request(number, "ping"))
        assert msgpack.unpackb(library.receive(asker))["id"] == number
    library.send(asker, request(7, "analyze", moves="f5", depth=4, book="ignore", partial_ms=1))
    found["analysis"] = msgpack.unpackb(library.receive(asker))["type"]
    subscriber = library.socket(SUB, events, {SUBSCRIBE: b"status"})
    found["event"] = [library.receive(subscriber).decode(), "uptime_s" in msgpack.unpackb(library.receive(subscriber))]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
