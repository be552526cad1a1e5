"""Processes that a test has started, wherever they are by now, found by a word in their environment."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from pathlib import Path


def alive(mark: str) -> list[int]:
    """The processes that have a word in their command line or environment, but for this one."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in text and state != "Z":
                found.append(int(folder.name))
    return found


def gone(mark: str, seconds: float = 20) -> bool:
    """Whether all of them have ended within that time."""
    end = time.monotonic() + seconds
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def two_free_ports() -> int:
    """Return a port of this machine that is free together with the next one.

    Below the ports that the system gives to outgoing connections: another process could get one of those meanwhile.
    """
    while True:
        port = random.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as first, socket.socket() as second:
            first.bind(("", port))
            second.bind(("", port + 1))
            return port
