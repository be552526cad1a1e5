"""Weights files of `desdaemon.engine.evaluation.weights_file`, not compressed: weights drawn by lot do not shrink."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights_file import FEATURE_SET


def write(path: Path, packed: NDArray[np.int16], record: dict[str, Any] | None = None) -> None:
    """Write ``packed`` (61 plies, weights of one) with a record."""
    plies, weights = packed.shape
    text = json.dumps(record or {}).encode()
    body = text + packed.astype("<i2").tobytes()
    digest = hashlib.blake2b(body, digest_size=32).digest()
    header = struct.pack("<8sHHII12s32s", b"DESDEVAL", 1, plies, weights, len(text), FEATURE_SET.encode(), digest)
    path.write_bytes(header + body)
