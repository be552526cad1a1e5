"""Runs the command line as a process, with the engine that pretends, and talks to it over pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

SCRIPT = str(Path(__file__).parent / "fake_daemon.py")
COMMAND = [sys.executable, SCRIPT]
TIMEOUT = 60


def converse(data: bytes, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """All of the input at once, through a pipe that is then closed."""
    return subprocess.run(
        [*COMMAND, *arguments],
        input=data,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
        env={**os.environ, **environment},
    )


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Live:
    """A running dialogue: `send` bytes, `until` a piece of output has come."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            # A test run in the background of a shell ignores the keyboard's interrupt, and so would its children.
            preexec_fn=_heed_interrupts if os.name == "posix" else None,
            # What was read ahead for `until` would be missing in `end`.
            bufsize=0,
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, piece: bytes) -> bytes:
        """Read up to and including ``piece``; what came with it."""
        assert self.process.stdout is not None
        seen = b""
        while not seen.endswith(piece):
            byte = self.process.stdout.read(1)
            assert byte, f"the output ended after {seen!r}"
            seen += byte
        return seen

    def end(self) -> tuple[bytes, bytes, int]:
        """Wait for the process; the rest of its output, its errors, its exit status."""
        out, err = self.process.communicate(timeout=TIMEOUT)
        return out, err, self.process.returncode

    def close(self) -> None:
        """Make sure that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
