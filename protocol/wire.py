"""Messages as bytes: one msgpack map in one frame. Everything else in a frame is a line of text."""

from __future__ import annotations

from typing import Any, NoReturn

import msgpack

from .errors import BadInput

VERSION = 1
MAX_BODY = 1 << 20
_LONGEST = 1 << 16


class WireError(BadInput):
    """Bytes that are no message; the message says why."""


def is_structured(body: bytes) -> bool:
    """Whether a body is to be read as msgpack: its first byte begins a map."""
    return len(body) > 0 and (0x80 <= body[0] <= 0x8F or body[0] in (0xDE, 0xDF))


def encode(message: dict[str, Any]) -> bytes:
    """A message as msgpack; raises `WireError` for values that have no place in one."""
    try:
        packed: bytes = msgpack.packb(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"a message cannot hold this: {error}") from None
    return packed


def decode(body: bytes) -> dict[str, Any]:
    """The message in a body; raises `WireError` for anything but one map with names for keys, whatever it is."""
    try:
        message = msgpack.unpackb(
            body, max_array_len=_LONGEST, max_map_len=_LONGEST, strict_map_key=False, ext_hook=_refuse_extension
        )
    except Exception as error:  # noqa: BLE001  msgpack raises half a dozen unrelated kinds
        raise WireError(f"the body is not msgpack: {type(error).__name__} {error}".rstrip()) from None
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise WireError("the body is not a map with names for keys: expected {v, id, op, args}")
    return message


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise WireError(f"extension type {code} has no place in a message")
