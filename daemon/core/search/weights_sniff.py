"""A quick check of a weights file by its size and first bytes, before the prompt; the engine reads the rest later."""

from __future__ import annotations

import os

EDAX_MAGIC = b"XADELAVE"
EDAX_BYTES = 13_952_436
MAGICS = (b"DESDEVAL", EDAX_MAGIC, b"\xfd7zXZ\x00")
"""The first bytes of the files that `desdaemon.engine.evaluation.weights_file` reads; that module is too slow to load
here.
"""


def wrong_head(path: str) -> str:
    """Return the reason, in a line, why a file cannot hold weights, or "" if its size and its first bytes are right."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  pathlib costs start-up time
            head = file.read(8)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        return f"{path}: can't be read: {error.strerror}"
    if not head:
        return f"{path}: the file is empty"
    if not head.startswith(MAGICS):
        return f"{path}: not a weights file: it begins with {head!r}, expected weights of desdaemon train or eval.dat"
    if head == EDAX_MAGIC and size != EDAX_BYTES:
        return f"{path}: {size} bytes, expected the {EDAX_BYTES} of an eval.dat"
    return ""
