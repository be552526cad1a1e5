"""Reading and writing files of evaluation weights: the shipped format and Edax's eval.dat.

Weights are linear or a network. Linear ones are a table of 61 plies (ply = 60 - empties) of int16, little endian, in
128ths of a disc for the side to move, in Edax's symmetric packing (`desdaemon.engine.evaluation.patterns` describes
it). Edax's set has 114,364 weights a ply. Our set has 233,434: Edax's first, then those of the wide classes. A file of
Edax's set, in either format, is read as a file of our set whose wide classes weigh nothing. A network
(`desdaemon.engine.evaluation.network`) is packed in the same order: each lane has a number for each of the 233,434
places. The number is 0 at the constant's place and at the places of a class that lies within a wider class.

Shipped format, version 1, inside one xz stream:

    offset  bytes  content
    0       8      magic, "DESDEVAL"
    8       2      version, 1
    10      2      number of plies, 61
    12      4      weights a ply
    16      4      length R of the record in bytes
    20      12     name of the feature set (below), ASCII, padded with zero bytes
    32      32     BLAKE2b (32 bytes) of record and weights
    64      R      record: a JSON object in UTF-8 (data, commands, seed, figures, `weights_metadata`)
    64+R    ...    weights

The feature sets "edax46" and "wide46" are linear weights. "wide46n16" and "wide46n32" are networks of 16 and 32 lanes;
their weights are the number of bands of plies, the first ply of each (a byte each), the heads of all plies, and the
lanes of each band. A network of 16 lanes is read as a network of 32 lanes; the added lanes weigh nothing.

Numbers are little endian. Only light modules are imported: this runs when the program starts.
"""

from __future__ import annotations

import json
import lzma
import os
import struct
from pathlib import Path
from typing import Any

from desdaemon.engine.layout import LANES, PLIES
from desdaemon.protocol.system import files

from . import weights_metadata
from .network import Network, packed_head_bytes, packed_heads, reason_against, unpacked_heads

WEIGHTS_PER_PLY = 233_434
EDAX_WEIGHTS_PER_PLY = 114_364
PACKED_BYTES = PLIES * WEIGHTS_PER_PLY * 2
_BAND_BYTES = LANES * WEIGHTS_PER_PLY

SHIPPED_MAGIC = b"DESDEVAL"
SHIPPED_VERSION = 1
FEATURE_SET = "wide46"
EDAX_SET = "edax46"
NETWORK_SETS = {"wide46n16": 16, "wide46n32": 32}
"""Number of lanes of the networks that can be read, by name; only those of `LANES` are written."""
_WRITTEN_SET = next(name for name, lanes in NETWORK_SETS.items() if lanes == LANES)
EDAX_MAGIC = b"XADELAVE"

_SHIPPED_HEADER = struct.Struct("<8sHHII12s32s")
_EDAX_HEADER = struct.Struct("<8sIIId")
_XZ_MAGIC = b"\xfd7zXZ\x00"
_RECORD_LIMIT = 1 << 20
MOST_BANDS = 16
_UNPACKING_BYTES = 1 << 27
"""Most bytes of memory for unpacking; files of `write_shipped` need half of it."""
_FILE_LIMIT = _SHIPPED_HEADER.size + _RECORD_LIMIT + max(PACKED_BYTES, (MOST_BANDS + 1) * _BAND_BYTES)


class WeightsError(ValueError):
    """A weights file that cannot be used; the message names the file and says why."""


def file_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, at most one more than a weights file can have. Raises `WeightsError`."""
    try:
        with files.open_regular(path) as file:
            return file.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise WeightsError(f"{os.fspath(path)}: can't be read: {error.strerror or error}") from error


def read_packed(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Any]]:
    """Read a file of linear weights and its record, as `read` does. Raises `WeightsError`, also for a network."""
    weights, record = read(path)
    if isinstance(weights, Network):
        raise WeightsError(
            f"{os.fspath(path)}: holds a network, expected linear weights "
            f"({FEATURE_SET!r}, {EDAX_SET!r} or an eval.dat)"
        )
    return weights, record


def read(path: str | os.PathLike[str]) -> tuple[bytes | Network, dict[str, Any]]:
    """Read a shipped weights file or an Edax eval.dat, which may be xz-compressed.

    Returns a network, or the packed table of linear weights (61 * WEIGHTS_PER_PLY int16, little endian, in 128ths of a
    disc for the side to move), and the file's record (of an eval.dat: its version and date). Raises `WeightsError` for
    a file that cannot be read, is damaged or holds what this program does not know.
    """
    name = os.fspath(path)
    data = file_content(path)
    if data.startswith(_XZ_MAGIC):
        data = _decompress(name, data)
    if data.startswith(SHIPPED_MAGIC):
        return _parse_shipped(name, data)
    if data.startswith(EDAX_MAGIC):
        return _parse_edax(name, data)
    if not data:
        raise WeightsError(f"{name}: the file is empty")
    raise WeightsError(
        f"{name}: not a weights file: it begins with {data[:8]!r}, expected {SHIPPED_MAGIC!r} or {EDAX_MAGIC!r}"
    )


def write_shipped(
    path: str | os.PathLike[str], weights: bytes | Network, record: dict[str, Any], *, small: bool = False
) -> None:
    """Write ``weights`` and ``record`` in the shipped format; an old file is replaced as a whole.

    With ``small`` the file is a third smaller, and writing takes twenty times as long. Raises OSError, and ValueError
    for weights of the wrong size, a network that `reason_against` refuses, or a record over 1 MiB.
    """
    from hashlib import blake2b

    if isinstance(weights, Network):
        packed, feature_set = _packed_network(weights), _WRITTEN_SET
    else:
        packed, feature_set = weights, FEATURE_SET
        _check_packed(packed)
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) > _RECORD_LIMIT:
        raise ValueError(f"record of {len(text)} bytes, at most {_RECORD_LIMIT} allowed")
    header = _SHIPPED_HEADER.pack(
        SHIPPED_MAGIC,
        SHIPPED_VERSION,
        PLIES,
        WEIGHTS_PER_PLY,
        len(text),
        feature_set.encode(),
        blake2b(text + packed, digest_size=32).digest(),
    )
    # No xz check, because the digest inside covers every byte. The other settings suit numbers of 16 or 8 bits.
    preset = 9 | lzma.PRESET_EXTREME if small else 1
    position = int(feature_set == FEATURE_SET)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "lc": 0, "lp": position, "pb": position}]
    data = lzma.compress(header + text + packed, format=lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=filters)
    files.replace(Path(path), data)


def write_edax(
    path: str | os.PathLike[str], packed: bytes, record: dict[str, Any] | None = None, *, date: float = 0.0
) -> None:
    """Write linear weights as Edax's eval.dat, version 3.2.5, with ``date``. An old file is replaced as a whole. The
    format has no place for the record, which is only looked at for a score curve.

    Raises OSError; `WeightsError` if the wide classes have weights or the record has a score curve; ValueError for a
    table of the wrong size.
    """
    _check_packed(packed)
    curve = weights_metadata.of_record(record or {}).curve
    if curve is not None:
        raise WeightsError(
            f"{os.fspath(path)}: not written: the weights have a score curve ({curve:g}), which eval.dat does not "
            "know; weights fitted with `fit --patterns edax --curve 0` can be written"
        )
    rows = [memoryview(packed)[2 * WEIGHTS_PER_PLY * ply :][: 2 * WEIGHTS_PER_PLY] for ply in range(PLIES)]
    for row in rows:
        if any(row[2 * EDAX_WEIGHTS_PER_PLY :]):
            raise WeightsError(
                f"{os.fspath(path)}: not written: the weights are of the set {FEATURE_SET!r}, of which eval.dat "
                f"knows {EDAX_SET!r} only; weights fitted with `fit --patterns edax` can be written"
            )
    table = b"".join(row[: 2 * EDAX_WEIGHTS_PER_PLY] for row in rows)
    files.replace(Path(path), _EDAX_HEADER.pack(EDAX_MAGIC, 3, 2, 5, date) + table)


def widened(table: bytes | memoryview) -> bytes:
    """Return ``table``, packed weights of Edax's pattern classes (61 * EDAX_WEIGHTS_PER_PLY int16), as a table of all
    our classes; the weights of those that Edax lacks are 0.
    """
    nothing = bytes(2 * (WEIGHTS_PER_PLY - EDAX_WEIGHTS_PER_PLY))
    step = 2 * EDAX_WEIGHTS_PER_PLY
    return b"".join(part for ply in range(PLIES) for part in (table[step * ply : step * (ply + 1)], nothing))


def _check_packed(packed: bytes) -> None:
    if len(packed) != PACKED_BYTES:
        raise ValueError(f"{len(packed)} bytes of weights, expected {PACKED_BYTES}")


def _decompress(name: str, data: bytes) -> bytes:
    decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_UNPACKING_BYTES)
    try:
        plain = decoder.decompress(data, max_length=_FILE_LIMIT + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise WeightsError(f"{name}: damaged: the xz stream can't be decoded: {error}") from error
    if not decoder.eof and len(plain) <= _FILE_LIMIT:
        raise WeightsError(f"{name}: truncated: the xz stream ends early")
    return plain


def _packed_network(network: Network) -> bytes:
    reason = reason_against(network.bands, network.heads)
    if reason or len(network.lanes) != len(network.bands) * _BAND_BYTES:
        raise ValueError(reason or f"{len(network.lanes)} bytes of lanes for {len(network.bands)} bands")
    return bytes((len(network.bands), *network.bands)) + packed_heads(network.heads) + network.lanes


def _parse_network(name: str, content: memoryview, lanes: int) -> Network:
    """Return the network in ``content``. Its checksum has been verified, so a `WeightsError` means that the file was
    written wrongly.
    """
    number = content[0] if content else 0
    heads = 1 + number
    first = heads + PLIES * packed_head_bytes(lanes)
    step = lanes * WEIGHTS_PER_PLY
    if not 0 < number <= MOST_BANDS or len(content) != first + number * step:
        raise WeightsError(f"{name}: {len(content)} bytes for a network of {number} bands")
    nothing = bytes((LANES - lanes) * WEIGHTS_PER_PLY)
    packed = b"".join(
        part for start in range(first, len(content), step) for part in (content[start : start + step], nothing)
    )
    network = Network(tuple(content[1:heads]), unpacked_heads(bytes(content[heads:first]), lanes), packed)
    reason = reason_against(network.bands, network.heads)
    if reason:
        raise WeightsError(f"{name}: {reason}")
    return network


def _parse_shipped(name: str, data: bytes) -> tuple[bytes | Network, dict[str, Any]]:
    from hashlib import blake2b

    if len(data) < _SHIPPED_HEADER.size:
        raise WeightsError(f"{name}: truncated: {len(data)} bytes, the header alone has {_SHIPPED_HEADER.size}")
    _, version, plies, weights, length, features, digest = _SHIPPED_HEADER.unpack_from(data)
    if version != SHIPPED_VERSION:
        raise WeightsError(f"{name}: format version {version}, this program reads version {SHIPPED_VERSION}")
    name_of_set = features.rstrip(b"\0").decode("ascii", "replace")
    sizes = {FEATURE_SET: WEIGHTS_PER_PLY, EDAX_SET: EDAX_WEIGHTS_PER_PLY} | dict.fromkeys(
        NETWORK_SETS, WEIGHTS_PER_PLY
    )
    if plies != PLIES or sizes.get(name_of_set) != weights:
        expected = " or ".join(f"{which!r} of {PLIES} x {size}" for which, size in sizes.items())
        raise WeightsError(f"{name}: feature set {name_of_set!r} of {plies} x {weights} weights, expected {expected}")
    if name_of_set not in NETWORK_SETS:
        _check_size(name, len(data), _SHIPPED_HEADER.size + length + 2 * plies * weights)
    body = memoryview(data)[_SHIPPED_HEADER.size :]
    if blake2b(body, digest_size=32).digest() != digest:
        raise WeightsError(f"{name}: damaged: the checksum does not match")
    try:
        record = json.loads(bytes(body[:length]))
    except ValueError as error:
        raise WeightsError(f"{name}: damaged: the record is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise WeightsError(f"{name}: damaged: the record is not a JSON object")
    try:
        weights_metadata.of_record(record)
    except ValueError as error:
        raise WeightsError(f"{name}: {error}") from None
    if name_of_set in NETWORK_SETS:
        return _parse_network(name, body[length:], NETWORK_SETS[name_of_set]), record
    return bytes(body[length:]) if name_of_set == FEATURE_SET else widened(body[length:]), record


def _parse_edax(name: str, data: bytes) -> tuple[bytes, dict[str, Any]]:
    _check_size(name, len(data), _EDAX_HEADER.size + 2 * PLIES * EDAX_WEIGHTS_PER_PLY)
    _, version, release, build, date = _EDAX_HEADER.unpack_from(data)
    record = {"format": "eval.dat", "version": f"{version}.{release}.{build}", "date": date}
    return widened(data[_EDAX_HEADER.size :]), record


def _check_size(name: str, size: int, expected: int) -> None:
    if size < expected:
        raise WeightsError(f"{name}: truncated: {size} bytes, expected {expected}")
    if size > expected:
        raise WeightsError(f"{name}: too long: more than the {expected} bytes its header asks for")
