"""Another program beside ours in `desdaemon bench solve`: anything that takes Edax's options and prints Edax's lines.

It is started once a set of problems, with one thread and a table of as many entries as ours, and its times and nodes
are what it says itself: a start is not counted.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from desdaemon.protocol.othello.obf import Problem, problem_text

_CLOCK = r"(?:\d+:)*\d+\.\d+"
_RESULT = re.compile(rf"\s*(\d+)\|\s*\d+(?:@\s*\d+%)?\s+([+-]?\d+)\s+({_CLOCK})\s+(\d+)\b")
"""A problem's line: its number, depth, score, time and nodes."""

_SUMMARY = re.compile(rf": \d+ nodes in\s+({_CLOCK})(?:\s+\(cpu =\s+({_CLOCK}))?")
_FULL_LEVEL = 60


class PeerError(Exception):
    """The program cannot be started, fails, or does not answer every problem; the text says which."""


class Solved(NamedTuple):
    """A set of problems solved: seconds (of the processor where the program tells them, else wall), nodes, and how
    many scores are not the known ones.
    """

    seconds: float
    nodes: int
    wrong: int


class Peer:
    """The program, used by one thread; ``command`` is its path and options of its own, as in a shell.

    Raises PeerError where there is no such program.
    """

    def __init__(self, command: str) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise PeerError(f"--peer {command}: {error}") from None
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise PeerError(f"--peer {command}: no such program")
        self.name = Path(found).name
        self._command = [found, *words[1:]]

    def solve(self, problems: Sequence[Problem], bits: int) -> Solved:
        """Solve the problems to the end with a table of 2**``bits`` entries. Raises PeerError."""
        options = ["-l", str(_FULL_LEVEL), "-n", "1", "-h", str(bits)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problems.obf"
            path.write_text("".join(f"{problem_text(problem)}\n" for problem in problems), encoding="ascii")
            try:
                done = subprocess.run(
                    [*self._command, "-solve", str(path), *options],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    check=False,
                )
            except OSError as error:
                raise PeerError(f"{self.name} cannot be started: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.strip().rpartition("\n")[2][:200]
            raise PeerError(f"{self.name} ended with {done.returncode}" + (f": {said}" if said else ""))
        return self._read(done.stdout, problems)

    def _read(self, text: str, problems: Sequence[Problem]) -> Solved:
        results = [found for found in map(_RESULT.match, text.splitlines()) if found]
        if [int(found[1]) for found in results] != list(range(1, len(problems) + 1)):
            raise PeerError(f"{self.name} answered {len(results)} of {len(problems)} problems in lines of Edax's form")
        pairs = zip(results, problems, strict=True)
        wrong = sum(problem.best not in (None, int(found[2])) for found, problem in pairs)
        summary = _SUMMARY.search(text)
        seconds = _seconds(summary[2] or summary[1]) if summary else sum(_seconds(found[3]) for found in results)
        return Solved(seconds, sum(int(found[4]) for found in results), wrong)


def _seconds(clock: str) -> float:
    """Seconds of a time like 1:02:03.456."""
    seconds = 0.0
    for part in clock.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds
