"""Processes that a test has started, wherever they are by now, found by a word in their environment."""

from __future__ import annotations

import os
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
