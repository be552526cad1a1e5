"""`python tests/lab moves`: a frozen test of moves, positions whose every move is scored exactly.

`positions` makes them, `solve` scores their moves and goes on where it was ended, `judge` has the engine search them,
`compare` sets two results beside each other, position by position. Files of positions are OBF files, such as those of
fforum 40 to 79.

    python tests/lab moves positions 22.obf --empties 22 --number 2000 --seed 22
    python tests/lab moves solve 22.obf truth_22.obf
    python tests/lab moves judge truth_22.obf a.json --depth 15
    python tests/lab moves compare a.json b.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.bench.problems import read_problems
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.othello.rules import final_score, is_over, must_pass, play, squares
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import MAX_LEVEL, SELECTIVITIES, Selectivity
from desdaemon.protocol.system import files
from desdaemon.protocol.system.terminal import ProgressLine

from .positions import plausible_positions

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_BOARD = 67
"""Characters of an OBF line before the scores: the squares, the side to move and a semicolon."""


class Search(Protocol):
    """What a judge asks of a search: the part of `Searcher` that it uses."""

    def clear(self) -> None: ...
    def evaluate(self, player: int, opponent: int) -> float: ...
    def search(self, player: int, opponent: int, limits: Limits) -> Result: ...


def in_order(
    work: Callable[[Searcher, Item], Answer], items: Iterable[Item], searchers: Sequence[Searcher]
) -> Iterator[Answer]:
    """Yield ``work(searcher, item)`` of each item, in their order; a thread for each searcher."""
    idle: SimpleQueue[Searcher] = SimpleQueue()
    for searcher in searchers:
        idle.put(searcher)

    def answer(item: Item) -> Answer:
        searcher = idle.get()
        try:
            return work(searcher, item)
        finally:
            idle.put(searcher)

    with ThreadPoolExecutor(len(searchers)) as pool:
        yield from pool.map(answer, items)


# Exact scores


def score_of(search: Search, player: int, opponent: int, limits: Limits) -> float:
    """Return a position's score, in discs for ``player``, who is to move or must pass; at depth 0 the evaluation, not
    rounded.
    """
    if is_over(player, opponent):
        return final_score(player, opponent)
    if must_pass(player, opponent):
        return -score_of(search, opponent, player, limits)
    if limits.depth == 0:
        return search.evaluate(player, opponent)
    return search.search(player, opponent, limits).lines[0].score


def scores_after(search: Search, problem: Problem, limits: Limits) -> list[float]:
    """Return the scores of all moves, by squares, by a search of the position after each, from an empty table."""
    search.clear()
    player, opponent, _ = problem.position
    return [-score_of(search, *play(player, opponent, move), limits) for move in squares(problem.position.moves)]


def solved(search: Search, problem: Problem) -> Problem:
    """Return the problem with the exact scores of all its moves."""
    scores = map(MoverScore, map(int, scores_after(search, problem, Limits(64))))
    return Problem(problem.position, dict(zip(squares(problem.position.moves), scores, strict=True)))


def solve(problems: Sequence[Problem], truth: Path, searchers: Sequence[Searcher]) -> Iterator[int]:
    """Append each problem, solved, to the file ``truth``, unless it is there; yields the number of those that are.

    A line is on the disk before the next one is written, and one that is cut off is written again. One process at a
    time may do so. Raises BadInput for a file of other positions.
    """
    content = truth.read_bytes() if truth.exists() else b""
    *lines, cut_off = content.decode("ascii", "replace").split("\n")
    boards = [problem_text(Problem(problem.position, {})) for problem in problems]
    pairs = zip([*lines, cut_off], [*boards, ""], strict=False)
    if len(lines) > len(boards) or not all(board.startswith(line[:_BOARD]) for line, board in pairs):
        raise BadInput(f"{truth} holds other positions: expected those of the problems, in their order")
    with truth.open("ab") as stream:
        stream.truncate(len(content) - len(cut_off))
        yield len(lines)
        for number, problem in enumerate(in_order(solved, problems[len(lines) :], searchers), len(lines) + 1):
            stream.write(f"{problem_text(problem)}\n".encode())
            stream.flush()
            os.fsync(stream.fileno())
            yield number


# Searches


class Judged(NamedTuple):
    """What a search made of a position. The lists have an entry for each move, by squares; scores are discs for the
    mover.
    """

    board: str
    exact: list[int]
    chosen: int
    """The index of the move that the search chose."""
    score: int
    nodes: int
    static: list[float]
    """Scores of the moves by the evaluation after each."""
    searched: list[float]
    """Scores of the moves by a search of one ply less after each; empty if there was none."""


def judged(search: Search, problem: Problem, limits: Limits, *, siblings: bool) -> Judged:
    """Search a problem with a score for each of its moves; with ``siblings`` the positions after them, too."""
    moves = squares(problem.position.moves)
    search.clear()
    result = search.search(problem.position.player, problem.position.opponent, limits)
    line = result.lines[0]
    return Judged(
        board_text(problem.position),
        [problem.scores[move] for move in moves],
        moves.index(line.move),
        line.score,
        result.nodes,
        scores_after(search, problem, Limits(0)),
        scores_after(search, problem, limits._replace(depth=limits.depth - 1)) if siblings else [],
    )


# Figures


class Estimate(NamedTuple):
    """An estimated value, and for each position by how much it moves the value: their squares' sum is the variance."""

    value: float
    pulls: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt((self.pulls**2).sum()))

    def __str__(self) -> str:
        return f"{self.value:9.3f} +- {self.error:.3f}"

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference to an estimate from the same positions."""
        return Estimate(self.value - other.value, self.pulls - other.pulls)


def ratio(parts: Iterable[float], wholes: Iterable[float] | None = None) -> Estimate:
    """Return the sum of ``parts`` over that of ``wholes``, one of each for a position; without wholes the mean."""
    above = np.fromiter(parts, float)
    below = np.ones(len(above)) if wholes is None else np.fromiter(wholes, float)
    total = max(below.sum(), 1e-9)
    value = float(above.sum() / total)
    return Estimate(value, (above - value * below) / total)


def _pairs(rows: Sequence[Judged], scores: Callable[[Judged], list[float]]) -> Estimate:
    """Return the share, in percent, of pairs of moves with different exact scores that ``scores`` puts into that order;
    equal scores count half.
    """
    right, number = [], []
    for row in rows:
        exact, found = np.array(row.exact), np.array(scores(row))
        better = exact[:, None] > exact
        number.append(better.sum())
        right.append((50 + 50 * np.sign(found[:, None] - found))[better].sum())
    return ratio(right, number)


def figures(rows: Sequence[Judged]) -> dict[str, Estimate]:
    """Return the estimates of a search's quality by their names; errors and losses are in discs."""
    best = np.array([max(row.exact) for row in rows], float)
    score = np.array([row.score for row in rows], float)
    losses = [max(row.exact) - row.exact[row.chosen] for row in rows]
    offset, off = score - score.mean(), [np.subtract(row.static, row.exact) for row in rows]
    square = ratio([(each**2).sum() for each in off], map(len, off))
    rmse = square.value**0.5
    named = {
        "error of the score": ratio(abs(score - best)),
        "bias of the score": ratio(score - best),
        "best move, %": ratio(100.0 * (loss == 0) for loss in losses),
        "loss": ratio(losses),
        "slope, exact on found": ratio(offset * (best - best.mean()), offset**2),
        "pairs at one ply, %": _pairs(rows, lambda row: row.static),
        "RMSE at one ply": Estimate(rmse, square.pulls / max(2 * rmse, 1e-9)),
        "million nodes": ratio(row.nodes / 1e6 for row in rows),
    }
    if all(row.searched for row in rows):
        named["pairs searched, %"] = _pairs(rows, lambda row: row.searched)
    return named


def compared(ours: Sequence[Judged], theirs: Sequence[Judged]) -> Iterator[str]:
    """Yield a line for each figure of two searches and its difference, of the positions that both judged."""
    other = {row.board: row for row in theirs}
    pairs = [(row, other[row.board]) for row in ours if row.board in other]
    if not pairs:
        raise BadInput("the two results have no position in common")
    right = [[row.exact[row.chosen] == max(row.exact) for row in pair] for pair in pairs]
    yield (
        f"{len(pairs)} positions; best move found by the first alone: {right.count([True, False])}, "
        f"by the second alone: {right.count([False, True])}"
    )
    first, second = (figures(rows) for rows in zip(*pairs, strict=True))
    for name in first:
        if name in second:
            yield f"{name:22} {first[name]}  {second[name]}  difference {first[name].minus(second[name])}"


# The front end


def _read(path: Path) -> tuple[str, list[Judged]]:
    """Return what a file of results says of the search, and its rows. Raises OSError, and BadInput for another file."""
    try:
        content = json.loads(path.read_bytes())
        return str(content["search"]), [Judged(**row) for row in content["rows"]]
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{path} is no file of results: expected one that judge made") from None


def _make(options: argparse.Namespace) -> None:
    if options.file.exists():
        raise BadInput(f"{options.file} is there: remove it, or name another file")
    weights = Weights.load(options.eval_file)
    searcher = Searcher(hash_bits=16, weights=weights)
    line, text = ProgressLine(), f"% {options.empties} empties, seed {options.seed}, weights {weights.digest[:8]}\n"
    for number, board in enumerate(plausible_positions(searcher, options.number, options.empties, options.seed), 1):
        line.show(f"{number} of {options.number} positions")
        text += f"{problem_text(Problem(Position(*board, True), {}))}\n"
    line.clear()
    files.replace(options.file, text.encode())


def _solve(options: argparse.Namespace) -> None:
    problems = read_problems(options.file)
    searchers = [Searcher(hash_bits=23) for _ in range(options.workers)]
    for number in solve(problems, options.truth, searchers):
        sys.stderr.write(f"{number} of {len(problems)} positions\n")


def _judge(options: argparse.Namespace) -> None:
    every = read_problems(options.file)[: options.number]
    problems = [each for each in every if sorted(each.scores) == squares(each.position.moves)]
    if not problems:
        raise BadInput(f"{options.file} has no position with the scores of all its moves")
    weights, line = Weights.load(options.eval_file), ProgressLine()

    def work(searcher: Search, problem: Problem) -> Judged:
        level, limits = options.level, Limits(options.depth, Selectivity(options.selectivity))
        empties = 64 - (problem.position.player | problem.position.opponent).bit_count()
        limits = limits if level is None else level_limits(level, empties)
        return judged(searcher, problem, limits, siblings=options.siblings)

    rows: list[Judged] = []
    searchers = [Searcher(hash_bits=20, weights=weights) for _ in range(options.workers)]
    for row in in_order(work, problems, searchers):
        rows.append(row)
        line.show(f"{len(rows)} of {len(problems)} positions")
    line.clear()
    asked = f"{options.depth} plies at {options.selectivity} %" if options.level is None else f"level {options.level}"
    search = f"{asked}, weights {weights.digest[:8]}, {options.file.name}"
    content = {"search": search, "rows": [row._asdict() for row in rows]}
    files.replace(options.out, json.dumps(content).encode())
    sys.stdout.write(f"{search}: {len(rows)} positions, {len(every) - len(rows)} without the scores of all moves\n")
    for name, estimate in figures(rows).items():
        sys.stdout.write(f"{name:22} {estimate}\n")


def _compare(options: argparse.Namespace) -> None:
    (first, ours), (second, theirs) = _read(options.first), _read(options.second)
    sys.stdout.write(f"first: {first}\nsecond: {second}\n" + "".join(f"{row}\n" for row in compared(ours, theirs)))


def main(arguments: list[str]) -> int:
    """Make positions, solve or judge them, or compare results; returns the exit status."""
    parser = Parser(prog="python tests/lab moves", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    make = kinds.add_parser("positions", help="random starts and plausible moves, no position twice up to symmetry")
    make.set_defaults(run=_make)
    make.add_argument("file", type=Path)
    make.add_argument("--empties", type=whole(4, 48), required=True, metavar="N")
    make.add_argument("--number", type=whole(1, 10**6), required=True, metavar="N", help="of positions")
    make.add_argument("--seed", type=int, default=1, metavar="N")
    make.add_argument("--eval-file", help="weights other than the shipped ones")
    exact = kinds.add_parser("solve", help="score every move exactly; goes on where it was ended")
    exact.set_defaults(run=_solve)
    exact.add_argument("file", type=Path, help="positions")
    exact.add_argument("truth", type=Path, help="the file to write")
    judge = kinds.add_parser("judge", help="search the positions and print the errors")
    judge.set_defaults(run=_judge)
    judge.add_argument("file", type=Path, help="positions whose moves are scored")
    judge.add_argument("out", type=Path, help="the file of results to write")
    how = judge.add_mutually_exclusive_group(required=True)
    how.add_argument("--depth", type=whole(1, 60), default=1, metavar="N", help="plies")
    how.add_argument("--level", type=whole(1, MAX_LEVEL), metavar="N", help="instead of plies and selectivity")
    judge.add_argument("--selectivity", type=int, default=73, choices=SELECTIVITIES, help="percent (73)")
    judge.add_argument("--siblings", action="store_true", help="search the position after every move, too")
    judge.add_argument("--number", type=whole(1, 10**6), metavar="N", help="only so many, from the first")
    judge.add_argument("--eval-file", help="weights other than the shipped ones")
    for kind in (exact, judge):
        kind.add_argument("--workers", type=whole(1, 256), default=1, metavar="N", help="threads (1)")
    pair = kinds.add_parser("compare", help="two results, paired by position")
    pair.set_defaults(run=_compare)
    pair.add_argument("first", type=Path)
    pair.add_argument("second", type=Path)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (BadInput, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
