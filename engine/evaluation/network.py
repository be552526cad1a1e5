"""A network of the evaluation in the packed form of the weights file; `engine.layout` has the form that kernels read.

A network has a number of lanes: in each lane a byte for each packed configuration (`patterns.packing`). Each band of
plies has its own lanes, stored one after the other, which compresses better than all bytes of a configuration side by
side. Only light modules are imported, because this runs when the program starts.
"""

from __future__ import annotations

import struct
from array import array
from itertools import pairwise
from typing import NamedTuple

from desdaemon.engine.layout import (
    HEAD_BYTES,
    HEAD_CONSTANT,
    HEAD_FACTORS,
    HEAD_TABLE,
    HEADS_BYTES,
    HIDDEN_ONE,
    LANES,
    LINEAR_LANES,
    LINEAR_MOST,
    LINEAR_SCALE,
    NETWORK_TABLE_BYTES,
    PLIES,
)

_INT32 = (1 << 31) - 1
_LARGEST_LANE = [LINEAR_MOST * LINEAR_SCALE] * LINEAR_LANES + [HIDDEN_ONE**2] * (LANES - LINEAR_LANES)


class Head(NamedTuple):
    """The numbers of a network that belong to one ply: they turn the sums of the lanes into a score."""

    bias: tuple[int, ...]
    """Numbers added to the lanes, 16 bits each."""
    factors: tuple[int, ...]
    """Factors of the lanes, 16 bits each."""
    constant: int
    """A number added to the sum of the lanes times factors, 32 bits."""


def _head_of(lanes: int) -> struct.Struct:
    return struct.Struct(f"<{lanes}h{lanes}hi")


def packed_head_bytes(lanes: int) -> int:
    return _head_of(lanes).size


class Network(NamedTuple):
    bands: tuple[int, ...]
    """The first ply of each band, ascending from 0."""
    heads: tuple[Head, ...]
    """The heads of all plies."""
    lanes: bytes
    """For each band and each of its lanes, an int8 for each packed configuration."""


def reason_against(bands: tuple[int, ...], heads: tuple[Head, ...]) -> str | None:
    """Return why a network with these bands and heads cannot be used; None if it can.

    ``bands``, the first ply of each band, must begin with 0 and ascend, and all must be below `PLIES`; the sums of the
    lanes times ``heads``' factors must fit 32 bits.
    """
    if not bands or bands[0] != 0 or bands[-1] >= PLIES or any(a >= b for a, b in pairwise(bands)):
        return f"bands of plies that begin at {list(bands)[:PLIES]}, expected to ascend from 0 to less than {PLIES}"
    for ply, head in enumerate(heads):
        most = sum(abs(factor) * lane for factor, lane in zip(head.factors, _LARGEST_LANE, strict=True))
        if most + abs(head.constant) > _INT32:
            return f"the factors of ply {ply} are too large: their sums may not fit 32 bits"
    return None


def packed_heads(heads: tuple[Head, ...]) -> bytes:
    """Return the heads as bytes of a weights file, one after the other, with `LANES` lanes."""
    return b"".join(_head_of(LANES).pack(*head.bias, *head.factors, head.constant) for head in heads)


def unpacked_heads(content: bytes, lanes: int) -> tuple[Head, ...]:
    """Return the heads in ``content``, bytes of a weights file with ``lanes`` lanes. They get `LANES` lanes; those
    added are 0.
    """
    numbers = _head_of(lanes).iter_unpack(content)
    nothing = (0,) * (LANES - lanes)
    return tuple(Head(n[:lanes] + nothing, n[lanes:-1] + nothing, n[-1]) for n in numbers)


def expanded_heads(network: Network) -> bytes:
    """Return the heads as the kernels read them, `HEADS_BYTES` bytes. Each head refers to the table of its band: the
    caller must put the bands' tables after these bytes in memory.
    """
    content = bytearray(HEADS_BYTES)
    for ply, head in enumerate(network.heads):
        place = ply * HEAD_BYTES
        band = sum(first <= ply for first in network.bands) - 1
        content[place : place + HEAD_FACTORS] = array("h", head.bias).tobytes()
        content[place + HEAD_FACTORS : place + HEAD_CONSTANT] = array("h", head.factors).tobytes()
        struct.pack_into("=i", content, place + HEAD_CONSTANT, head.constant)
        struct.pack_into("=Q", content, place + HEAD_TABLE, HEADS_BYTES + band * NETWORK_TABLE_BYTES - place)
    return bytes(content)
