"""`python tests/lab tables FOLDER results.jsonl`: the tables of docs/tables.md, in the form in which engines publish.

Problems of the OBF files in a folder are searched, each from an empty table: those of `EXACT` to the end, by each
number of threads; those of `JUDGED`, whose every move has a score, at the depths of `DEPTHS` and 73 %, and to the end
at lower selectivities, by one thread. Times are processor time for one thread, which other programs disturb least, and
wall time for more. Results are appended to the file as they come, and the same command goes on where it was ended; at
the end it prints the tables in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from desdaemon.engine.bench.problems import contradicts, read_problems
from desdaemon.engine.compiler.target import host_target
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.processors import processors
from desdaemon.protocol.system.terminal import ProgressLine

EXACT = ("fforum-20-39", "fforum-40-59", "hard-20", "hard-25")
"""Files, without ``.obf``, that are solved."""
JUDGED = ("hard-20", "hard-25", "fforum-60-79")
"""Files that are searched at `DEPTHS`, and those of them that are among `EXACT` also to the end at `PERCENT`."""
DEPTHS = (5, 10, 15, 18)
"""Plies of the searches that are judged."""
PERCENT = (Selectivity(73), Selectivity(87), Selectivity(95), Selectivity(98), Selectivity(99))
"""Selectivities of the searches to the end that are judged."""
_END = 64
SINGLY = ("fforum-40-59",)
"""Files whose problems have a row each; the first number of these is in the name."""


class Row(NamedTuple):
    """The search of a problem, the ``number``-th of its file from 0, to ``depth`` plies at ``selectivity`` percent."""

    file: str
    number: int
    threads: int
    depth: int
    selectivity: int
    empties: int
    score: int
    """Discs for the mover."""
    move: str
    wrong: bool
    """Whether the search says that it is exact, and its score or its move is not."""
    error: int
    """Discs between the score and the exact one."""
    loss: int
    """Discs that the move loses."""
    nodes: int
    seconds: float


class Task(NamedTuple):
    """A search to be made."""

    file: str
    number: int
    threads: int
    limits: Limits


def tasks(problems: dict[str, list[Problem]], threads: Sequence[int]) -> Iterator[Task]:
    """Yield all searches of the files in ``problems``."""
    for file in EXACT:
        for number in threads:
            yield from (Task(file, k, number, Limits(_END)) for k in range(len(problems.get(file, ()))))
    for file in JUDGED:
        selective = [Limits(depth, PERCENT[0]) for depth in DEPTHS]
        selective += [Limits(_END, percent) for percent in PERCENT if file in EXACT]
        for limits in selective:
            yield from (Task(file, k, 1, limits) for k in range(len(problems.get(file, ()))))


def searched(searcher: Searcher, task: Task, problem: Problem) -> Row:
    """Search a problem with scores of all its moves, from an empty table."""
    clock = time.process_time if task.threads == 1 else time.perf_counter
    searcher.clear()
    begun = clock()
    result = searcher.search(problem.position.player, problem.position.opponent, task.limits)
    seconds = clock() - begun
    line = result.lines[0]
    best = max(problem.scores.values())
    return Row(
        task.file,
        task.number,
        task.threads,
        task.limits.depth,
        int(task.limits.selectivity),
        problem.position.empties,
        line.score,
        move_text(line.move),
        contradicts(line, problem),
        abs(line.score - best),
        best - problem.scores[line.move],
        result.nodes,
        round(seconds, 4),
    )


# Tables


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _sums(rows: Sequence[Row]) -> list[str]:
    nodes, seconds = sum(row.nodes for row in rows), sum(row.seconds for row in rows)
    return [f"{nodes:,}", f"{seconds:,.2f}", f"{nodes / max(seconds, 1e-6) / 1e6:.1f}"]


def report(rows: Sequence[Row]) -> str:
    """Return the tables of ``rows`` in Markdown; a table without rows is left out."""
    exact: dict[tuple[str, int], list[Row]] = {}
    selective: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        if row.selectivity == 100:
            exact.setdefault((row.file, row.threads), []).append(row)
        else:
            selective.setdefault((row.file, row.depth, row.selectivity), []).append(row)
    parts = []
    if exact:
        head = ["exact", "threads", "problems", "right", "nodes", "seconds", "M nodes/s"]
        body = [[*key, len(own), sum(not row.wrong for row in own), *_sums(own)] for key, own in exact.items()]
        parts.append(_table(head, body))
    if selective:
        head = [
            "selective",
            "plies",
            "best move, %",
            "mean loss",
            "mean error",
            "within a disc, %",
            "nodes each",
            "seconds",
        ]
        body = []
        for (file, depth, percent), own in selective.items():
            plies = f"{'all' if depth == _END else depth}@{percent}"
            right, close = (
                100 * fmean(each) for each in ([row.loss == 0 for row in own], [row.error <= 1 for row in own])
            )
            loss, error = fmean(row.loss for row in own), fmean(row.error for row in own)
            nodes, seconds = sum(row.nodes for row in own) // len(own), sum(row.seconds for row in own)
            figures = [f"{right:.1f}", f"{loss:.2f}", f"{error:.2f}", f"{close:.1f}", f"{nodes:,}", f"{seconds:,.2f}"]
            body.append([file, plies, *figures])
        parts.append(_table(head, body))
    for (file, threads), own in exact.items():
        if file in SINGLY and threads == 1:
            first = int(file.split("-")[1])
            head = ["no.", "empties", "score", "move", "nodes", "seconds", "M nodes/s"]
            body = [[first + row.number, row.empties, f"{row.score:+}", row.move, *_sums([row])] for row in own]
            parts.append(_table(head, body))
    return "\n".join(parts)


# The front end


def _read(path: Path) -> list[Row]:
    """Return the rows of a file of results, without one that was cut off at the end; none if there is no file."""
    content = path.read_text("ascii") if path.exists() else ""
    try:
        return [Row(*json.loads(line)) for line in content.splitlines(keepends=True) if line.endswith("\n")]
    except (ValueError, TypeError):
        raise BadInput(f"{path} is no file of results: expected one that tables made") from None


def _run(options: argparse.Namespace) -> None:
    weights, line = Weights.load(options.eval_file), ProgressLine()
    paths = {name: options.folder / f"{name}.obf" for name in sorted({*EXACT, *JUDGED})}
    problems = {name: read_problems(path) for name, path in paths.items() if path.is_file()}
    if not problems:
        raise BadInput(f"{options.folder} has none of {', '.join(path.name for path in paths.values())}")
    rows = _read(options.results)
    done = {row[:5] for row in rows}
    wanted = [task for task in tasks(problems, options.threads) if (*task[:3], *task.limits[:2]) not in done]
    searchers: dict[int, Searcher] = {}
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    options.results.write_text(text, "ascii")
    with options.results.open("a", encoding="ascii") as stream:
        for number, task in enumerate(wanted, 1):
            line.show(f"{number} of {len(wanted)} searches: {task.file}")
            if task.threads not in searchers:
                searchers[task.threads] = Searcher(threads=task.threads, hash_bits=options.hash, weights=weights)
            rows.append(searched(searchers[task.threads], task, problems[task.file][task.number]))
            stream.write(f"{json.dumps(rows[-1])}\n")
            stream.flush()
            os.fsync(stream.fileno())
    line.clear()
    machine = f"{host_target().cpu}, {processors()} processors"
    sys.stdout.write(f"{machine}; weights {weights.digest[:8]}; 2^{options.hash} entries a table\n\n{report(rows)}")


def _numbers(text: str) -> list[int]:
    return [whole(1, 256)(part) for part in text.split(",")]


def main(arguments: list[str]) -> int:
    """Search what is missing in the results, and print the tables; returns the exit status."""
    parser = Parser(prog="python tests/lab tables", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of OBF files")
    parser.add_argument("results", type=Path, help="file of results, made or continued")
    parser.add_argument("--threads", type=_numbers, default=[1], metavar="N,N", help="numbers of threads (1)")
    parser.add_argument("--hash", type=whole(10, 32), default=22, metavar="BITS", help="2^BITS entries a table (22)")
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except (BadInput, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
