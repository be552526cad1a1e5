"""A process that has a book's file mapped, while another program writes to the file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable


def used_after(program: str, *arguments: str, change: Callable[[], object]) -> tuple[str, str]:
    """Start a Python program that says "True" once it has the file, call ``change``, and let it go on with a line of
    input; return what it wrote to its output after that, and its errors. Its exit status must be 0.
    """
    with subprocess.Popen(
        [sys.executable, "-P", "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        change()
        out, err = process.communicate("\n", timeout=300)
    assert process.returncode == 0, (process.returncode, out, err)
    return out, err
