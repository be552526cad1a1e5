"""Unpacking of .gz, .bz2, .xz and .zst in a stream, so that a small file costs little time and memory whatever it says.

- What is unpacked is at most `FREE` bytes more than `RATIO` times what was read: files that people pack shrink 3 to 30
  times, made ones a million times.
- An xz stream may ask for gigabytes of memory; one that asks for more than `MEMORY` bytes is refused.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

RATIO = 64
FREE = 1 << 20
MEMORY = 1 << 27
"""Bytes; the strongest preset of xz needs half of it, and zstd takes no more unless it is told to."""

_READ = 1 << 14
_PIECE = 1 << 20

_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0", "zst": b"\x28\xb5\x2f\xfd"}
LONGEST_MAGIC = max(map(len, _MAGIC.values()))
"""The bytes that `packing` looks at."""

EXTENSIONS = tuple(_MAGIC)


class CannotUnpack(ValueError):
    """The data is damaged or too large when unpacked, or this Python cannot unpack it; the message says which."""


def packing(data: bytes) -> str:
    """Return how a file is packed, one of `EXTENSIONS`, by its first bytes; "" if it is not."""
    return next((kind for kind, magic in _MAGIC.items() if data.startswith(magic)), "")


def unpacked(stream: BinaryIO | io.BufferedReader, kind: str) -> Iterator[bytes]:
    """Yield what a stream packed as ``kind`` holds, in parts of at most 1 MiB. Raises `CannotUnpack` and `OSError`."""
    unpacker = _unpacker(kind)
    read = written = 0
    while True:
        data = b""
        if unpacker.eof:
            # A file may be several packed ones, one after the other, and zeros behind them.
            data = unpacker.unused_data.lstrip(b"\0")
            while not data:
                more = stream.read(_READ)
                if not more:
                    return
                read += len(more)
                data = more.lstrip(b"\0")
            unpacker = _unpacker(kind)
        elif unpacker.needs_input:
            data = stream.read(_READ)
            if not data:
                raise CannotUnpack("cannot be unpacked: it is cut off")
            read += len(data)
        try:
            part: bytes = unpacker.decompress(data, _PIECE)
        # Each module raises other errors.
        except Exception as error:
            raise CannotUnpack(f"cannot be unpacked: {error}") from None
        written += len(part)
        if written > FREE + RATIO * read:
            raise CannotUnpack(
                f"cannot be unpacked: {read} bytes hold more than {FREE + RATIO * read}: unpack it first"
            )
        if part:
            yield part


def _unpacker(kind: str) -> Any:
    try:
        if kind == "gz":
            return _GzipDecompressor()
        if kind == "bz2":
            return importlib.import_module("bz2").BZ2Decompressor()
        if kind == "xz":
            return importlib.import_module("lzma").LZMADecompressor(memlimit=MEMORY)
        return importlib.import_module("compression.zstd").ZstdDecompressor()
    except ImportError:
        raise CannotUnpack(f"this Python cannot unpack .{kind}: unpack it first") from None


class _GzipDecompressor:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._zlib = importlib.import_module("zlib").decompressobj(31)
        self._full = False

    @property
    def eof(self) -> bool:
        return bool(self._zlib.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._zlib.unused_data)

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._zlib.unconsumed_tail

    def decompress(self, data: bytes, most: int) -> bytes:
        part = bytes(self._zlib.decompress(self._zlib.unconsumed_tail + data, most))
        self._full = len(part) == most
        return part


def opened(stream: io.BufferedReader) -> io.BufferedReader:
    """Return a file itself, or what a packed one holds. Waits for its first bytes. If it can be read twice it is
    unpacked to its end first, so that nobody works with a part of one that is damaged.

    Raises `CannotUnpack`, here or during the reading.
    """
    kind = packing(stream.peek(LONGEST_MAGIC))
    if not kind:
        return stream
    if stream.seekable():
        start = stream.tell()
        for _ in unpacked(stream, kind):
            pass
        stream.seek(start)
    return io.BufferedReader(_Parts(unpacked(stream, kind)))


class _Parts(io.RawIOBase):
    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._parts, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
