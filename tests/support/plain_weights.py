"""Weights files of `desdaemon.engine.evaluation.weights_file`, not compressed: weights drawn by lot do not shrink."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.evaluation.weights_file import FEATURE_SET


def write(path: Path, packed: NDArray[np.int16], record: dict[str, Any] | None = None) -> None:
    """Write ``packed`` (61 plies, weights of one) with a record."""
    _write(path, FEATURE_SET, packed.astype("<i2").tobytes(), record)


def write_network(path: Path, network: Network, record: dict[str, Any] | None = None) -> None:
    """Write a network, of whatever sizes and number of lanes, with a record."""
    content = bytes((len(network.bands), *network.bands))
    lanes = len(network.heads[0].bias)
    for head in network.heads:
        content += struct.pack(f"<{lanes}h{lanes}hi", *head.bias, *head.factors, head.constant)
    _write(path, f"wide46n{lanes}", content + network.lanes, record)


def _write(path: Path, feature_set: str, weights: bytes, record: dict[str, Any] | None) -> None:
    text = json.dumps(record or {}).encode()
    body = text + weights
    digest = hashlib.blake2b(body, digest_size=32).digest()
    header = struct.pack("<8sHHII12s32s", b"DESDEVAL", 1, 61, 233_434, len(text), feature_set.encode(), digest)
    path.write_bytes(header + body)
