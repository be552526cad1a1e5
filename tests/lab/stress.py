"""`python tests/lab stress NUMBER`: exact solves by many threads, compared with one thread's.

Real threads, more of them than processors, so that the system interrupts them anywhere; small tables, in which entries
are replaced while others read them; and searches that are stopped before, whose entries the next one finds.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from random_games import random_boards
from table_entries import check_entries

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.layout import LOCAL_TABLE_EMPTIES
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.system.terminal import ProgressLine

THREADS = (2, 4, 8, 16, 32)
"""Each position is solved by so many, in random order."""

_HASH_BITS = (10, 12, 14, 18)
_EMPTIES = {10: 5, 11: 6, 12: 10, 13: 20.6, 14: 22, 15: 18, 16: 12, 17: 4, 18: 1.5, 19: 0.6, 20: 0.3}
"""Per cent of the positions: the cost doubles with each empty square, and nodes are shared from 13 on."""

_CLEARED, _STOPPED, _LOOKED_UP, _FULL_WIDTH = 0.3, 0.25, 0.08, 0.01
"""How many solves begin with an empty table, come after a stopped search of the same position, have entries of their
tables compared, and are followed by a full-width search.
"""
_FULL_WIDTH_LIMITS = Limits(10)
_TO_THE_END = Limits(64)
_POSITIONS = 20_000
"""About so many positions are looked up in a table at most."""

_BRANCHING = 8
"""Moves that late positions have, or somewhat fewer."""


@dataclass
class Stress:
    """The findings of `stress` so far."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Solves by empties and threads."""
    wrong: int = 0
    """Scores that are not those of one thread, or not proved."""
    stopped: int = 0
    """Searches of the same positions that were stopped before."""
    entries: int = 0
    """Proved entries of tables that were compared with searches."""
    wrong_entries: int = 0
    full_width: int = 0
    """Searches to a fixed depth without ProbCut that were compared with one thread's."""
    wrong_full_width: int = 0
    nodes: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    """A line for each wrong result, to find it again."""

    @property
    def solved(self) -> int:
        """The number of solves."""
        return self.counts.total()


def stress(weights: Weights, number: int, seed: int = 1, progress: Callable[[Stress], None] | None = None) -> Stress:
    """Solve random positions by `THREADS` threads with small tables, some of them stopped early, ``number`` solves.

    Every score is compared with that of one thread with a table of its own, and of some solves the exact entries of the
    tables for that position and those after it with searches of these. Now and then searches of a fixed depth without
    ProbCut are compared, too. ``progress`` is called after each position.
    """
    dice = random.Random(seed)
    alone, judge = (Searcher(hash_bits=18, weights=weights) for _ in range(2))
    searchers: dict[tuple[int, int], Searcher] = {}
    found = Stress()
    begun = time.perf_counter()
    while found.solved < number:
        [empties] = dice.choices(tuple(_EMPTIES), tuple(_EMPTIES.values()))
        problem = _drawn(empties, dice)
        board = problem.position[:2]
        truth = alone.search(*board, _TO_THE_END)
        for threads in dice.sample(THREADS, min(len(THREADS), number - found.solved)):
            bits = dice.choice(_HASH_BITS)
            searcher = searchers.get((threads, bits))
            if searcher is None:
                searcher = searchers[threads, bits] = Searcher(threads=threads, hash_bits=bits, weights=weights)
            where = f"{board_text(problem.position)} {threads} threads, table of 2^{bits}"
            if dice.random() < _CLEARED:
                searcher.clear()
            if dice.random() < _STOPPED:
                found.stopped += _stop_a_search(searcher, board, truth, dice)
            result = searcher.search(*board, _TO_THE_END)
            [line] = result.lines
            found.counts[empties, threads] += 1
            found.nodes += result.nodes
            if line.score != truth.lines[0].score or not line.exact:
                found.wrong += 1
                found.failures.append(f"{where}: {line.score:+}, not {truth.lines[0].score:+}")
            if dice.random() < _LOOKED_UP:
                entries, wrong = _check_tables(searcher, judge, problem, dice)
                found.entries += entries
                found.wrong_entries += wrong
                if wrong:
                    found.failures.append(f"{where}: {wrong} entries")
            if dice.random() < _FULL_WIDTH:
                found.full_width += 1
                wrong_board = _check_full_width(searcher, alone, dice)
                if wrong_board:
                    found.wrong_full_width += 1
                    found.failures.append(f"{wrong_board} {threads} threads, table of 2^{bits}: full width")
        found.seconds = time.perf_counter() - begun
        if progress is not None:
            progress(found)
    return found


def _stop_a_search(searcher: Searcher, board: tuple[int, int], truth: Result, dice: random.Random) -> bool:
    """Stop a search somewhere, by a node limit or by another thread; whether it was stopped before its end."""
    share = dice.random()
    if dice.random() < 0.5:
        limits = _TO_THE_END._replace(nodes=1 + int(share * truth.nodes))
        return not searcher.search(*board, limits).complete
    control = Control()
    timer = threading.Timer(share * truth.time_ms / 1e3, control.stop)
    timer.start()
    complete = searcher.search(*board, _TO_THE_END, control=control).complete
    timer.cancel()
    timer.join()
    return not complete


def _check_full_width(searcher: Searcher, alone: Searcher, dice: random.Random) -> str:
    """The board of a random position to which both give different scores at so many plies, without ProbCut; else
    nothing.

    A position has the same number of plies left wherever a search meets it, so that the score is one number. With
    deeper results in the table it is not: both tables are cleared first.
    """
    problem = _drawn(dice.randint(22, 36), dice)
    searcher.clear()
    alone.clear()
    board = problem.position[:2]
    scores = [each.search(*board, _FULL_WIDTH_LIMITS).lines[0].score for each in (searcher, alone)]
    return "" if scores[0] == scores[1] else board_text(problem.position)


def _drawn(empties: int, dice: random.Random) -> Problem:
    [board] = random_boards(1, empties, dice.getrandbits(30))
    return Problem(Position(*board, True), {})


def _check_tables(searcher: Searcher, judge: Searcher, problem: Problem, dice: random.Random) -> tuple[int, int]:
    """The number of exact entries for a position and those after it, and of wrong ones among them: in the table shared
    and in that of one thread, or, half the times, the former alone, of which more positions are looked up then.
    """
    empties = problem.position.empties
    fewest = min(empties, dice.choice((LOCAL_TABLE_EMPTIES + 1, LOCAL_TABLE_EMPTIES - 3)))
    plies = max(1, empties - fewest)
    share = min(256, int(256 * _POSITIONS ** (1 / plies) / _BRANCHING))
    thread = dice.randrange(searcher.threads)
    _, entries, wrong = check_entries(searcher, judge, *problem.position[:2], thread=thread, fewest=fewest, share=share)
    return entries, wrong


def main(arguments: list[str]) -> int:
    """Print what was compared; the exit status is 1 where something was wrong."""
    parser = Parser("lab stress", description="Exact solves by many threads, compared with one thread's.")
    parser.add_argument("number", type=int, help="solves")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the positions (1)")
    named = parser.parse_args(arguments)
    line = ProgressLine()

    def progress(so_far: Stress) -> None:
        line.show(f"{so_far.solved} of {named.number} solves, {so_far.wrong} wrong scores")

    result = stress(Weights.load(), named.number, named.seed, progress)
    line.clear()
    sys.stdout.write(
        f"{result.seconds:.0f} s, {result.nodes} nodes\n"
        f"{result.wrong} of {result.solved} scores WRONG, {result.stopped} stopped before\n"
        f"{result.wrong_entries} of {result.entries} entries WRONG\n"
        f"{result.wrong_full_width} of {result.full_width} full-width scores WRONG\n"
    )
    for empties in sorted({empties for empties, _ in result.counts}):
        by = ", ".join(f"{result.counts[empties, threads]} by {threads}" for threads in THREADS)
        sys.stdout.write(f"{empties} empties: {by}\n")
    sys.stdout.writelines(f"{failure}\n" for failure in result.failures)
    return int(bool(result.failures))
