"""ZMTP 3.1 from the listening side, without I/O: received bytes become messages, messages become bytes.

A `Conversation` is one connection's half of the protocol: greeting, handshake, frames, commands. libzmq is not used on
this side. With a bound on its queues a peer can make it abort the process: by a full message queue, a PING behind it,
and a reset (``stream_engine_base.cpp``, ``Assertion failed: !_io_error``). Without a bound one peer fills the memory.

Specifications: 23/ZMTP 3.0, 37/ZMTP 3.1; 25/ZMTP-CURVE is in `curve`. Peers of ZMTP 1 and 2 (before 2013) are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import NamedTuple, Protocol

MORE, LONG, COMMAND = 1, 2, 4
"""Flags of a frame."""

LARGEST_FRAME = 4 << 20
"""Most bytes of a frame; a larger one breaks the protocol."""

MOST_ENVELOPE_FRAMES = 16
LARGEST_ENVELOPE = 1 << 10
"""Most frames of a message before its last one, and most bytes in them together."""

GREETING_SIZE = 64
_SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
_MECHANISM = slice(12, 32)
_LARGEST_HANDSHAKE = 4096
_LONGEST_IDENTITY = 255
_NAME = re.compile(rb"[A-Za-z0-9._+-]{1,255}")
_MOST_SUBSCRIPTIONS = 64
_LONGEST_SUBSCRIPTION = 256
_MOST_PONGS_WAITING = 4096
_LONGEST_PING_CONTEXT = 16


class LargeFrame(NamedTuple):
    """Frames that were too large to keep: their size, and of a single one the first `HEAD_KEPT` bytes."""

    size: int
    head: bytes


HEAD_KEPT = 256

Frame = bytes | LargeFrame

OLD_ZMTP = "old ZMTP"
"""The reason of a `Violation` by a peer of ZMTP 1 or 2."""

CONSUMED: tuple[Frame, ...] = ()
"""What `Conversation.next` returns for bytes that were no message, such as a command."""


class Violation(Exception):
    """The peer broke the protocol or may not connect; the text is a short reason for the log."""


class Refusal(Violation):
    """The peer may not connect; ``answer`` is the ERROR command to send."""

    def __init__(self, reason: str, answer: bytes) -> None:
        super().__init__(reason)
        self.answer = answer


class SocketKind(Enum):
    """The ZeroMQ type of a listening socket, and the types that may connect to it."""

    REQUESTS = (b"ROUTER", (b"DEALER", b"REQ", b"ROUTER"))
    EVENTS = (b"PUB", (b"SUB", b"XSUB"))


class Security(Protocol):
    """The security mechanism of one connection."""

    ready: bool
    """Whether the handshake is complete."""

    user: str
    """The public key (Z85) that the peer has proved to own; "" before."""

    def command(self, body: bytes, metadata: bytes) -> tuple[bytes, bytes]:
        """Carry out a command of the handshake. Returns the command to send back and, once `ready`, the peer's
        metadata; ``metadata`` is this side's.

        Raises `Violation` if the command breaks the protocol, `Refusal` if the peer is refused.
        """

    def opened(self, content: bytes) -> tuple[int, bytes]:
        """Decrypt a received frame. Returns the flags and the content of the frame that is encrypted in ``content``.
        Raises `Violation` if there is none, or if it is not authentic.
        """

    def sealed(self, flags: int, content: bytes) -> bytes:
        """Encrypt a frame with these flags and ``content``. Returns the content of the frame to send."""


def frame(content: bytes, flags: int = 0) -> bytes:
    """Return the bytes of a frame; the flag `LONG` is added where its size needs it."""
    size = len(content)
    if size < 256:
        return bytes((flags, size)) + content
    return bytes((flags | LONG,)) + size.to_bytes(8, "big") + content


def greeting(mechanism: bytes, *, server: bool) -> bytes:
    """Return the 64 bytes that each side sends first: for version 3.1, a security mechanism and the role in it."""
    return _SIGNATURE + b"\x03\x01" + mechanism.ljust(20, b"\0") + bytes((server,)) + bytes(31)


def command(name: bytes, body: bytes = b"") -> bytes:
    """Return the content of a command frame."""
    return bytes((len(name),)) + name + body


def metadata(properties: dict[bytes, bytes]) -> bytes:
    """Return properties as the handshake encodes them."""
    return b"".join(
        bytes((len(name),)) + name + len(value).to_bytes(4, "big") + value for name, value in properties.items()
    )


def read_metadata(data: bytes) -> dict[bytes, bytes]:
    """Return properties by name, in lower case. Raises `Violation` if ``data`` is malformed or a name comes twice."""
    properties: dict[bytes, bytes] = {}
    offset = 0
    while offset < len(data):
        begin = offset + 1 + data[offset] + 4
        size = int.from_bytes(data[begin - 4 : begin], "big")
        name = data[offset + 1 : begin - 4].lower()
        if begin + size > len(data) or not _NAME.fullmatch(name) or name in properties:
            raise Violation("metadata")
        properties[name] = data[begin : begin + size]
        offset = begin + size
    return properties


class Conversation:
    """One connection's half of the protocol. For one thread.

    ``outgoing`` collects the protocol's own bytes to send. After the handshake ``open`` is true, and ``peer_type``,
    ``identity`` (b"" if the peer gave none) and ``user`` (a public key, or "") are set. ``subscriptions`` of an events
    socket change with the peer's.
    """

    __slots__ = (
        "_at",
        "_buffer",
        "_flags",
        "_frames",
        "_greeted",
        "_held",
        "_kind",
        "_largest",
        "_largest_kept",
        "_mechanism",
        "_missing",
        "_properties",
        "_security",
        "_skip",
        "_skipped",
        "identity",
        "open",
        "outgoing",
        "peer_type",
        "subscriptions",
        "user",
    )

    def __init__(self, kind: SocketKind, security: Security | None, largest_kept: int) -> None:
        """Of a frame over ``largest_kept`` bytes, which must be more than `HEAD_KEPT`, keep a `LargeFrame`; with
        ``security`` such a frame is a violation.
        """
        self._kind = kind
        self._security = security
        self._mechanism = b"NULL" if security is None else b"CURVE"
        self._largest_kept = largest_kept
        self._largest = LARGEST_FRAME if security is None else largest_kept
        self._properties = metadata({b"Socket-Type": kind.value[0], b"Identity": b""})
        self._greeted = False
        self._buffer = b""
        self._at = 0
        self._held = bytearray()
        self._missing = 0
        self._frames: list[Frame] = []
        self._skip = 0
        self._skipped: LargeFrame | None = None
        self._flags = 0
        self.open = False
        self.peer_type = b""
        self.identity = b""
        self.user = ""
        self.subscriptions: Counter[bytes] = Counter()
        self.outgoing = bytearray(greeting(self._mechanism, server=security is not None))
        if security is None:
            self.outgoing += frame(command(b"READY", self._properties), COMMAND)

    # Input

    @property
    def kept(self) -> int:
        """The number of bytes received and not yet returned as messages."""
        frames = sum(len(part) for part in self._frames if isinstance(part, bytes)) if self._frames else 0
        return len(self._buffer) - self._at + len(self._held) + frames

    @property
    def has_input(self) -> bool:
        """Whether `next` may return a message."""
        return self._at < len(self._buffer) or (self._skipped is not None and self._skip == 0)

    @property
    def unread(self) -> bytes | None:
        """The bytes received and not yet parsed; None if they are encrypted."""
        return bytes(self._held) + self._buffer[self._at :] if self._security is None else None

    def feed(self, data: bytes) -> None:
        """Add received bytes, for `next` to read; the bytes of a frame too large to keep are dropped."""
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        if self._held:
            # Joined as they come: in a list, pieces of two bytes would take twenty times the counted memory.
            self._held += data
            if len(self._held) < self._missing:
                return
            self._buffer, self._at = bytes(self._held), 0
            self._held = bytearray()
        elif self._at < len(self._buffer):
            self._buffer, self._at = self._buffer[self._at :] + data, 0
        else:
            self._buffer, self._at = data, 0

    def next(self) -> tuple[Frame, ...] | None:
        """Return the frames of the next message. A frame too large to keep is replaced by a `LargeFrame`, and so are
        the frames before the last one where they are too many or too large together.

        Returns `CONSUMED` for bytes that end no message for the caller, such as a command or a subscription, and None
        if bytes are missing. Raises `Violation` if the peer broke the protocol or may not connect.
        """
        if not self._greeted:
            return self._greet()
        if self._skipped is not None:
            return self._end_of_skipped()
        buffer, at = self._buffer, self._at
        available = len(buffer) - at
        if available < 2:
            self._wait_for(2)
            return None
        flags = buffer[at]
        if flags & LONG:
            if available < 9:
                self._wait_for(9)
                return None
            begin = at + 9
            size = int.from_bytes(buffer[at + 1 : begin], "big")
        else:
            begin = at + 2
            size = buffer[at + 1]
        if flags & ~(MORE | LONG | COMMAND) or (flags & MORE and (flags & COMMAND or self._security is not None)):
            raise Violation("flags")
        if size > (self._largest if self.open else _LARGEST_HANDSHAKE):
            raise Violation("size")
        end = begin + size
        if size > self._largest_kept:
            if begin + HEAD_KEPT > len(buffer):
                self._wait_for(begin + HEAD_KEPT - at)
                return None
            self._flags, self._skipped = flags, LargeFrame(size, buffer[begin : begin + HEAD_KEPT])
            self._skip = max(0, end - len(buffer))
            self._at = min(end, len(buffer))
            return self._end_of_skipped()
        if end > len(buffer):
            self._wait_for(end - at)
            return None
        self._at = end
        content = buffer[begin:end]
        if not self.open:
            self._handshake(flags, content)
            return CONSUMED
        if self._security is not None:
            flags, content = self._security.opened(content)
        return self._take(flags, content)

    def _wait_for(self, size: int) -> None:
        """Keep incoming bytes until ``size`` of them have come."""
        if self._at < len(self._buffer):
            self._held += self._buffer[self._at :]
            self._missing = size
        self._buffer, self._at = b"", 0

    def _end_of_skipped(self) -> tuple[Frame, ...] | None:
        if self._skip or self._skipped is None:
            return None
        skipped, self._skipped = self._skipped, None
        return CONSUMED if self._flags & COMMAND else self._take(self._flags, skipped)

    def _take(self, flags: int, content: Frame) -> tuple[Frame, ...]:
        if flags & COMMAND:
            assert isinstance(content, bytes)
            self._command(content)
            return CONSUMED
        frames = self._frames
        frames.append(content)
        if flags & MORE:
            size = sum(part.size if isinstance(part, LargeFrame) else len(part) for part in frames)
            if size > LARGEST_ENVELOPE or len(frames) > MOST_ENVELOPE_FRAMES:
                frames[:] = (LargeFrame(size, b""),)
            return CONSUMED
        whole = tuple(frames)
        frames.clear()
        if self._kind is SocketKind.EVENTS:
            self._subscription_message(whole[0])
            return CONSUMED
        return whole

    # Greeting and handshake

    def _greet(self) -> tuple[Frame, ...] | None:
        buffer = self._buffer
        if len(buffer) - self._at < GREETING_SIZE:
            begin = buffer[self._at : self._at + 12]
            self._check_signature(begin)
            self._wait_for(GREETING_SIZE)
            return None
        self._check_signature(buffer[:12])
        if buffer[_MECHANISM].rstrip(b"\0") != self._mechanism:
            raise Violation("mechanism")
        self._at = GREETING_SIZE
        self._greeted = True
        return CONSUMED

    @staticmethod
    def _check_signature(begin: bytes) -> None:
        if begin[:1] not in (b"", b"\xff") or (len(begin) > 9 and not begin[9] & 1):
            raise Violation("no ZMTP")
        if len(begin) > 10 and begin[10] < 3:
            raise Violation(OLD_ZMTP)

    def _handshake(self, flags: int, content: bytes) -> None:
        if not flags & COMMAND:
            raise Violation("handshake")
        if self._security is not None:
            try:
                answer, properties = self._security.command(content, self._properties)
            except Refusal as refusal:
                self.user = self._security.user
                self.outgoing += frame(refusal.answer, COMMAND)
                raise
            self.outgoing += frame(answer, COMMAND)
            if not self._security.ready:
                return
            self.user = self._security.user
        elif content[:6] == b"\x05READY":
            properties = content[6:]
        else:
            raise Violation("handshake")
        peer_properties = read_metadata(properties)
        self.peer_type = peer_properties.get(b"socket-type", b"")
        if self.peer_type not in self._kind.value[1]:
            raise Violation("socket type")
        if self._kind is SocketKind.REQUESTS:
            self.identity = peer_properties.get(b"identity", b"")
            if len(self.identity) > _LONGEST_IDENTITY or self.identity[:1] == b"\0":
                raise Violation("identity")
        self.open = True

    # Commands after the handshake

    def _command(self, content: bytes) -> None:
        name = content[1 : 1 + content[0]] if content else b""
        if not name or len(name) < content[0]:
            raise Violation("command")
        body = content[1 + len(name) :]
        if name == b"PING":
            if len(body) < 2:
                raise Violation("PING")
            if len(self.outgoing) < _MOST_PONGS_WAITING:
                self._send_command(command(b"PONG", body[2 : 2 + _LONGEST_PING_CONTEXT]))
        elif name == b"ERROR":
            raise Violation("ERROR")
        elif self._kind is SocketKind.EVENTS and name in (b"SUBSCRIBE", b"CANCEL"):
            self._subscribe(body, there=name == b"SUBSCRIBE")

    def _send_command(self, content: bytes) -> None:
        if self._security is not None:
            self.outgoing += frame(self._security.sealed(COMMAND, content))
        else:
            self.outgoing += frame(content, COMMAND)

    def _subscription_message(self, content: Frame) -> None:
        """Apply a subscription of ZMTP 3.0: a message with a byte, 1 (add) or 0 (remove), and the prefix of topics."""
        if isinstance(content, bytes) and content[:1] in (b"\0", b"\1"):
            self._subscribe(content[1:], there=content[0] == 1)

    def _subscribe(self, prefix: bytes, *, there: bool) -> None:
        if not there:
            # Two subscriptions to one prefix need two cancellations.
            self.subscriptions -= Counter((prefix,))
            return
        if len(prefix) > _LONGEST_SUBSCRIPTION or self.subscriptions.total() >= _MOST_SUBSCRIPTIONS:
            raise Violation("subscriptions")
        self.subscriptions[prefix] += 1

    def wants(self, topic: bytes) -> bool:
        """Return whether the peer has subscribed to a topic, that is to a prefix of it."""
        return any(topic.startswith(prefix) for prefix in self.subscriptions)

    # Output

    def message(self, prefix: tuple[bytes, ...], body: bytes) -> bytes:
        """Return the bytes of a message with the frames in ``prefix`` and then ``body``. Send the messages in the order
        of the calls, in which encrypted frames are numbered.
        """
        security = self._security
        if security is None:
            return b"".join([frame(part, MORE) for part in prefix]) + frame(body)
        return b"".join([frame(security.sealed(MORE, part)) for part in prefix]) + frame(security.sealed(0, body))
