"""Solver of a file of problems (``solve``, ``-solve``), which checks the moves and scores that the file lists."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING

from desdaemon.core import plugins
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, Unfinished
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.obf import Problem, parse_problem, problem_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

from .search_table import SearchTable

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect
    from desdaemon.dialogue.interrupt import StoppableSearch
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result

LONGEST_PROBLEM = 65_536
STANDARD_INPUT = ("-", "/dev/stdin")


class _ProblemTally:
    """Comparison of the answers with the listed scores, summed over all problems."""

    def __init__(self) -> None:
        self.positions = self.wrong_moves = self.wrong_scores = 0
        self.score_error = self.move_error = 0
        self.nodes = 0

    def check(self, problem: Problem, move: int, score: MoverScore) -> str:
        """Compare an answer. Returns a description of the fault, or ""."""
        best = problem.best
        if best is None:
            return ""
        self.score_error += abs(best - score)
        self.wrong_scores += score != best
        listed = problem.scores.get(move)
        # A move that is not listed is taken at the score the search gives it.
        error = best - (score if listed is None else listed)
        if error > 0:
            self.wrong_moves += 1
            self.move_error += error
            expected = " ".join(move_text(move) for move, score in problem.scores.items() if score == best)
            return f"Erroneous move: {expected} expected, with score {best:+d}, error = {error:+d}"
        return f"Erroneous score: {best:+d} expected" if score != best else ""

    def summary(self) -> str:
        """The last line of the output."""
        count = max(1, self.positions)
        return (
            f"{self.positions} positions; {self.wrong_moves} erroneous move; {self.wrong_scores} erroneous score; "
            f"mean absolute score error = {self.score_error / count:.3f}; "
            f"mean absolute move error = {self.move_error / count:.3f}"
        )


def read_problems(text: TextDialect, path: str) -> Iterator[Problem]:
    """The problems of an OBF file; unreadable lines are reported and skipped. Raises `OSError`."""
    with _opened(path) as file:
        yield from _problems(text, file, path)


def solve_file(text: TextDialect, path: str, wrong: str = "") -> None:
    """Solve the problems of an OBF file (`STANDARD_INPUT` by either of its names too) as their lines arrive.

    Unreadable lines are reported and skipped. A stop ends it after the current problem. Problems whose answers differ
    from those listed are written to the file ``wrong``. With the option `cluster` its workers search. Raises `OSError`
    when a file cannot be opened, `EngineFailure`, `Abandoned`, `BadInput` where a cluster has no scheduler, and
    `Unfinished` where it has gone.
    """
    verbose = text.session.settings.verbose
    tally = _ProblemTally()
    begun, cpu_begun = time.monotonic(), time.process_time()
    read = 0
    unfinished = ""

    def counted(problems: Iterator[Problem]) -> Iterator[Problem]:
        nonlocal read
        for problem in problems:
            read += 1
            yield problem

    with ExitStack() as stack:
        file = stack.enter_context(_opened(path))
        problems = counted(_problems(text, file, path))
        search = stack.enter_context(text.session.interrupt.searching(bounded=True))
        rejects = stack.enter_context(open(wrong, "w", encoding="utf-8")) if wrong else None  # noqa: PTH123
        if verbose == 1:
            text.say(f"{edax.SOLVE_HEADER}\n{edax.SOLVE_RULE}")
        try:
            for problem, found in _searched(text, problems, search, stack):
                faulty = _solve(text, problem, tally, search, found)
                if faulty and rejects:
                    rejects.write(f"{problem_text(problem)}\n")
                if search.stopped:
                    break
        except Unfinished as error:
            unfinished = str(error)
            # Standard input may have no end.
            if path not in STANDARD_INPUT:
                deque(problems, maxlen=0)
    if verbose == 1:
        text.say(edax.SOLVE_RULE)
    ms, cpu_ms = (time.monotonic() - begun) * 1000, (time.process_time() - cpu_begun) * 1000
    text.say(f"{edax.solve_summary(path, tally.nodes, ms, cpu_ms)}\n{tally.summary()}")
    if unfinished:
        raise Unfinished(f"{path}: {read - tally.positions} of {read} problems were not solved: {unfinished}")


def _searched(
    text: TextDialect, problems: Iterator[Problem], search: StoppableSearch, stack: ExitStack
) -> Iterator[tuple[Problem, Result | None]]:
    """The problems, with their results where a cluster searches."""
    settings = text.session.settings
    if not settings.cluster:
        return ((problem, None) for problem in problems)
    solve = plugins.cluster("solve")
    session = text.session
    searcher = session.engine(search).searcher

    def here(player: int, opponent: int, limits: Limits) -> Result:
        searcher.clear()
        return searcher.search(player, opponent, limits)

    place = settings.cluster, settings.cluster_tls
    cluster = solve.solver(place, settings.eval_file, settings.hash_table_size, here, text.warn)
    stack.enter_context(search.control(cluster))
    positions = ((problem, problem.position) for problem in problems)
    wanted = ((problem, each, None if each.over else session.limits(each)) for problem, each in positions)
    results: Iterator[tuple[Problem, Result | None]] = solve.solved(cluster, wanted, settings.level)
    return results


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    # By descriptor: opening /dev/stdin again fails where the standard input is a socket.
    source: str | int = os.dup(0) if path in STANDARD_INPUT else path
    with open(source, "rb") as file:  # noqa: PTH123  a descriptor, or the name as it was typed
        yield file


def _problems(text: TextDialect, file: IO[bytes], path: str) -> Iterator[Problem]:
    number = 0
    while data := file.readline(LONGEST_PROBLEM):
        number += 1
        try:
            if len(data) == LONGEST_PROBLEM and not data.endswith(b"\n"):
                _skip_line(file)
                raise BadInput(f"more than {LONGEST_PROBLEM} bytes: expected a problem")
            problem = parse_problem(data.decode("utf-8", "backslashreplace"))
        except BadInput as error:
            text.warn(f"{path}, line {number}: {error}")
            continue
        if problem:
            yield problem


def _skip_line(file: IO[bytes]) -> None:
    while (data := file.readline(LONGEST_PROBLEM)) and not data.endswith(b"\n"):
        pass


def _solve(
    text: TextDialect, problem: Problem, tally: _ProblemTally, search: StoppableSearch, found: Result | None
) -> bool:
    """Solve a problem, unless its result was ``found`` already, and print it. Returns whether the answer differs from
    the listed one.
    """
    session, position = text.session, problem.position
    tally.positions += 1
    number = tally.positions
    detailed = session.settings.verbose >= 2
    if detailed:
        text.say(f"\n*** problem # {number} ***\n\n{edax.compact_board(position)}\n")
        text.say(f"{edax.TABLE_HEADER}\n{edax.DETAILED_RULE}")
    form = edax.detailed_line if detailed else partial(edax.solve_line, number)
    table = SearchTable(text, position.black_to_move, form)
    if position.over:
        score = rules.final_score(position.player, position.opponent)
        fault = tally.check(problem, PASS, score)
        row = edax.SearchRow(position.empties, Selectivity.FULL, edax.EXACT, score, 0, 0, (), position.black_to_move)
        table.row(row, "" if detailed else fault)
    else:
        result = found
        if result is None:
            session.engine(search).searcher.clear()
            limits = session.limits(position)
            result = session.search(position, limits, progress=table.progress, attempts=table.attempts)
        tally.nodes += result.nodes
        fault = tally.check(problem, result.lines[0].move, result.lines[0].score)
        table.finish(result, again=not detailed, note="" if detailed else fault)
    if detailed:
        # Programs take the line two above the closing rule for the result: what is wrong with it lies between.
        text.say(f"{fault and f' {fault}'}\n{edax.DETAILED_RULE}")
    return bool(fault)
