"""Stage `match`: two weights files against each other, in pairs of games.

Every opening (random moves from the start, seeded) is played twice with colours exchanged. The mean score of a pair is
one observation, from which the standard error is computed. Games are decided by an exact search near their end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from statistics import mean
from typing import NamedTuple

import numpy as np

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Control, Searcher
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.spelling import plural

from .labelling import boards
from .store import StageProgress, TrainingError, write_line

HASH_BITS = 20
"""Logarithm (base 2) of the number of entries of each side's table: a search of 0.1 s visits three million nodes."""

DECIDED_AT = 12
"""Number of empty squares at which a game is decided by an exact search."""

CLOSE_TO = 10.0
"""Most discs by which an opening may differ from 0 in the mean of both sides' evaluations."""

BALANCED_BY = Limits(11, Selectivity(73))
"""Limits of the searches that choose balanced openings; each is repeated one ply shallower, because odd and even depths
err in opposite directions.
"""


_FRUITLESS = 100
"""Attempts without a new position, of 256 openings each, after which there seem to be no more."""


class PairsPlan(NamedTuple):
    """A match between two sets of weights: the number of games, their openings, the searches."""

    pairs: int
    """Number of pairs of games, each from one opening."""
    limits: Limits
    """Limits of the search for a move."""
    plies: int = 8
    """Number of random moves that make an opening."""
    seed: int = 1
    workers: int = 1
    """Number of pairs played at once; for equal times each needs a core."""
    balanced: float | None = None
    """Most discs by which an opening may differ from 0 in searches (`BALANCED_BY`); None for no searches."""


class PairsOutcome(NamedTuple):
    """The result of a match for the first weights. The standard errors are NaN for fewer than two pairs."""

    pairs: int
    wins: int
    draws: int
    losses: int
    discs: float
    """Mean score of a game, in discs."""
    discs_error: float
    """Standard error of `discs`."""
    share: float
    """Won games plus half the drawn games, as a share of all games."""
    share_error: float


def _game(player: int, opponent: int, sides: tuple[Searcher, Searcher], limits: Limits, control: Control) -> int:
    """Play a game from a position in which sides[0] is to move and return its score for sides[0], in discs. At
    `DECIDED_AT` empties an exact search decides it.
    """
    mover = 0
    while not rules.is_over(player, opponent):
        if rules.must_pass(player, opponent):
            player, opponent, mover = opponent, player, 1 - mover
            continue
        empties = rules.empties(player, opponent)
        decided = empties <= DECIDED_AT
        line = sides[mover].search(player, opponent, Limits(empties) if decided else limits, control=control).lines[0]
        if decided:
            return line.score if mover == 0 else -line.score
        player, opponent = rules.play(player, opponent, line.move)
        mover = 1 - mover
    score = rules.final_score(player, opponent)
    return score if mover == 0 else -score


def _searched(judge: Searcher, player: int, opponent: int) -> float:
    """Return the mean of the scores of an opening by the searches of `BALANCED_BY`, in discs for the side to move."""
    depth = BALANCED_BY.depth
    return mean(
        judge.search(player, opponent, BALANCED_BY._replace(depth=plies)).lines[0].score for plies in (depth, depth - 1)
    )


def openings(
    count: int, plies: int, seed: int, judges: tuple[Searcher, Searcher], balanced: float | None = None
) -> list[tuple[int, int]]:
    """Return ``count`` distinct canonical positions (mover, opponent) after ``plies`` random moves, games not over,
    whose mean evaluation by both judges is within `CLOSE_TO` discs of 0.

    With ``balanced`` their mean score by both judges' searches (`BALANCED_BY`) must also be within that many discs of
    0. Raises `TrainingError` if there seem to be no more than it has found.
    """
    found: list[tuple[int, int]] = []
    known: set[tuple[int, int]] = set()
    attempt = fruitless = 0
    while len(found) < count:
        if fruitless == _FRUITLESS:
            raise TrainingError(
                f"{plural(len(found), 'opening')} of {plies} random moves for {count} pairs: expected fewer pairs, or "
                "other openings"
            )
        before = len(known)
        players = np.full(256, boards.START_PLAYER, np.uint64)
        opponents = np.full(256, boards.START_OPPONENT, np.uint64)
        alive = np.empty(256, np.bool_)
        boards.wander(players, opponents, np.full(256, plies, np.uint8), (seed << 20) + attempt, alive)
        attempt += 1
        boards.canonize(players, opponents)
        for own, other, usable in zip(players.tolist(), opponents.tolist(), alive.tolist(), strict=True):
            judged = mean(judge.evaluate(own, other) for judge in judges)
            if not usable or (own, other) in known or abs(judged) > CLOSE_TO or len(found) == count:
                continue
            known.add((own, other))
            if balanced is None or abs(mean(_searched(judge, own, other) for judge in judges)) <= balanced:
                found.append((own, other))
        fruitless = fruitless + 1 if len(known) == before else 0
    return found


def outcome(pairs: list[tuple[int, int]]) -> PairsOutcome:
    """Return the outcome of pairs of games; each pair is two scores in discs for the first weights."""
    scores = np.array(pairs, np.float64).reshape(-1, 2)
    shares = np.where(scores > 0, 1.0, np.where(scores < 0, 0.0, 0.5))
    root = max(1.0, len(scores)) ** 0.5
    return PairsOutcome(
        len(scores),
        int((scores > 0).sum()),
        int((scores == 0).sum()),
        int((scores < 0).sum()),
        float(scores.mean()),
        float(scores.mean(axis=1).std(ddof=1) / root) if len(scores) > 1 else float("nan"),
        float(shares.mean()),
        float(shares.mean(axis=1).std(ddof=1) / root) if len(scores) > 1 else float("nan"),
    )


def compete(first: Path, second: Path, plan: PairsPlan) -> PairsOutcome:
    """Play the games of ``plan`` between two weights files and return the outcome, with progress on stderr."""
    progress = StageProgress("match")
    loaded = Weights.load(first), Weights.load(second)
    control = Control()
    teams: SimpleQueue[tuple[Searcher, Searcher]] = SimpleQueue()
    for _ in range(plan.workers):
        teams.put((Searcher(hash_bits=HASH_BITS, weights=loaded[0]), Searcher(hash_bits=HASH_BITS, weights=loaded[1])))
    judges = teams.get()
    starts = openings(plan.pairs, plan.plies, plan.seed, judges, plan.balanced)
    teams.put(judges)

    def play_pair(start: tuple[int, int]) -> tuple[int, int]:
        team = teams.get()
        try:
            for searcher in team:
                searcher.clear()
            ahead = _game(*start, team, plan.limits, control)
            for searcher in team:
                searcher.clear()
            return ahead, -_game(*start, (team[1], team[0]), plan.limits, control)
        finally:
            teams.put(team)

    played: list[tuple[int, int]] = []
    with ThreadPoolExecutor(plan.workers) as pool:
        try:
            for pair in pool.map(play_pair, starts):
                played.append(pair)
                now = outcome(played)
                progress.now_and_then(f"{now.pairs} pairs: {100 * now.share:.1f} %, {now.discs:+.2f} discs")
        finally:
            # An interrupt need not wait for the games in progress.
            control.stop()
    return outcome(played)


def run(first: Path, second: Path, plan: PairsPlan) -> None:
    """Play the games of ``plan`` between two weights files and print the outcome."""
    result = compete(first, second, plan)
    how = f"{plan.limits.time_ms} ms a move" if plan.limits.time_ms else f"depth {plan.limits.depth}"
    if plan.balanced is not None:
        how += f", balanced within {plan.balanced:g}"
    write_line(
        f"{first} against {second}, {how}, {result.pairs} pairs from {plan.plies}-ply openings (seed {plan.seed}): "
        f"{100 * result.share:.1f}{_error(f'{100 * result.share_error:.1f}')} % "
        f"(+{result.wins} ={result.draws} -{result.losses}), "
        f"{result.discs:+.2f}{_error(f'{result.discs_error:.2f}')} discs a game"
    )


def _error(number: str) -> str:
    """Return the text of a standard error after its mean: one pair has none."""
    return f" +- {number}" if number != "nan" else ""
