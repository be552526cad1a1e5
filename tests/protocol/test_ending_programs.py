"""A program that is ended takes with it what it has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from desdaemon.protocol.system import platform

# It begins when it is told, because what it starts before `end_with_us` is nobody's.
PROGRAM = """import subprocess, sys
sys.stdin.readline()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=sys.stdout)
print("started", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("ended", [False, True], ids=["it runs", "it has ended"])
def test_what_a_program_has_started_ends_with_it(ended: bool) -> None:
    command = [sys.executable, "-c", PROGRAM]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **platform.own_group())
    platform.end_with_us(program)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"begin\n")
    program.stdin.flush()
    assert program.stdout.readline().strip() == b"started"
    if ended:
        program.stdin.write(b"end\n")
        program.stdin.flush()
        assert program.wait(60) == 0
    platform.end_group(program)
    # The end of the output comes when nobody has it open any more.
    assert program.communicate(timeout=60) == (b"", None)
