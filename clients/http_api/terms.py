"""How much may be asked: of all, of an address, and by whom with a key."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import files, platform

_MOST_KEYS_BYTES = 1 << 20
_KEY_LINE = re.compile(r"([!-~]{16,256})[ \t]+([1-9][0-9]{0,5})", re.ASCII)


class Terms(NamedTuple):
    """How much is answered: ``search_ms`` of a search at most (0: none), ``rate`` requests a minute of an address
    without a key, and the rates of ``keys``, by their digests.
    """

    search_ms: int
    rate: int
    keys: dict[bytes, int]


def read_keys(path: str) -> dict[bytes, int]:
    """Return the requests a minute by digest of a key, from a file of lines `KEY NUMBER`; empty lines and those that
    begin with `#` are left out. Raises `BadInput` if it cannot be read, others may read it, or a line is another.
    """
    try:
        with files.open_regular(path) as file:
            if platform.open_to_others(os.fstat(file.fileno()), 0o077):
                raise BadInput(f"--api-keys {quoted(path)}: others may read these keys: chmod 600 it")
            lines = file.read(_MOST_KEYS_BYTES).decode("ascii", "replace").splitlines()
    except OSError as error:
        raise BadInput(f"--api-keys {quoted(path)}: {error.strerror}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            match = _KEY_LINE.fullmatch(line.strip())
            if not match:
                # The line is not shown, because it may be a key.
                raise BadInput(
                    f"--api-keys {quoted(path)}, line {number}: expected a key of 16 to 256 characters, a blank, and "
                    "its requests a minute"
                )
            found[digest(match[1])] = int(match[2])
    return found


def digest(key: str) -> bytes:
    """Return what a key is looked up by, so that the time of the look-up tells nothing about keys."""
    return sha256(key.encode()).digest()
