"""`python tests/lab peer COMMAND`: the solves of `desdaemon bench solve` beside those of another program.

That is anything that takes Edax's options and prints Edax's lines. It is started once a set of problems, with one
thread and a table of as many entries as ours, and its times and nodes are what it says itself: a start is not counted.
"""

from __future__ import annotations

import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from desdaemon.engine.bench.bench import HEAD, EngineBench, Measurement
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.protocol.command_line import Parser
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
            raise PeerError(f"{command}: {error}") from None
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise PeerError(f"{command}: no such program")
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


def beside(
    weights: Weights, peer: Peer, name: str, problems: Sequence[Problem], bits: int, repeat: int = 1
) -> list[Measurement]:
    """Our solves and the peer's, in turn, so that what else the machine does disturbs both alike.

    Raises PeerError.
    """
    bench = EngineBench(weights, None, 1)
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(bench.searched(name, problems, Limits, bits=bits))
        theirs.append(peer.solve(problems, bits))
    own = ours[-1]._replace(seconds=statistics.median(run.seconds for run in ours))
    seconds, nodes, wrong = statistics.median(run.seconds for run in theirs), theirs[-1].nodes, theirs[-1].wrong
    note = f"ours: {own.seconds / seconds:.2f} of its time" if seconds else "too fast for its clock"
    note += f", {own.nodes / nodes:.2f} of its nodes" if nodes else ""
    note += f"; {wrong} WRONG" if wrong else ""
    return [own, Measurement(f"  {peer.name}", seconds, nodes, note)]


def measure(weights: Weights, peer: Peer, folder: Path | None, repeat: int) -> Iterator[Measurement]:
    """The sets of `desdaemon bench solve`. Raises PeerError."""
    for name, problems, bits in EngineBench(weights, folder, repeat).exact():
        yield from beside(weights, peer, f"exact {name}", problems, bits, repeat)


def main(arguments: list[str]) -> int:
    """Print the measurements; returns the exit status."""
    parser = Parser(prog="python tests/lab peer", description=__doc__)
    parser.add_argument("command", metavar="COMMAND", help="the program with options of its own")
    parser.add_argument("--problems", type=Path, metavar="FOLDER", help="folder of OBF files")
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (3)")
    options = parser.parse_args(arguments)
    try:
        peer = Peer(options.command)
        sys.stdout.write(f"{HEAD}\n")
        for row in measure(Weights.load(options.eval_file), peer, options.problems, options.repeat):
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    except PeerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
