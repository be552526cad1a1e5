"""Evaluation weights in memory as the kernels read them: linear ones, or a network.

The file on disk is packed (`weights_file`). The kernels read each pattern's full table: 28 MB of linear weights, or 15
MB for each band of a network's plies. This expanded form is made once and written to the cache folder, in a file named
by the digest of the weights file. It holds the metadata of the record, the weights, then the CRC-32 of each block.
Later starts map it, which takes no time and shares its pages between processes. The first block, with the metadata and
all references to other places, is verified before use. A thread verifies the others a moment later, because verifying
them at once would add tens of milliseconds to each start.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import struct
import threading
import time
import zlib
from pathlib import Path

from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.layout import (
    HEADS_BYTES,
    LANES,
    NETWORK_TABLE_BYTES,
    PLIES,
    WEIGHTS_ROW_BYTES,
    WEIGHTS_TABLE_BYTES,
)
from desdaemon.engine.memory import Block, MappedFile
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.logs import message
from desdaemon.protocol.system.threads import begun

from . import weights_metadata
from .network import Network, expanded_heads
from .weights_file import MOST_BANDS, PACKED_BYTES, WEIGHTS_PER_PLY, WeightsError, file_content, read

__all__ = ["SHIPPED", "Weights", "WeightsError", "are_expanded"]

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "weights.xz"

_LINEAR_BYTES = PLIES * WEIGHTS_ROW_BYTES
_LAYOUT_VERSION = 6
_BLOCK = 1 << 16
_NICENESS = 10
"""Niceness of the verifying thread; with all processors busy it still finishes within a second."""

_AFTER_S = 0.2
"""Seconds before the thread begins, because reading the file at once would delay the first answer."""


class Weights:
    """Weights in memory, shared by any number of searchers and threads, which only read them.

    ``address`` is what the kernels take, valid as long as this object. ``network`` says whether they are a network, not
    linear weights; ``metadata`` has their curve and error model; ``digest`` identifies the file's content, ``source``
    is its path.
    """

    def __init__(self, memory: Block | MappedFile, size: int, digest: str, source: Path) -> None:
        """``memory`` begins with ``size`` bytes of metadata and weights. Raises ValueError for unusable metadata."""
        self._memory = memory
        self._size = size
        self._checked: threading.Event | None = None
        self.address = memory.address + weights_metadata.BYTES
        self.network = size != weights_metadata.BYTES + _LINEAR_BYTES
        self.metadata = weights_metadata.unpacked(ctypes.string_at(memory.address, weights_metadata.BYTES))
        self.digest = digest
        self.source = str(source)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Weights:
        """Read a weights file of any known format, or the shipped weights if there is no path.

        The expanded form is mapped from the cache, and a thread verifies it later. If the cache lacks it, it is made,
        and kept if there is a cache folder. Raises `WeightsError` if the file cannot be used, `LibraryError` if the
        kernels that expand it cannot be compiled.
        """
        source = Path(path) if path is not None else SHIPPED
        digest, cached = _expansion(source)
        if cached is not None and cached.exists():
            try:
                with os.fdopen(platform.open_file(cached, os.O_RDONLY), "rb") as stream:
                    loaded = cls(*_mapped(cached), digest, source)
                    # Another process may replace the file, so the one that is mapped here is kept open.
                    check = functools.partial(loaded._check, cached, os.dup(stream.fileno()))
            except (OSError, ValueError) as error:
                message(f"{cached}: {error}: made again")
            else:
                loaded._checked = begun(check, "weights")
                return loaded
        memory = _expanded(source)
        if cached is not None:
            _keep(cached, memory)
        return cls(memory, memory.size, digest, source)

    def _check(self, cached: Path, descriptor: int) -> None:
        """Verify the mapped file, open as ``descriptor``; replace damaged weights in memory and in the cache.

        A search before the check may have read wrong weights, but no memory outside the weights.
        """
        time.sleep(_AFTER_S)
        platform.lower_thread(_NICENESS)
        try:
            with os.fdopen(descriptor, "rb") as content:
                sums = [zlib.crc32(content.read(size)) for size in _blocks(self._size)]
                if _packed(sums) == content.read():
                    return
            message(f"{cached}: damaged: made again")
            memory = _expanded(Path(self.source))
            if memory.size == self._size:
                ctypes.memmove(self._memory.address, memory.address, memory.size)
                _keep(cached, memory)
        except (OSError, WeightsError) as error:
            message(f"{cached}: {error}")


def are_expanded() -> bool:
    """Return whether the cache has a file for the expanded form of the shipped weights; the file is not verified.
    Raises `WeightsError` if the shipped file cannot be read.
    """
    _, cached = _expansion(SHIPPED)
    return cached is not None and cached.exists()


def _expansion(source: Path) -> tuple[str, Path | None]:
    """Return the digest of a weights file and the path of its expanded form, which may not exist. The path is None
    without a cache folder. Raises `WeightsError` if the weights file cannot be read.
    """
    digest = hashlib.blake2b(file_content(source), digest_size=16).hexdigest()
    folder = library.cache_folder()
    return digest, folder / f"weights{_LAYOUT_VERSION}-{digest}.bin" if folder else None


def _blocks(size: int) -> list[int]:
    """Return the sizes of the blocks, each with its own checksum, that ``size`` bytes are divided into."""
    return [min(_BLOCK, size - start) for start in range(0, size, _BLOCK)]


def _packed(sums: list[int]) -> bytes:
    return struct.pack(f"<{len(sums)}I", *sums)


def _mapped(path: Path) -> tuple[MappedFile, int]:
    """Map the cached expansion ``path``; return the mapping and its size without checksums.

    Raises OSError, and ValueError if the size is wrong or the first block does not match its checksum.
    """
    memory = MappedFile(path)
    sizes = _LINEAR_BYTES, *(HEADS_BYTES + bands * NETWORK_TABLE_BYTES for bands in range(1, MOST_BANDS + 1))
    for size in (weights_metadata.BYTES + weights for weights in sizes):
        if memory.size == size + 4 * len(_blocks(size)):
            first = zlib.crc32(ctypes.string_at(memory.address, _BLOCK))
            if ctypes.string_at(memory.address + size, 4) == _packed([first]):
                return memory, size
    raise ValueError("damaged")


def _keep(path: Path, memory: Block) -> None:
    """Write ``memory`` with checksums to ``path``, for `_mapped`, and remove old files; a failure is only reported."""
    # No copy, because every other thread would wait while it is made.
    content = memoryview((ctypes.c_ubyte * memory.size).from_address(memory.address))
    sums = [zlib.crc32(content[start : start + _BLOCK]) for start in range(0, memory.size, _BLOCK)]
    try:
        with files.replacing(path, mode=files.PRIVATE) as stream:
            stream.write(content)
            stream.write(_packed(sums))
        library.forget_old(path, "weights*-*.bin", ".weights*-*")
    except OSError as error:
        library.not_kept(path.parent, error)


def _expanded(source: Path) -> Block:
    """Return memory with a weights file's metadata and its weights as the kernels read them. Raises `WeightsError` if
    the file cannot be used.
    """
    from .patterns import TABLES, packing

    packed, record = read(source)
    map_ = Block(4 * sum(3**table.length * len(table.parts) for table in TABLES))
    places = packing()
    engine = library.load(SPEC)
    engine.map_weights(places.buffer_info()[0], map_.address)
    size = HEADS_BYTES + len(packed.bands) * NETWORK_TABLE_BYTES if isinstance(packed, Network) else _LINEAR_BYTES
    memory = Block(weights_metadata.BYTES + size)
    metadata = weights_metadata.packed(weights_metadata.of_record(record))
    ctypes.memmove(memory.address, metadata, weights_metadata.BYTES)
    weights = memory.address + weights_metadata.BYTES
    if isinstance(packed, Network):
        ctypes.memmove(weights, expanded_heads(packed), HEADS_BYTES)
        content = ctypes.create_string_buffer(packed.lanes, len(packed.lanes))
        for band in range(len(packed.bands)):
            lanes = ctypes.addressof(content) + band * LANES * WEIGHTS_PER_PLY
            engine.expand_network(lanes, map_.address, weights + HEADS_BYTES + band * NETWORK_TABLE_BYTES)
    else:
        assert len(packed) == PACKED_BYTES
        scratch = Block(4 * WEIGHTS_TABLE_BYTES)
        content = ctypes.create_string_buffer(packed, len(packed))
        engine.expand_weights(ctypes.addressof(content), map_.address, scratch.address, weights)
    return memory
