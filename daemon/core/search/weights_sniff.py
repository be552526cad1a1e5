"""A quick check of a file of weights, before the prompt; the engine reads the whole file later."""

from __future__ import annotations

import os

EDAX_MAGIC = b"XADELAVE"
EDAX_BYTES = 13_952_436
MAGICS = (b"DESDEVAL", EDAX_MAGIC, b"\xfd7zXZ\x00")
"""First bytes of the files of weights that the engine reads; the engine's module that reads them is too slow to load
here.
"""


def wrong_head(path: str) -> str:
    """Return why a file cannot hold weights, by its size and first bytes, in one line; "" if it may."""
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
