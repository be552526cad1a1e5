"""What a process that runs for weeks does with the C library's heap."""

import subprocess
import sys

import pytest

HOLES = """
import os
from desdaemon.protocol.system import platform
from desdaemon.server.heap import return_memory, spare_memory
spare_memory()
blocks = [b"x" * size for _ in range(1000) for size in (60_000, 600)]
pins = blocks[1::2]
before = platform.own_bytes(os.getpid())
del blocks
alone = before - platform.own_bytes(os.getpid())
return_memory()
print(alone >> 20, before - platform.own_bytes(os.getpid()) >> 20)
"""
"""Frees 60 MB between blocks that stay."""


@pytest.mark.posix
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_holes_in_the_heap_go_back_to_the_system() -> None:
    found = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stderr
    alone, returned = map(int, found.stdout.split())
    assert alone < 10 < 40 < returned
