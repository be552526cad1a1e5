"""Evaluation weights, laid out for the kernels: linear ones, or a network.

The file on disk is packed (`desdaemon.engine.evaluation.weights_file`); the kernels read each pattern's full table, 28
MB of linear weights, 15 MB for each band of a network's plies. That form is made once and written to the cache folder
under the digest of the weights file, with the metadata of the file's record behind it; later starts map it, which takes
no time and shares its pages between processes.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
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
from desdaemon.protocol.system import files

from . import weights_metadata
from .network import Network, expanded_heads
from .weights_file import PACKED_BYTES, WEIGHTS_PER_PLY, WeightsError, read
from .weights_metadata import WeightsMetadata

__all__ = ["SHIPPED", "Weights", "WeightsError"]

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "weights.xz"

_LINEAR_BYTES = PLIES * WEIGHTS_ROW_BYTES
_LAYOUT_VERSION = 5


class Weights:
    """Weights in memory, immutable and shared by any number of searchers and threads.

    ``address`` is passed to the kernels, ``network`` says which kind lies there; ``digest`` is one of the file's
    content, ``source`` its path.
    """

    def __init__(self, memory: Block | MappedFile, found: WeightsMetadata, digest: str, source: str) -> None:
        self._memory = memory
        self.address = memory.address
        self.network = memory.size - weights_metadata.BYTES != _LINEAR_BYTES
        self.metadata = found
        self.digest = digest
        self.source = source

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Weights:
        """Read a weights file of any known format; None means the shipped weights.

        Raises WeightsError, naming the file and the reason, when it is missing, damaged or something else.
        """
        source = Path(path) if path is not None else SHIPPED
        try:
            content = source.read_bytes()
        except OSError as error:
            raise WeightsError(f"{source}: {error.strerror}") from None
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        folder = library.cache_folder()
        kept = folder / f"weights{_LAYOUT_VERSION}-{digest}.bin" if folder else None
        if kept is not None:
            mapped = _map_kept(kept)
            if mapped is not None:
                return cls(*mapped, digest, str(source))
        packed, record = read(source)
        found = weights_metadata.of_record(record)
        memory = _expand(packed)
        end = memory.address + memory.size - weights_metadata.BYTES
        ctypes.memmove(end, weights_metadata.packed(found), weights_metadata.BYTES)
        if kept is not None:
            try:
                # No copy: making one would hold up every other thread for as long as it takes.
                table = memoryview((ctypes.c_ubyte * memory.size).from_address(memory.address))
                files.replace(kept, table, mode=files.PRIVATE)
                library.forget_old(kept, "weights*-*.bin", ".weights*-*")
            except OSError as error:
                library.not_kept(kept.parent, error)
        return cls(memory, found, digest, str(source))


def _expand(packed: bytes | Network) -> Block:
    """Memory with the weights as the kernels read them and room for the metadata."""
    from .patterns import TABLES, packing

    map_ = Block(4 * sum(3**table.length * len(table.parts) for table in TABLES))
    places = packing()
    engine = library.load(SPEC)
    engine.map_weights(places.buffer_info()[0], map_.address)
    if isinstance(packed, Network):
        memory = Block(HEADS_BYTES + len(packed.bands) * NETWORK_TABLE_BYTES + weights_metadata.BYTES)
        ctypes.memmove(memory.address, expanded_heads(packed), HEADS_BYTES)
        source = ctypes.create_string_buffer(packed.lanes, len(packed.lanes))
        for band in range(len(packed.bands)):
            lanes = ctypes.addressof(source) + band * LANES * WEIGHTS_PER_PLY
            engine.expand_network(lanes, map_.address, memory.address + HEADS_BYTES + band * NETWORK_TABLE_BYTES)
    else:
        assert len(packed) == PACKED_BYTES
        memory = Block(_LINEAR_BYTES + weights_metadata.BYTES)
        scratch = Block(4 * WEIGHTS_TABLE_BYTES)
        source = ctypes.create_string_buffer(packed, len(packed))
        engine.expand_weights(ctypes.addressof(source), map_.address, scratch.address, memory.address)
    return memory


def _map_kept(path: Path) -> tuple[MappedFile, WeightsMetadata] | None:
    """The cached expansion and its metadata; None when it is missing, has the wrong size or unknown metadata.

    Its checksum is not verified at each start, which would read all of it: the folder is private to this user, and the
    file is made from a verified one and renamed into place whole.
    """
    try:
        size = path.stat().st_size - weights_metadata.BYTES
        if size != _LINEAR_BYTES and (size <= HEADS_BYTES or (size - HEADS_BYTES) % NETWORK_TABLE_BYTES):
            return None
        mapped = MappedFile(path)
        return mapped, weights_metadata.unpacked(ctypes.string_at(mapped.address + size, weights_metadata.BYTES))
    except (OSError, ValueError):
        return None
