"""`python tests/lab selectivity moves`, ``scores`` or ``percentages``: the errors of selective searches.

``moves``: what the moves of selective and of shallower searches lose, judged by exact scores (two hours). ``scores``:
errors of scores and moves against the exact ones of fforum 40 to 79, which list every move's. ``percentages``: how
often a search at each confidence level scores within a disc of the full search (minutes).
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from desdaemon.engine.bench.problems import read_problems
from desdaemon.engine.compiler import library
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.rules import final_score
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.system.terminal import ProgressLine

from .positions import play_positions, simple_positions

# Moves

MOVES_EMPTIES = 22
"""Of the positions: so far from the end that 16 plies do not reach it, so near that an exact score takes a second."""

MOVES_SEARCHES = tuple(
    Limits(depth, Selectivity(selectivity))
    for depth, selectivity in ((16, 73), (16, 87), (16, 95), (16, 99), (14, 73), (14, 95), (12, 73), (18, 73))
)
"""What is compared; the first, which is what level 16 does far from the end, with each of the others."""


@dataclass
class MoveLosses:
    """The losses, in discs, of the moves that a search within ``limits`` chooses."""

    limits: Limits
    losses: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """Of the positions where the first search has another move: what that loses."""
    other: list[int] = field(default_factory=list)
    """Of the same positions: what this one's loses."""
    nodes: int = 0
    seconds: float = 0.0
    """Of processor time."""


def mean(values: Sequence[int]) -> float:
    """Their mean; 0 of none."""
    return sum(values) / len(values) if values else 0.0


def standard_error(values: Sequence[int]) -> float:
    """The standard error of `mean`; 0 of none."""
    if not values:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values)) / len(values)


def measure_moves(weights: Weights, number: int, seed: int, empties: int = MOVES_EMPTIES) -> Iterator[list[MoveLosses]]:
    """Search ``number`` positions by each of `MOVES_SEARCHES`, from an empty table each, and score the moves exactly.

    Yields the same losses after each position, with that position's added. One thread.
    """
    engine = library.load(SPEC)
    searcher, judge = Searcher(hash_bits=20, weights=weights), Searcher(hash_bits=22, weights=weights)
    found = [MoveLosses(limits) for limits in MOVES_SEARCHES]
    for player, opponent in play_positions(searcher, number, empties, seed):
        moves = []
        for each in found:
            searcher.clear()
            begun = time.process_time()
            result = searcher.search(player, opponent, each.limits)
            each.seconds += time.process_time() - begun
            each.nodes += result.nodes
            moves.append(result.lines[0].move)
        best = judge.search(player, opponent, Limits(empties)).lines[0]
        loss = {best.move: 0}
        for move in moves:
            if move not in loss:
                flips = engine.board_flip(move, player, opponent)
                loss[move] = best.score - _score_after(judge, opponent ^ flips, player | flips | 1 << move)
        for each, move in zip(found, moves, strict=True):
            each.losses.append(loss[move])
            if move != moves[0]:
                each.first.append(loss[moves[0]])
                each.other.append(loss[move])
        yield found


def _score_after(judge: Searcher, player: int, opponent: int) -> int:
    """The exact score of the position that ``player`` is left with, from the other side."""
    lines = judge.search(player, opponent, Limits(64 - (player | opponent).bit_count())).lines
    return -(lines[0].score if lines else final_score(player, opponent))


# Scores

SCORES_SEARCHES = tuple(
    Limits(depth, Selectivity(selectivity)) for depth, selectivity in ((15, 73), (18, 73), (20, 73))
)
"""What is measured; a search whose plies reach the end is one to the end at that selectivity."""


@dataclass
class Errors:
    """The errors of searches within ``limits``, in discs, and what they took."""

    limits: Limits
    scores: list[int] = field(default_factory=list)
    """The sizes of the differences between the searches' scores and the best listed ones."""
    losses: list[int] = field(default_factory=list)
    """What the moves chosen lose against the best, of the problems that list them."""
    nodes: int = 0
    seconds: float = 0.0
    """Of processor time."""


def measure_scores(
    weights: Weights, problems: Sequence[Problem], limits: Limits, hash_bits: int = 20
) -> Iterator[Errors]:
    """Search each problem that lists a score from an empty table.

    Yields the same errors after each problem, with that problem's added. One thread.
    """
    searcher = Searcher(hash_bits=hash_bits, weights=weights)
    found = Errors(limits)
    for problem in problems:
        if problem.best is None:
            continue
        searcher.clear()
        player, opponent, _ = problem.position
        begun = time.process_time()
        result = searcher.search(player, opponent, limits)
        found.seconds += time.process_time() - begun
        found.nodes += result.nodes
        line = result.lines[0]
        found.scores.append(abs(line.score - problem.best))
        if line.move in problem.scores:
            found.losses.append(problem.best - problem.scores[line.move])
        yield found


# Percentages

EMPTIES = (14, 15, 16, 17, 18)
"""Numbers of empty squares of the positions that are searched to the end."""

EARLY = (28, 34, 40, 46)
"""Numbers of empty squares of the positions that are searched to `DEPTH` plies."""

DEPTH = 10
_CLOSE_TO = 30


class SelectivityAccuracy(NamedTuple):
    """Of ``positions`` searched at ``selectivity``, how many scored within one disc of the full search, and the cost.

    ``seconds`` are of processor time.
    """

    selectivity: Selectivity
    positions: int
    right: int
    nodes: int
    seconds: float


def measure_late(weights: Weights, number: int = 400, seed: int = 1) -> list[SelectivityAccuracy]:
    """Search ``number`` positions of each of `EMPTIES` to the end at every selectivity, each from an empty table."""
    searcher = Searcher(hash_bits=18, weights=weights)
    found = [
        (*position, empties) for empties in EMPTIES for position in play_positions(searcher, number, empties, seed)
    ]
    return _shares(searcher, found)


def measure_early(weights: Weights, number: int = 600, seed: int = 1) -> list[SelectivityAccuracy]:
    """As `measure_late`, with `DEPTH` plies and `EARLY` empties, where the evaluation lies within 30 discs of 0.

    The positions are of simple play: but for that condition, the same for all weights.
    """
    searcher = Searcher(hash_bits=18, weights=weights)
    found = [
        (player, opponent, DEPTH)
        for empties in EARLY
        for player, opponent in simple_positions(number, empties, seed)
        if abs(searcher.evaluate(player, opponent)) <= _CLOSE_TO
    ]
    return _shares(searcher, found)


def _shares(searcher: Searcher, positions: list[tuple[int, int, int]]) -> list[SelectivityAccuracy]:
    right = dict.fromkeys(SELECTIVITIES, 0)
    nodes = dict.fromkeys(SELECTIVITIES, 0)
    seconds = dict.fromkeys(SELECTIVITIES, 0.0)
    for player, opponent, depth in positions:
        exact = None
        for selectivity in reversed(SELECTIVITIES):
            searcher.clear()
            begun = time.process_time()
            result = searcher.search(player, opponent, Limits(depth, selectivity))
            seconds[selectivity] += time.process_time() - begun
            score = result.lines[0].score
            exact = score if exact is None else exact
            right[selectivity] += abs(score - exact) <= 1
            nodes[selectivity] += result.nodes
    total = len(positions)
    return [SelectivityAccuracy(each, total, right[each], nodes[each], seconds[each]) for each in SELECTIVITIES]


# The front end


def main(arguments: list[str]) -> int:
    """Print a line for each kind of search; Ctrl-C ends ``moves`` with what it has measured."""
    parser = Parser("lab selectivity", description=__doc__)
    parser.add_argument("what", choices=("moves", "scores", "percentages"))
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    parser.add_argument("--problems", type=Path, metavar="FOLDER", help="scores: folder of OBF files")
    parser.add_argument("--positions", type=int, default=5000, metavar="N", help="moves: positions (5000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="moves: seed of the positions (1)")
    named = parser.parse_args(arguments)
    weights = Weights.load(named.eval_file)
    if named.what == "moves":
        rows = _moves_rows(weights, named.positions, named.seed)
    elif named.what == "percentages":
        rows = _percentages_rows(weights)
    elif named.problems is None:
        parser.error("scores: expected --problems with fforum-40-59.obf and fforum-60-79.obf")
    else:
        files = ("fforum-40-59.obf", "fforum-60-79.obf")
        rows = _scores_rows(weights, [problem for file in files for problem in read_problems(named.problems / file)])
    for row in rows:
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    return 0


def _moves_rows(weights: Weights, number: int, seed: int) -> Iterator[str]:
    line = ProgressLine()
    measured: list[MoveLosses] = []
    with contextlib.suppress(KeyboardInterrupt):
        for measured in measure_moves(weights, number, seed):
            means = ", ".join(f"{mean(loss.losses):.3f}" for loss in measured)
            line.show(f"{len(measured[0].losses)} of {number} positions; mean losses {means}")
    line.clear()
    for loss in measured:
        first, other = mean(loss.first), mean(loss.other)
        error = standard_error([a - b for a, b in zip(loss.first, loss.other, strict=True)])
        yield (
            f"{loss.limits.depth} plies at {loss.limits.selectivity} %: {loss.seconds:.1f} s, {loss.nodes} nodes, "
            f"{len(loss.losses)} positions, best move {100 * mean([lost == 0 for lost in loss.losses]):.1f} %, "
            f"loss {mean(loss.losses):.3f} +- {standard_error(loss.losses):.3f}, "
            f"where {len(loss.other)} moves differ {other:.2f}, the first's {first:.2f} "
            f"(difference {first - other:+.2f} +- {error:.2f})"
        )


def _scores_rows(weights: Weights, problems: Sequence[Problem]) -> Iterator[str]:
    for limits in SCORES_SEARCHES:
        *_, errors = measure_scores(weights, problems, limits)
        yield (
            f"{limits.depth} plies at {limits.selectivity} %: {errors.seconds:.1f} s, {errors.nodes} nodes, "
            f"{len(errors.scores)} positions, "
            f"mean error {mean(errors.scores):.2f} +- {standard_error(errors.scores):.2f}, "
            f"best move {100 * mean([lost == 0 for lost in errors.losses]):.1f} %, "
            f"loss {mean(errors.losses):.2f} +- {standard_error(errors.losses):.2f}"
        )


def _percentages_rows(weights: Weights) -> Iterator[str]:
    for title, shares in (("to the end", measure_late(weights)), (f"{DEPTH} plies", measure_early(weights))):
        for share in shares:
            yield (
                f"{share.selectivity} % {title}, {share.positions} positions: "
                f"{100 * share.right / share.positions:.2f} % right, {share.seconds:.1f} s, {share.nodes} nodes"
            )
