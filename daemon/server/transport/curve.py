"""CURVE (25/ZMTP-CURVE, 26/CurveZMQ) from the server's side: authentication of a peer, and encryption of frames.

docs/zmtp.md lists the demands of the specifications, each with the function that meets it. Four things differ:

- The short-term keys S' and s' are kept, and the cookie is a random number: a sealed cookie would save 64 bytes of a
  connection that takes memory anyway, and the number of handshakes is bounded.
- ERROR answers a key that is not allowed: the specification demands that in one place and forbids it in another, and
  libzmq's clients report the reason with it.
- Encrypted frames come without the flag COMMAND, as libzmq sends and expects them, and with it too.
- Bit 1 of a message's flags stands for a command (PING, SUBSCRIBE), as in libzmq; the specification reserves it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from . import sodium
from .zmtp import COMMAND, MORE, Refusal, Violation, command

_HELLO_SIZE, _INITIATE_LEAST = 200, 257
_HELLO = b"\x05HELLO\x01\x00" + bytes(72)
_COOKIE = 96
_MESSAGE = b"\x07MESSAGE"
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_FLAG_MORE, _FLAG_COMMAND = 1, 2

# libzmq's servers send 400, and its clients take it for a failed authentication.
_NOT_ALLOWED = command(b"ERROR", b"\x03400")


def z85(data: bytes) -> str:
    """Return ``data``, whose length is a multiple of four, as text: five characters for every four bytes (32/Z85)."""
    text = []
    for first in range(0, len(data), 4):
        value = int.from_bytes(data[first : first + 4], "big")
        text += [_Z85[value // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(text)


def from_z85(text: str) -> bytes:
    """Return the bytes of a Z85 text, whose length must be a multiple of five. Raises `ValueError` for a character that
    Z85 lacks, and for five characters that stand for more than 2^32 - 1.
    """
    data = b""
    for first in range(0, len(text), 5):
        value = 0
        for character in text[first : first + 5]:
            value = value * 85 + _Z85.index(character)
        if value >> 32:
            raise ValueError(text[first : first + 5])
        data += value.to_bytes(4, "big")
    return data


class CurveSecurity:
    """The CURVE mechanism of one connection (`zmtp.Security`): HELLO, WELCOME, INITIATE, READY, then messages."""

    def __init__(self, public: bytes, secret: bytes, known: Callable[[str], bool]) -> None:
        """``public`` and ``secret`` are the server's long-term keys; ``known`` says whether a key (Z85) may connect."""
        self.ready = False
        self.user = ""
        self._public = public
        self._secret = secret
        self._known = known
        self._client = b""
        self._short_public, self._short_secret = b"", b""
        self._cookie = b""
        self._shared = b""
        self._sent = 0
        self._received = 0

    def command(self, body: bytes, metadata: bytes) -> tuple[bytes, bytes]:
        if not self._cookie and len(body) == _HELLO_SIZE and body[:80] == _HELLO:
            return self._welcome(body), b""
        if self._cookie and len(body) >= _INITIATE_LEAST and body[:9] == b"\x08INITIATE":
            return self._initiated(body, metadata)
        raise Violation("handshake")

    def _welcome(self, hello: bytes) -> bytes:
        self._client = hello[80:112]
        to_client = sodium.shared_key(self._client, self._secret)
        self._received = int.from_bytes(hello[112:120], "big")
        nonce = b"CurveZMQHELLO---" + hello[112:120]
        if to_client is None or sodium.unseal(hello[120:], nonce, to_client) != bytes(64):
            raise Violation("server key")
        self._short_public, self._short_secret = sodium.key_pair()
        self._cookie = os.urandom(_COOKIE)
        nonce = os.urandom(16)
        return command(
            b"WELCOME", nonce + sodium.seal(self._short_public + self._cookie, b"WELCOME-" + nonce, to_client)
        )

    def _initiated(self, body: bytes, metadata: bytes) -> tuple[bytes, bytes]:
        shared = sodium.shared_key(self._client, self._short_secret)
        nonce = body[105:113]
        plain = sodium.unseal(body[113:], b"CurveZMQINITIATE" + nonce, shared) if shared else None
        number = int.from_bytes(nonce, "big")
        if body[9:105] != self._cookie or shared is None or plain is None or number <= self._received:
            raise Violation("handshake")
        self._received = number
        public = plain[:32]
        with_long = sodium.shared_key(public, self._short_secret)
        vouched = sodium.unseal(plain[48:128], b"VOUCH---" + plain[32:48], with_long) if with_long else None
        if vouched != self._client + self._public:
            raise Violation("handshake")
        self.user = z85(public)
        if not self._known(self.user):
            raise Refusal("key", _NOT_ALLOWED)
        self._shared = shared
        self.ready = True
        self._sent = 1
        count = self._sent.to_bytes(8, "big")
        ready = command(b"READY", count + sodium.seal(metadata, b"CurveZMQREADY---" + count, shared))
        return ready, plain[128:]

    def opened(self, content: bytes) -> tuple[int, bytes]:
        if content[:8] != _MESSAGE or len(content) < 33:
            raise Violation("message")
        count = content[8:16]
        number = int.from_bytes(count, "big")
        plain = sodium.unseal(content[16:], b"CurveZMQMESSAGEC" + count, self._shared)
        if number <= self._received or not plain or plain[0] not in (0, _FLAG_MORE, _FLAG_COMMAND):
            raise Violation("message")
        self._received = number
        flags = (MORE if plain[0] & _FLAG_MORE else 0) | (COMMAND if plain[0] & _FLAG_COMMAND else 0)
        return flags, plain[1:]

    def sealed(self, flags: int, content: bytes) -> bytes:
        self._sent += 1
        count = self._sent.to_bytes(8, "big")
        inner = (_FLAG_MORE if flags & MORE else 0) | (_FLAG_COMMAND if flags & COMMAND else 0)
        return _MESSAGE + count + sodium.seal(bytes((inner,)) + content, b"CurveZMQMESSAGES" + count, self._shared)
