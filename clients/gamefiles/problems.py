"""The commands on files of problems and of WTHOR's games: they solve positions and compare with the listed scores."""

from __future__ import annotations

import io
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.core.searchers import Solver, SolverSearches, searchers
from desdaemon.dialogue.commands.search import SearchTable
from desdaemon.dialogue.dialects.text import UNUSABLE, TextDialect
from desdaemon.dialogue.session import CommandContext, unlimited
from desdaemon.dialogue.stdio import INTERRUPTED, carry_out, run_without_input
from desdaemon.protocol.commands.options import file_name, file_names
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, Complaints, Unfinished, quoted
from desdaemon.protocol.games.bases import expect_other_files, replace_file
from desdaemon.protocol.games.contents import LONGEST_LINE
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, move_text, moves_text
from desdaemon.protocol.othello.obf import Problem, parse_problem, problem_lines, problem_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore, seen_by_black
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.rows import load
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import packed
from desdaemon.protocol.system.terminal import ElapsedTime
from desdaemon.protocol.texts import without_mark

if TYPE_CHECKING:
    from desdaemon.core.settings import SessionSettings
    from desdaemon.dialogue.interrupt import StoppableSearch
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Result

LONGEST_PROBLEM = 65_536
STANDARD_INPUT = ("-", "/dev/stdin")


class _ProblemTally:
    """Compares answers with the listed scores and sums up the errors. The caller counts ``positions``."""

    def __init__(self) -> None:
        self.positions = self.wrong_moves = self.wrong_scores = 0
        self.score_error = self.move_error = 0
        self.nodes = 0

    def check(self, problem: Problem, move: int, score: MoverScore) -> str:
        """Compare an answer, ``score`` in discs for the side to move, with the listed scores, and add its errors to the
        sums. Returns a description of the error, "" if there is none.
        """
        best = problem.best
        if best is None:
            return ""
        self.score_error += abs(best - score)
        self.wrong_scores += score != best
        listed = problem.scores.get(move)
        # A move that is not listed counts with the searched score.
        error = best - (score if listed is None else listed)
        if error > 0:
            self.wrong_moves += 1
            self.move_error += error
            expected = " ".join(move_text(move) for move, score in problem.scores.items() if score == best)
            return f"Erroneous move: {expected} expected, with score {best:+d}, error = {error:+d}"
        return f"Erroneous score: {best:+d} expected" if score != best else ""

    def summary(self) -> str:
        """Return the last line of the output."""
        count = max(1, self.positions)
        return (
            f"{self.positions} positions; {self.wrong_moves} erroneous move; {self.wrong_scores} erroneous score; "
            f"mean absolute score error = {self.score_error / count:.3f}; "
            f"mean absolute move error = {self.move_error / count:.3f}"
        )


def solve(context: CommandContext, argument: str) -> None:
    names = [file_name(argument)]
    # A remote client gives only the name of a file in the data folder.
    if not context.session.remote and not os.path.exists(names[0]):  # noqa: PTH110  pathlib costs start-up time
        names = file_names(argument)
    if not 1 <= len(names) <= 2 or names[0] in ("", *STANDARD_INPUT):
        raise BadInput(f"solve {quoted(argument)}: expected the name of a file of problems")
    expect_other_files({"solve": "".join(names[1:])}, names[:1])
    solve_file(context, *names)


def solve_as_edax(settings: SessionSettings, path: str) -> int:
    """Solve a file of problems. Returns the exit status: 0, `UNUSABLE` if the file or the engine cannot be used,
    `INTERRUPTED` if it was stopped while it waited for the engine, or another status of `run_without_input`.
    """

    def work(dialect: TextDialect) -> int:
        try:
            solve_file(dialect, path)
        except Abandoned:
            return INTERRUPTED
        except (BadInput, EngineFailure) as error:
            dialect.output.error(f"desdaemon: {error}")
            return UNUSABLE
        except OSError as error:
            if error.filename is None:
                raise
            dialect.output.error(f"desdaemon: {error.filename}: {error.strerror}")
            return UNUSABLE
        return 0

    return run_without_input(settings, work)


def wtest_as_edax(settings: SessionSettings, path: str) -> int:
    """Check the scores of a WTHOR file as the command `wtest` does. Returns the exit status of `carry_out`."""
    return carry_out(settings, f"wtest {path}")


def read_problems(context: CommandContext, path: str) -> Iterator[Problem]:
    """Yield the problems of an OBF file; report and skip unreadable lines. Raises `OSError` if the file cannot be
    opened or read.
    """
    with _opened(path) as file, Complaints(context.warn) as few:
        yield from _problems(few, file, path)


def solve_file(context: CommandContext, path: str, wrong: str = "") -> None:
    """Solve the problems of an OBF file, or of standard input (`STANDARD_INPUT`) as their lines arrive.

    Unreadable lines are reported and skipped; a stop ends the run after the present problem. Problems whose answer
    differs from the listed one replace the file ``wrong`` at the end. If there are `searchers`, they search.

    Raises `OSError` for a file that cannot be opened, `EngineFailure`, `Abandoned`, `BadInput` for a file without a
    problem or searchers that are not there, and `Unfinished` if they are lost.
    """
    verbose = context.settings.verbose
    tally = _ProblemTally()
    begun, cpu_begun = time.perf_counter(), time.process_time()
    read = 0
    rejects: list[str] = []
    unfinished = ""

    def counted(problems: Iterator[Problem]) -> Iterator[Problem]:
        nonlocal read
        for problem in problems:
            read += 1
            yield problem

    with ExitStack() as stack:
        file = stack.enter_context(_opened(path))
        few = stack.enter_context(Complaints(context.warn))
        problems = counted(_problems(few, file, path))
        search = stack.enter_context(context.session.interrupt.searching(bounded=True))
        if verbose == 1:
            context.say(f"{edax.SOLVE_HEADER}\n{edax.SOLVE_RULE}")
        try:
            for problem, result in _searched(context, problems, search, stack):
                faulty = _solve(context, problem, tally, search, result)
                if faulty and wrong:
                    rejects.append(f"{problem_text(problem)}\n")
                if search.stopped:
                    break
        except Unfinished as error:
            unfinished = str(error)
            # Count the problems that are left, except on standard input, which may have no end.
            if path not in STANDARD_INPUT:
                deque(problems, maxlen=0)
    if verbose == 1:
        context.say(edax.SOLVE_RULE)
    ms, cpu_ms = (time.perf_counter() - begun) * 1000, (time.process_time() - cpu_begun) * 1000
    context.say(f"{edax.solve_summary(path, tally.nodes, ms, cpu_ms)}\n{tally.summary()}")
    if not read:
        raise BadInput(f"{quoted(path)}: no problem found: expected <64 squares> <side>; MOVE:SCORE; ...")
    if wrong:
        _replace(wrong, rejects)
    if unfinished:
        raise Unfinished(f"{path}: {read - tally.positions} of {read} problems were not solved: {unfinished}")


def _searched(
    context: CommandContext, problems: Iterator[Problem], search: StoppableSearch, stack: ExitStack
) -> Iterator[tuple[Problem, Result | None]]:
    """Return an iterator over the problems, each with its result from the `searchers`; with None without them, or if
    the game is over. Until ``stack`` is closed, a stop of ``search`` stops them.
    """
    settings = context.settings
    others = searchers(settings)
    if others is None:
        return ((problem, None) for problem in problems)
    session = context.session
    searcher = session.engine(search).searcher

    def here(player: int, opponent: int, limits: Limits) -> Result:
        searcher.clear()
        return searcher.search(player, opponent, limits)

    solver: Solver = load(others.solver)(SolverSearches(settings, here, context.warn))
    stack.enter_context(search.control(solver))
    positions = ((problem, problem.position) for problem in problems)
    return solver.solved((problem, each, None if each.over else session.limits(each)) for problem, each in positions)


class _EndlessLine(Exception):
    """A line is so long that what is read is no file of problems."""


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    # By descriptor, because /dev/stdin cannot be opened if standard input is a socket.
    source: str | int = os.dup(0) if path in STANDARD_INPUT else path
    with open(source, "rb") as file:  # noqa: PTH123  a descriptor, or the name as it was typed
        if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not (file.isatty() or path == os.devnull):
            # It may have no end, as /dev/zero has none.
            raise BadInput(f"{quoted(path)}: is a device: expected a file")
        yield file


def _problems(bad: Callable[[str], None], opened: io.BufferedReader, path: str) -> Iterator[Problem]:
    for number, line in problem_lines(_lines(bad, opened, path)):
        try:
            problem = parse_problem(line)
        except BadInput as error:
            bad(f"{path}, line {number}: {error}")
            continue
        if problem:
            yield problem


def _lines(bad: Callable[[str], None], opened: io.BufferedReader, path: str) -> Iterator[str]:
    """Yield the lines of a file, packed or not, "" for one that cannot be read, with a complaint. Raises `BadInput` if
    the file cannot be unpacked.
    """
    try:
        yield from _read_lines(bad, packed.opened(opened), path)
    except packed.CannotUnpack as error:
        raise BadInput(f"{quoted(path)}: {error}") from None
    except _EndlessLine as error:
        raise BadInput(str(error)) from None


def _read_lines(bad: Callable[[str], None], file: io.BufferedReader, path: str) -> Iterator[str]:
    number = 0
    while data := file.readline(LONGEST_PROBLEM):
        number += 1
        if number == 1:
            data = without_mark(data, path)
        try:
            if len(data) == LONGEST_PROBLEM and not data.endswith(b"\n"):
                _skip_line(file, path)
                raise BadInput(f"too long for a problem: more than {LONGEST_PROBLEM} bytes")
            yield data.decode("utf-8", "backslashreplace")
        except BadInput as error:
            bad(f"{path}, line {number}: {error}")
            yield ""


def _skip_line(file: io.BufferedReader, path: str) -> None:
    """Read to the end of a line. Raises `_EndlessLine` for more than `LONGEST_LINE` bytes."""
    left = LONGEST_LINE
    while (data := file.readline(LONGEST_PROBLEM)) and not data.endswith(b"\n"):
        left -= len(data)
        if left < 0:
            raise _EndlessLine(f"{quoted(path)}: expected lines of at most {LONGEST_LINE} bytes")


def _solve(
    context: CommandContext, problem: Problem, tally: _ProblemTally, search: StoppableSearch, result: Result | None
) -> bool:
    """Search a problem, unless ``result`` is given, and print it. Returns whether the listed answer differs."""
    session, position = context.session, problem.position
    tally.positions += 1
    number = tally.positions
    shown, detailed = session.settings.verbose > 0, session.settings.verbose >= 2
    if detailed:
        context.say(f"\n*** problem # {number} ***\n\n{edax.compact_board(position)}\n")
        context.say(f"{edax.TABLE_HEADER}\n{edax.DETAILED_RULE}")
    form = edax.detailed_line if detailed else partial(edax.solve_line, number)
    table = SearchTable(context, position.black_to_move, form)
    if position.over:
        score = rules.final_score(position.player, position.opponent)
        fault = tally.check(problem, PASS, score)
        row = edax.SearchRow(position.empties, Selectivity.FULL, edax.EXACT, score, 0, 0, (), position.black_to_move)
        if shown:
            table.row(row, "" if detailed else fault)
    else:
        if result is None:
            session.engine(search).searcher.clear()
            limits = session.limits(position)
            if shown:
                table.foretell(position, limits, f"problem {number}, {position.empties} empty squares, ")
            result = session.search(position, limits, progress=table.progress, attempts=table.attempts)
        tally.nodes += result.nodes
        fault = tally.check(problem, result.lines[0].move, result.lines[0].score)
        if shown:
            table.finish(result, again=not detailed, note="" if detailed else fault)
    if detailed:
        # Programs read the result from the second line above the closing rule, so the error stands between.
        context.say(f"{fault and f' {fault}'}\n{edax.DETAILED_RULE}")
    return bool(fault)


# Files of problems and games


def script_to_obf(context: CommandContext, argument: str) -> None:
    def line(problem: Problem) -> str:
        return f"{problem_text(Problem(problem.position, _scores(context, problem.position)))}\n"

    _write_problems(context, "script-to-obf", argument, line)


def select_hard(context: CommandContext, argument: str) -> None:
    def line(problem: Problem) -> str:
        scores = sorted(_scores(context, problem.position).values(), reverse=True)
        if len(scores) < 2 or scores[0] - scores[1] != 2:
            return ""
        return f"{problem_text(problem)}\n"

    _write_problems(context, "select-hard", argument, line)


def _scores(context: CommandContext, position: Position) -> dict[int, MoverScore]:
    """Return the score of every legal move by its square, in discs for the side to move, searched with the options'
    limits; {} if the game is over.
    """
    if position.over:
        return {}
    choices = max(1, position.moves.bit_count())
    result = context.session.search(position, context.session.limits(position), multipv=choices)
    return {line.move: line.score for line in result.lines}


def _write_problems(context: CommandContext, command: str, argument: str, line: Callable[[Problem], str]) -> None:
    words = file_names(argument)
    if len(words) != 2:
        raise BadInput(f"{command} {quoted(argument)}: expected a file of problems and a file to write")
    source, target = words
    expect_other_files({command: target}, [source])
    with (
        context.session.interrupt.searching(bounded=True) as search,
        ElapsedTime(command, wanted=not context.session.remote),
    ):
        lines = []
        for problem in read_problems(context, source):
            text = line(problem)
            if search.stopped:
                break
            lines.append(text)
    if not lines:
        why = "stopped" if search.stopped else "no problem found"
        raise BadInput(f"{quoted(source)}: {why}: {target} is not written")
    _replace(target, lines)
    context.say(f"{plural(sum(map(bool, lines)), 'problem')} written to {target}")


def _replace(path: str, lines: list[str]) -> None:
    replace_file(path, "".join(lines).encode())


def wtest(context: CommandContext, argument: str) -> None:
    """In each game of a WTHOR file, solve the first position with a perfect score listed; print scores that differ."""
    from desdaemon.clients.gamefiles.wthor_bases import read_wthor
    from desdaemon.protocol.games.formats import replayed

    if not argument:
        raise BadInput("wtest: expected the name of a WTHOR file")
    with Complaints(context.warn) as few:
        base = read_wthor(file_name(argument), few)
    depth = base.header.depth
    games = wrong = 0
    with (
        context.session.interrupt.searching(bounded=True) as search,
        ElapsedTime("wtest", wanted=not context.session.remote),
    ):
        for number, game in base.games.items():
            position, line = START, []
            for played in replayed(START, game.moves):
                if position.empties <= depth and not position.must_pass:
                    break
                position = position.after(played.move)
                line.append(played.move)
            if position.over or position.empties > depth:
                continue
            score = context.session.search(position, unlimited(position), window=(-64, 64)).lines[0].score
            if search.stopped:
                break
            games += 1
            discs = 32 + seen_by_black(score, position.black_to_move) // 2
            if discs != game.theoretical:
                wrong += 1
                context.say(f"game {number}: {game.theoretical} written, {discs} found after {moves_text(line)}")
    context.say(f"{plural(games, 'game')}, {plural(wrong, 'wrong theoretical score')}")
