"""Stage `validate`: the errors of the evaluation against exact scores.

The static evaluation is compared with the exact scores in the truth files, of positions of games and of perturbed ones.
For each kind of position and number of empties a table has the root mean square, mean absolute and mean error in discs
(evaluation minus exact score, both for the side to move). Openings have no exact scores: the main lines, all near 0,
are searched at level 16. Positions of held-out games at 50 empties are searched at a low and a high level; the
difference of the scores shows what the low level does not see.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import read
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Searcher
from desdaemon.engine.training.labelling.positions import HUMAN, Truth, read_truth
from desdaemon.protocol.othello.notation import START, parse_moves, play_moves
from desdaemon.protocol.othello.scores import MoverScore

from .fitting import curves, features, ridge
from .labelling import boards
from .store import Arrays, StageProgress, load, write_line

LINES = ("", "f5", "f5d6", "f5f6", "f5f4", "f5d6c3d3c4", "f5d6c4d3c3", "f5f6e6f4")
"""Openings whose static evaluation is reported: near 0 with best play, except f5f4."""

MAIN_LINES = ("", "f5", "f5d6", "f5d6c3", "f5d6c3d3", "f5d6c3d3c4", "f5f6e6f4", "f5d6c5f4e3", "f5d6c4d3c3")
"""Openings that are searched, all near 0."""

LEVEL = 16
"""Level of the searches of `MAIN_LINES`."""

STATIC = Limits(0)
"""Limits of a static evaluation."""

DEEP_PLY = 10
"""Ply of the positions that are searched at a low and a high level."""


Static = Callable[[boards.Boards, boards.Boards, int], NDArray[np.float32]]
"""Returns the static scores of positions of one ply, given boards of the sides to move, boards of the others, and the
ply: float32, in discs for the side to move.
"""


def static_of(weights_path: Path) -> Static:
    """Return a function that gives the static scores of a weights file of either kind, as the engine computes them. One
    thread at a time may call the function.
    """
    searcher = Searcher(hash_bits=10, weights=Weights.load(weights_path))

    def scores(players: boards.Boards, opponents: boards.Boards, _ply: int) -> NDArray[np.float32]:
        own, other = np.ascontiguousarray(players), np.ascontiguousarray(opponents)
        sums = np.empty(len(players), np.int64)
        searcher.score_many(own.ctypes.data, other.ctypes.data, sums.ctypes.data, len(sums), STATIC)
        return (sums / 128).astype(np.float32)

    return scores


def static_of_sums(weights: features.Weights, curve: float | None) -> Static:
    """Return a function that gives the static scores of linear weights, computed in floating point; ``curve`` is in
    discs, None for none.
    """
    return lambda players, opponents, ply: curves.scores(
        features.predict(features.index(players, opponents), weights[ply]), curve
    )


def table(static: Static, truth: list[Truth]) -> list[dict[str, Any]]:
    """Return a dict for each item of ``truth``: positions (the kind), empties, count, and rmse, mae and bias in discs
    (static minus exact score).
    """
    rows = []
    for part in truth:
        scores = static(part.players, part.opponents, 60 - part.empties)
        rmse, mae, bias = ridge.errors_of(scores, part.scores)
        rows.append(
            {
                "positions": part.kind,
                "empties": part.empties,
                "count": len(part.scores),
                "rmse": round(rmse, 3),
                "mae": round(mae, 3),
                "bias": round(bias, 3),
            }
        )
    return rows


def say(rows: list[dict[str, Any]], progress: StageProgress) -> None:
    """Write the rows of `table` to stderr."""
    for row in rows:
        progress.say(
            f"{row['positions']} {row['empties']} empties: RMSE {row['rmse']}, MAE {row['mae']}, bias {row['bias']:+}"
        )


def openings(static: Static) -> dict[str, float]:
    """Return the static evaluations of `LINES` by their moves ("start" for none), in discs for the side to move."""
    scores = {}
    for line in LINES:
        player, opponent = (np.array([discs], np.uint64) for discs in _after(line))
        scores[line or "start"] = round(float(static(player, opponent, len(line) // 2)[0]), 2)
    return scores


def _after(line: str) -> tuple[int, int]:
    return play_moves(START, parse_moves(line)).last[:2]


def searched(weights_path: Path, level: int = LEVEL) -> dict[str, MoverScore]:
    """Return the scores of `MAIN_LINES` by searches at ``level``, discs for the mover, by moves ("start": none)."""
    searcher = Searcher(hash_bits=20, weights=Weights.load(weights_path))
    scores = {}
    for line in MAIN_LINES:
        searcher.clear()
        limits = level_limits(level, 60 - len(line) // 2)
        scores[line or "start"] = searcher.search(*_after(line), limits).lines[0].score
    return scores


def low_against_high(weights_path: Path, rows: Arrays, *, count: int, low: int, high: int) -> Any:
    """Return scores at level ``low`` minus those at level ``high`` of up to ``count`` positions, an array in discs.

    The positions are those of held-out games at ply `DEEP_PLY` in ``rows``, arrays of stage `positions`; both levels
    use the same weights.
    """
    usable = (rows["plies"] == DEEP_PLY) & (rows["kinds"] == HUMAN) & rows["held"]
    chosen = np.random.default_rng([1, 5]).permutation(np.flatnonzero(usable))[:count]
    searcher = Searcher(hash_bits=20, weights=Weights.load(weights_path))
    both_scores = []
    for row in chosen.tolist():
        scores = []
        for level in (low, high):
            searcher.clear()
            limits = level_limits(level, 60 - DEEP_PLY)
            board = int(rows["players"][row]), int(rows["opponents"][row])
            scores.append(searcher.search(*board, limits).lines[0].score)
        both_scores.append(scores[0] - scores[1])
    return np.array(both_scores, np.float64)


def run(weights_path: Path, truth_files: list[Path]) -> None:
    """Print the table of errors of a weights file, and its static evaluation of the openings."""
    record, static = read(weights_path)[1], static_of(weights_path)
    write_line(f"{weights_path}: {record.get('name', record.get('format', 'unnamed'))}")
    write_line("positions  empties  count    RMSE     MAE    bias")
    for row in table(static, read_truth(truth_files)):
        write_line(
            f"{row['positions']:9}  {row['empties']:7}  {row['count']:5}  "
            f"{row['rmse']:6.2f}  {row['mae']:6.2f}  {row['bias']:+6.2f}"
        )
    write_line("static evaluation of openings: " + ", ".join(f"{k} {v:+.1f}" for k, v in openings(static).items()))


def run_searches(weights_path: Path, positions: Path | None, *, count: int, high: int) -> None:
    """Print the openings' scores at `LEVEL` and, with a file of positions, level 12 against level ``high``."""
    write_line(f"openings at level {LEVEL}: " + ", ".join(f"{k} {v:+d}" for k, v in searched(weights_path).items()))
    if positions:
        errors = low_against_high(weights_path, load(positions)[0], count=count, low=12, high=high)
        write_line(
            f"level 12 against level {high}, {len(errors)} held-out positions at {60 - DEEP_PLY} empties: "
            f"MAE {np.abs(errors).mean():.2f}, bias {errors.mean():+.2f}"
        )
