"""The few functions of libsodium that CURVE needs; the library is the one that pyzmq brings for its own CURVE."""

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
    """libsodium, ready; raises `NoSodium`."""
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
    """The key that two owners of key pairs share; None for a public key that is none."""
    shared = ctypes.create_string_buffer(KEY)
    return shared.raw if library().crypto_box_beforenm(shared, public, secret) == 0 else None


def seal(plain: bytes, nonce: bytes, shared: bytes) -> bytes:
    """Encrypted and authenticated: `TAG` bytes more."""
    box = ctypes.create_string_buffer(len(plain) + TAG)
    library().crypto_box_easy_afternm(box, plain, len(plain), nonce, shared)
    return box.raw


def unseal(box: bytes, nonce: bytes, shared: bytes) -> bytes | None:
    """What `seal` was given; None where the box was not made with that key and nonce."""
    if len(box) < TAG:
        return None
    plain = ctypes.create_string_buffer(max(1, len(box) - TAG))
    if library().crypto_box_open_easy_afternm(plain, box, len(box), nonce, shared) != 0:
        return None
    return plain.raw[: len(box) - TAG]
