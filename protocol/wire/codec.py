"""The codec of messages: one msgpack map a frame. Any other frame is a line of text.

Only this module uses msgpack, whose decoder raises half a dozen unrelated exceptions; here they become `WireError`.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import msgpack  # type: ignore[import-untyped]

from desdaemon.protocol.errors import BadInput

_LARGEST_MAP = 4096
_PACKED_AT_ONCE = 16 << 10
_NAMES = {str}
_LONGEST_LIST = 1 << 15
_MOST_CONTAINERS = 1 << 15
_MOST_KEYS = 64
_SMALL_BODY = 1 << 10


class _Threads(threading.local):
    packer: Any = None


_threads = _Threads()


def _packer() -> Any:
    """Return this thread's packer. `msgpack.packb` would allocate 256 KB for each message, which fragments the heap."""
    if _threads.packer is None:
        _threads.packer = msgpack.Packer(unicode_errors="replace", buf_size=_PACKED_AT_ONCE)
    return _threads.packer


class Prepared(dict[str, Any]):
    """A map that is encoded once and sent often. It must not change."""

    __slots__ = ("_packed",)

    def packed(self) -> bytes:
        """Return the map as msgpack."""
        try:
            return self._packed
        except AttributeError:
            self._packed: bytes = _packed(self)
            return self._packed


class PreparedList(Prepared):
    """A map with one key, whose value is a list of `Prepared`."""

    __slots__ = ()

    def packed(self) -> bytes:
        ((name, items),) = self.items()
        head = b"\x81" + packed_text(name) + _packer().pack_array_header(len(items))
        packed: bytes = head + b"".join([item.packed() for item in items])
        return packed


class WireError(BadInput):
    """Bytes that are no message; the text says why."""


def is_structured(body: bytes) -> bool:
    """Return whether a frame is a message rather than a line of text, judged by its first byte."""
    return len(body) > 0 and (0x80 <= body[0] <= 0x8F or body[0] in (0xDE, 0xDF))


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as msgpack; its ``data`` may be `Prepared`. Raises `WireError` if msgpack cannot encode it."""
    data = message.get("data")
    if isinstance(data, Prepared):
        # The first byte of a map with fewer than sixteen keys is 0x80 and their number.
        rest = _packed({key: value for key, value in message.items() if key != "data"})
        return b"".join((bytes((rest[0] + 1,)), rest[1:], b"\xa4data", data.packed()))
    return _packed(message)


def _packed(message: dict[str, Any]) -> bytes:
    try:
        packed: bytes = _packer().pack(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _threads.packer = None
        raise WireError(f"a message cannot hold this: {error}") from None
    if len(packed) > _PACKED_AT_ONCE:
        # The packer would keep its grown buffer.
        _threads.packer = None
    return packed


def packed_text(text: str) -> bytes:
    """Return a string as msgpack, as messages hold it."""
    packed: bytes = _packer().pack(text)
    return packed


def decode(body: bytes) -> dict[str, Any]:
    """Return the message of a frame; raises `WireError` unless it is one map with strings as keys.

    Too deep nesting raises it too. Extension types are accepted like other values.
    """
    return _decoded(body)


def decode_request(body: bytes) -> dict[str, Any]:
    """Return the message of a frame as `decode` does; raises `WireError` also if it has more entries in a map or list,
    or more maps and lists, than any request.
    """
    bounds: dict[str, Any] = {"max_array_len": _LONGEST_LIST, "max_map_len": _LARGEST_MAP}
    if len(body) > _MOST_CONTAINERS:
        numbers = itertools.count(1)

        def counted(container: Any) -> Any:
            if next(numbers) > _MOST_CONTAINERS:
                raise WireError("the body holds more maps and lists than any request")
            return container

        bounds |= {"object_hook": counted, "list_hook": counted}
    return _decoded(body, **bounds)


def _decoded(body: bytes, **bounds: Any) -> dict[str, Any]:
    try:
        # Nested lists that announce more than the body has would take the memory of all that they announce. In a small
        # body that is little: msgpack takes none that announces more entries than the body has bytes.
        if len(body) > _SMALL_BODY:
            _unpacker(body).skip()
        else:
            bounds = {}
        message = msgpack.unpackb(body, **bounds)
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"the body is not msgpack: {type(error).__name__} {error}"[:200].rstrip()) from None
    if not isinstance(message, dict) or not set(map(type, message)) <= _NAMES:
        raise WireError("the body is not a map with names for keys: expected {v, id, op, args}")
    return message


def find_value(body: bytes, name: str) -> Any:
    """Return the value of a key of a map that cannot be decoded or is cut off; None if it is not found, or is no
    scalar.
    """
    try:
        unpacker = _unpacker(body, max_array_len=0, max_map_len=0)
        for _ in range(min(unpacker.read_map_header(), _MOST_KEYS)):
            if unpacker.unpack() == name:
                return unpacker.unpack()
            unpacker.skip()
    except Exception:
        return None
    return None


def _unpacker(body: bytes, **bounds: Any) -> Any:
    unpacker = msgpack.Unpacker(max_buffer_size=len(body), **bounds)
    unpacker.feed(body)
    return unpacker
