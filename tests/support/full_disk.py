"""A disk with little room."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """In the block, no file of this process gets more than ``size`` bytes: more is refused as a full disk does, though
    with another error.
    """
    import resource

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Of a module that is imported meanwhile Python would write the first bytes, and fail at every later import.
    no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = no_bytecode
        signal.signal(signal.SIGXFSZ, ignored)
