"""Bindings of the libsodium functions that CURVE needs. The library is the one that pyzmq ships for its own CURVE."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

KEY, NONCE, TAG = 32, 24, 16
"""Bytes."""

_NAMES = ("libsodium.so.26", "libsodium.so.23", "libsodium.so", "libsodium.dylib")


class NoSodium(Exception):
    """libsodium cannot be loaded."""


def _candidates() -> Iterator[str]:
    spec = find_spec("zmq")
    if spec is not None and spec.origin:
        package = Path(spec.origin).parent
        for folder in (package.parent / "pyzmq.libs", package / ".dylibs"):
            yield from map(str, sorted(folder.glob("libsodium*")))
    yield from _NAMES
    found = ctypes.util.find_library("sodium")
    if found:
        yield found


@cache
def library() -> ctypes.CDLL:
    """The initialised libsodium; raises `NoSodium`."""
    for name in _candidates():
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        pointer, size = ctypes.c_char_p, ctypes.c_ulonglong
        found.crypto_box_keypair.argtypes = (pointer, pointer)
        found.crypto_box_beforenm.argtypes = (pointer, pointer, pointer)
        found.crypto_box_easy_afternm.argtypes = (pointer, pointer, size, pointer, pointer)
        found.crypto_box_open_easy_afternm.argtypes = (pointer, pointer, size, pointer, pointer)
        if found.sodium_init() >= 0:
            return found
    raise NoSodium("libsodium: not found: expected it with pyzmq, or among the system's libraries")


def key_pair() -> tuple[bytes, bytes]:
    """A new public and secret key."""
    public, secret = ctypes.create_string_buffer(KEY), ctypes.create_string_buffer(KEY)
    library().crypto_box_keypair(public, secret)
    return public.raw, secret.raw


def shared_key(public: bytes, secret: bytes) -> bytes | None:
    """The shared key of two key pairs; None for an invalid public key."""
    shared = ctypes.create_string_buffer(KEY)
    return shared.raw if library().crypto_box_beforenm(shared, public, secret) == 0 else None


def seal(plain: bytes, nonce: bytes, shared: bytes) -> bytes:
    """Encrypt and authenticate; the result is `TAG` bytes longer."""
    box = ctypes.create_string_buffer(len(plain) + TAG)
    library().crypto_box_easy_afternm(box, plain, len(plain), nonce, shared)
    return box.raw


def unseal(box: bytes, nonce: bytes, shared: bytes) -> bytes | None:
    """The plain text of a box made by `seal`; None where key, nonce or content do not match."""
    if len(box) < TAG:
        return None
    plain = ctypes.create_string_buffer(max(1, len(box) - TAG))
    if library().crypto_box_open_easy_afternm(plain, box, len(box), nonce, shared) != 0:
        return None
    return plain.raw[: len(box) - TAG]
