"""`desdaemon bench`: the engine's speed on this machine, and the signature of its search.

Times are medians of repeated runs: processor time for one thread, since other programs disturb it least, wall time for
several threads and for start-up. ``--problems`` names the folder of fforum-1-19.obf, fforum-20-39.obf, fforum-40-59.obf
and midgame-8.obf; without it positions of seeded random play are searched.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.engine.compiler.library import OURSELVES
from desdaemon.engine.evaluation.weights import SHIPPED, Weights, WeightsError
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.othello.notation import board_text
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.rules import START
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.processors import processors

from .problems import contradicts, random_problems, read_problems


class Measurement(NamedTuple):
    """A measurement: its name, its median time in ``seconds``, and a note. ``nodes`` is the number of nodes, or of what
    ``name`` says is counted; 0 for none. As text it is a row below `HEAD`.
    """

    name: str
    seconds: float
    nodes: int
    note: str = ""

    def __str__(self) -> str:
        speed = f"{self.nodes / self.seconds / 1e6:8.1f}" if self.nodes and self.seconds else ""
        seconds = f"{self.seconds:9.4f}" if self.seconds else ""
        return f"{self.name:44} {seconds:>9} {self.nodes or '':>14} {speed:>8} {self.note}"


HEAD = f"{'measurement':44} {'seconds':>9} {'count':>14} {'M/s':>8}"
"""The line above measurements in text."""


class EngineBench:
    """The measurements of `desdaemon bench`, a method for each. One thread at a time may use it."""

    def __init__(self, weights: Weights, problems: Path | None, repeat: int) -> None:
        """``problems`` is a folder of OBF files. Random positions are used if it is None, and for each file that the
        folder lacks. Times are medians of ``repeat`` runs; perft runs at least 3 times, the evaluation 5 times,
        the start-up 7 times.
        """
        self.weights = weights
        self.problems = problems
        self.repeat = repeat
        self.numbers: Sequence[int] = (2,)
        """Numbers of threads that `threads` compares with one thread."""
        self.level = 21
        """Level of the selective searches of `threads`."""

    def _set(self, file: str, first: int, last: int, empties: int) -> tuple[str, list[Problem]]:
        path = self.problems / file if self.problems else None
        if path is not None and path.is_file():
            return f"{path.stem}[{first}:{last}]", read_problems(path, first, last)
        return f"random, {empties} empties", random_problems(8, empties, 1)

    def searched(
        self,
        name: str,
        problems: Sequence[Problem],
        limits: Callable[[int], Limits],
        *,
        bits: int = 21,
    ) -> Measurement:
        """Measure single-threaded searches of ``problems``, each within ``limits(empties)`` and from an empty table of
        2**``bits`` entries.

        A round searches all problems; the time is the rounds' median processor time, in seconds. The note counts
        results that contradict a problem's exact score.
        """
        searcher = Searcher(hash_bits=bits, weights=self.weights)
        clock = time.process_time
        seconds, nodes, wrong = [], 0, 0
        for _ in range(self.repeat):
            total, nodes, wrong = 0.0, 0, 0
            for problem in problems:
                searcher.clear()
                player, opponent, _ = problem.position
                begun = clock()
                result = searcher.search(player, opponent, limits(problem.position.empties))
                total += clock() - begun
                nodes += result.nodes
                wrong += contradicts(result.lines[0], problem)
            seconds.append(total)
        return Measurement(name, statistics.median(seconds), nodes, f"{wrong} WRONG" if wrong else "")

    def exact(self) -> Iterator[tuple[str, list[Problem], int]]:
        """Yield the sets of problems of `solve`: name, problems, and the logarithm (base 2) of the table's number of
        entries. If a set's file is missing, yield random problems in its place, and no set after them.
        """
        for file, first, last, bits in (
            ("fforum-1-19.obf", 0, 19, 16),
            ("fforum-20-39.obf", 0, 20, 21),
            ("fforum-40-59.obf", 0, 5, 21),
            ("fforum-40-59.obf", 0, 10, 22),
        ):
            name, problems = self._set(file, first, last, 18)
            yield name, problems, bits
            if name.startswith("random"):
                break

    def perft(self) -> list[Measurement]:
        """Measure perft 11 in both modes by one thread, in processor time."""
        from desdaemon.engine.counting.counts import perft

        rows = []
        for mode in (1, 2):
            seconds, leaves = [], 0
            for _ in range(max(3, self.repeat)):
                begun = time.process_time()
                leaves = perft(*START, 11, mode, threads=1)
                seconds.append(time.process_time() - begun)
            rows.append(Measurement(f"perft 11 mode {mode}", statistics.median(seconds), leaves))
        return rows

    def solve(self) -> list[Measurement]:
        """Measure exact searches by one thread, in processor time."""
        return [self.searched(f"exact {name}", problems, Limits, bits=bits) for name, problems, bits in self.exact()]

    def midgame(self) -> list[Measurement]:
        """Measure searches of levels 12, 16 and 21 (10 and 12 on random positions) by one thread, in processor time."""
        name, problems = self._set("midgame-8.obf", 0, 8, 36)
        levels = (12, 16, 21) if name.startswith("midgame") else (10, 12)
        return [
            self.searched(f"level {level} {name}", problems, lambda empties, level=level: level_limits(level, empties))  # type: ignore[misc]
            for level in levels
        ]

    def evaluation(self) -> list[Measurement]:
        """Measure evaluations after a move, in processor time: flips, update of features, and the sum of weights."""
        searcher = Searcher(hash_bits=10, weights=self.weights)
        [problem] = random_problems(1, 30, 3)
        number = 2_000_000
        seconds = []
        for _ in range(max(5, self.repeat)):
            begun = time.process_time()
            searcher.time_evaluations(*problem.position[:2], number)
            seconds.append(time.process_time() - begun)
        return [Measurement("evaluation", statistics.median(seconds), number)]

    def short(self) -> list[Measurement]:
        """Measure searches of level 5 by one thread, in wall time: the cost of short questions without a server."""
        number = 500
        problems = [each for empties in range(41, 53, 3) for each in random_problems(number, empties, empties)]
        searcher = Searcher(weights=self.weights)
        seconds, nodes = [], 0
        for _ in range(self.repeat):
            searcher.clear()
            nodes, begun = 0, time.perf_counter()
            for problem in problems:
                player, opponent, _ = problem.position
                nodes += searcher.search(player, opponent, level_limits(5, problem.position.empties)).nodes
            seconds.append(time.perf_counter() - begun)
        return [
            Measurement("level 5, random positions", statistics.median(seconds), nodes, f"{len(problems)} searches")
        ]

    def threads(self) -> Iterator[Measurement]:
        """Measure exact scores and searches of `level`, in wall time, by one thread and by each number in `numbers`."""
        from .threads import measure

        exact, late = self._set("fforum-40-59.obf", 0, 10, 20), self._set("fforum-60-79.obf", 0, 20, 34)
        for label, problems, limits in (
            (f"exact {exact[0]}", exact[1], Limits),
            (f"level {self.level} {late[0]}", late[1], lambda empties: level_limits(self.level, empties)),
        ):
            for spread in measure(self.weights, problems, limits, self.numbers):
                name = f"{label}, {spread.threads} thread{'s' * (spread.threads > 1)}"
                yield Measurement(name, spread.time, spread.nodes, str(spread))

    def startup(self) -> list[Measurement]:
        """Measure the wall time of fresh processes with a warm cache: from their start to the first prompt, to the
        answer of a hint, and to the answer of a solve.
        """
        middle, late = (board_text(random_problems(1, *of)[0].position) for of in ((36, 5), (14, 6)))
        return [
            Measurement("start to prompt", self._until(""), 0),
            Measurement(
                "start to hint 1 at level 10",
                self._until(f"level 10\nsetboard {middle}\nhint 1\n"),
                0,
            ),
            Measurement(
                "start to 14 empties solved",
                self._until(f"level 60\nsetboard {late}\nhint 1\n"),
                0,
            ),
        ]

    def _until(self, lines: str) -> float:
        """Return the median seconds from the start of a dialogue's process to its prompt after the answer to the last
        of the commands ``lines``. Raises RuntimeError if the process ends before that prompt.
        """
        prompts = lines.count("\n") + 1
        command = [sys.executable, "-P", "-c", _ENTRY, str(Path(__file__).resolve().parents[2]), "-q"]
        if self.weights.source != str(SHIPPED):
            command += ["-eval-file", self.weights.source]
        seconds = []
        for _ in range(max(7, self.repeat)):
            begun = time.perf_counter()
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(lines.encode())
                process.stdin.flush()
                seen = 0
                while seen < prompts:
                    data = os.read(process.stdout.fileno(), 65536)
                    if not data:
                        raise RuntimeError("the daemon ended before its last prompt")
                    seen += data.count(b">")
                seconds.append(time.perf_counter() - begun)
                process.stdin.close()
                process.stdout.read()
        return statistics.median(seconds)

    def signature(self) -> tuple[int, list[int]]:
        """Return nodes and scores of fixed searches, the same on every machine for the same code and weights."""
        searcher = Searcher(hash_bits=16, weights=self.weights)
        nodes = 0
        scores: list[int] = []
        for empties, number, limits in (
            (44, 4, Limits(8, Selectivity(73))),
            (36, 4, Limits(10, Selectivity(73))),
            (30, 4, Limits(7, Selectivity(100))),
            (17, 6, Limits(17, Selectivity(100))),
            (18, 6, Limits(18, Selectivity(87))),
        ):
            for problem in random_problems(number, empties, empties):
                searcher.clear()
                result = searcher.search(*problem.position[:2], limits, multipv=2)
                nodes += result.nodes
                scores += [line.score for line in result.lines]
        return nodes, scores


# A child's program that runs this source tree, installed or not.
_ENTRY = f"""{OURSELVES}
sys.argv[0] = "desdaemon"
from desdaemon.cli.main import main
sys.exit(main())
"""


def _machine() -> dict[str, Any]:
    from desdaemon.engine.compiler.target import host_target

    return {"cpu": host_target().cpu, "cores": processors(), "python": platform.python_version()}


_MEASUREMENTS: dict[str, str] = {
    "perft": "perft 11 in both modes",
    "solve": "exact scores of the fforum problems",
    "midgame": "levels 12, 16 and 21",
    "eval": "incremental evaluations",
    "short": "searches of level 5 one after the other, wall time",
    "threads": "one thread against several",
    "startup": "fresh processes with a warm cache",
    "signature": "nodes of fixed searches",
}


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of threads in ``text``, such as ``2,4``. Raises `ArgumentTypeError` for other text and for
    numbers outside 2..256.
    """
    numbers = tuple(int(part) for part in text.split(",") if part.isdecimal())
    if text != ",".join(map(str, numbers)) or not all(2 <= number <= 256 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers from 2 to 256 with commas between")
    return numbers


def command_line() -> Parser:
    parser = Parser(
        prog="desdaemon bench",
        description="Measure the engine on this machine, and count the nodes of fixed searches. Times are medians of "
        "--repeat runs: processor time for one thread, which other programs disturb least, wall time for several "
        "threads and for start-up. --problems names the folder of fforum-1-19.obf, fforum-20-39.obf, fforum-40-59.obf "
        "and midgame-8.obf; without it positions of random play are searched.",
        epilog="\n".join(f"  {name:12}{what}" for name, what in _MEASUREMENTS.items()),
    )
    parser.add_argument("what", nargs="*", metavar="WHAT", help="measurements to run, by name")
    parser.add_argument("--problems", type=Path, metavar="FOLDER", help="folder of OBF files")
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    parser.add_argument("--repeat", type=whole(1, 10**4), default=3, help="runs of which the median counts (3)")
    parser.add_argument("--threads", type=_numbers, default=(2,), metavar="N,N", help="threads: their numbers (2)")
    parser.add_argument("--level", type=whole(0, 60), default=21, help="threads: level of the selective searches (21)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the measurements that are named, by default all but the signature. Returns the exit status: 0, or 1 if the
    weights cannot be read. Raises SystemExit for a wrong command line.
    """
    parser = command_line()
    arguments = parser.parse_args(argv)
    unknown = [what for what in arguments.what if what not in _MEASUREMENTS]
    if unknown:
        meant = did_you_mean(unknown[0], _MEASUREMENTS, f"one of {', '.join(_MEASUREMENTS)}")
        parser.error(f"{unknown[0]!r}: {meant}")
    chosen = arguments.what or list(_MEASUREMENTS)[:-1]
    try:
        weights = Weights.load(arguments.eval_file)
    except WeightsError as error:
        logs.message(str(error), level="error")
        return 1
    if arguments.problems is not None and not arguments.problems.is_dir():
        parser.error(f"--problems {arguments.problems}: expected a folder")
    bench = EngineBench(weights, arguments.problems, arguments.repeat)
    bench.numbers, bench.level = arguments.threads, arguments.level
    _run(bench, chosen, as_json=arguments.json)
    return 0


def _run(bench: EngineBench, chosen: Sequence[str], *, as_json: bool) -> None:
    """Run the measurements ``chosen`` and print them, as a table or as one JSON object."""
    report: dict[str, Any] = {"machine": _machine(), "rows": []}
    if not as_json:
        print(" ".join(f"{key}: {value}" for key, value in report["machine"].items()))
        print(HEAD)
    for what in chosen:
        if what == "signature":
            nodes, scores = bench.signature()
            report["signature"] = {"nodes": nodes, "scores": scores}
            if not as_json:
                print(f"signature {nodes}")
            continue
        for row in getattr(bench, "evaluation" if what == "eval" else what)():
            report["rows"].append(row._asdict())
            if not as_json:
                print(row, flush=True)
    if as_json:
        print(json.dumps(report))
