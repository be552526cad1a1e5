"""The functions of libsodium that CURVE needs, from the library that pyzmq ships or the system's.

On Windows they come from PyNaCl, which is required there, because pyzmq's wheels hide their library. Any thread may
call these functions.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from desdaemon.protocol.errors import BadInput

KEY, NONCE, TAG = 32, 24, 16
"""Sizes in bytes of a key, of a nonce, and of the authentication that `seal` adds."""

_NAMES = ("libsodium.so.26", "libsodium.so.23", "libsodium.so", "libsodium.dylib")


class NoSodium(BadInput):
    """libsodium cannot be loaded."""


class Boxes(Protocol):
    """A library with the functions of this module."""

    def key_pair(self) -> tuple[bytes, bytes]: ...
    def public_key(self, secret: bytes) -> bytes: ...
    def shared_key(self, public: bytes, secret: bytes) -> bytes | None: ...
    def seal(self, plain: bytes, nonce: bytes, shared: bytes) -> bytes: ...
    def unseal(self, box: bytes, nonce: bytes, shared: bytes) -> bytes | None: ...


class SharedLibrary:
    """`Boxes` by ctypes from libsodium's shared library. The caller must have loaded and initialised it
    (`sodium_init`).
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        pointer, size = ctypes.c_char_p, ctypes.c_ulonglong
        library.crypto_box_keypair.argtypes = (pointer, pointer)
        library.crypto_scalarmult_base.argtypes = (pointer, pointer)
        library.crypto_box_beforenm.argtypes = (pointer, pointer, pointer)
        library.crypto_box_easy_afternm.argtypes = (pointer, pointer, size, pointer, pointer)
        library.crypto_box_open_easy_afternm.argtypes = (pointer, pointer, size, pointer, pointer)

    def key_pair(self) -> tuple[bytes, bytes]:
        public, secret = ctypes.create_string_buffer(KEY), ctypes.create_string_buffer(KEY)
        self._library.crypto_box_keypair(public, secret)
        return public.raw, secret.raw

    def public_key(self, secret: bytes) -> bytes:
        public = ctypes.create_string_buffer(KEY)
        self._library.crypto_scalarmult_base(public, secret)
        return public.raw

    def shared_key(self, public: bytes, secret: bytes) -> bytes | None:
        shared = ctypes.create_string_buffer(KEY)
        return shared.raw if self._library.crypto_box_beforenm(shared, public, secret) == 0 else None

    def seal(self, plain: bytes, nonce: bytes, shared: bytes) -> bytes:
        box = ctypes.create_string_buffer(len(plain) + TAG)
        self._library.crypto_box_easy_afternm(box, plain, len(plain), nonce, shared)
        return box.raw

    def unseal(self, box: bytes, nonce: bytes, shared: bytes) -> bytes | None:
        plain = ctypes.create_string_buffer(max(1, len(box) - TAG))
        if self._library.crypto_box_open_easy_afternm(plain, box, len(box), nonce, shared) != 0:
            return None
        return plain.raw[: len(box) - TAG]


class PyNaCl:
    """`Boxes` of PyNaCl. Raises `ImportError` if it is not installed."""

    def __init__(self) -> None:
        self._functions: Any = importlib.import_module("nacl.bindings")
        self._refused: type[Exception] = importlib.import_module("nacl.exceptions").CryptoError

    def key_pair(self) -> tuple[bytes, bytes]:
        public, secret = self._functions.crypto_box_keypair()
        return public, secret

    def public_key(self, secret: bytes) -> bytes:
        return bytes(self._functions.crypto_scalarmult_base(secret))

    def shared_key(self, public: bytes, secret: bytes) -> bytes | None:
        try:
            return bytes(self._functions.crypto_box_beforenm(public, secret))
        except self._refused:
            return None

    def seal(self, plain: bytes, nonce: bytes, shared: bytes) -> bytes:
        return bytes(self._functions.crypto_box_afternm(plain, nonce, shared))

    def unseal(self, box: bytes, nonce: bytes, shared: bytes) -> bytes | None:
        try:
            return bytes(self._functions.crypto_box_open_afternm(box, nonce, shared))
        except self._refused:
            return None


def _candidates() -> Iterator[str]:
    spec = find_spec("zmq")
    if spec is not None and spec.origin:
        package = Path(spec.origin).parent
        for folder in (package.parent / "pyzmq.libs", package / ".dylibs"):
            yield from map(str, sorted(folder.glob("libsodium*")))
    yield from _NAMES
    name = ctypes.util.find_library("sodium")
    if name:
        yield name


@cache
def library() -> Boxes:
    """Return libsodium, loaded and initialised at the first call. Raises `NoSodium` if it cannot be found, as do the
    other functions of this module.
    """
    for name in _candidates():
        try:
            sodium = ctypes.CDLL(name)
        except OSError:
            continue
        if sodium.sodium_init() >= 0:
            return SharedLibrary(sodium)
    try:
        return PyNaCl()
    except ImportError:
        raise NoSodium(
            "libsodium: not found: expected it with pyzmq or PyNaCl, or among the system's libraries"
        ) from None


def key_pair() -> tuple[bytes, bytes]:
    """Return a new public key and its secret key."""
    return library().key_pair()


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key."""
    return library().public_key(secret)


def shared_key(public: bytes, secret: bytes) -> bytes | None:
    """Return the key that two parties share, from one's public and the other's secret key; None for an invalid key."""
    return library().shared_key(public, secret)


def seal(plain: bytes, nonce: bytes, shared: bytes) -> bytes:
    """Return ``plain`` encrypted and authenticated, `TAG` bytes longer, with a nonce of `NONCE` bytes and a key that
    `shared_key` made.
    """
    return library().seal(plain, nonce, shared)


def unseal(box: bytes, nonce: bytes, shared: bytes) -> bytes | None:
    """Return the plain text of a box made by `seal`; None if key, nonce or content do not match."""
    return library().unseal(box, nonce, shared) if len(box) >= TAG else None
