"""Stage `probcut`: how well shallow searches foretell deep ones, for the engine's ProbCut.

Held-out positions of every fourth ply are searched to all depths up to a greatest one, full width. For every pair
(deep, shallow) of one parity, and for the static evaluation, the root mean square difference in discs is what the
engine's `ErrorModel` has to give. Positions of 13 to 18 empties are searched to the end too, and to the depth of the
search that stands for that one: the mean difference is the model's bias by parity of the empties, and the error about
it one pair more. The model is linear but for two parameters: those are tried on a grid, the others solved. The file
written holds the model, the measured pairs, and the check: the share of differences that lie within the margin of
each selectivity level, which should be about that level's percentage.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.limits import Limits
from desdaemon.engine.probcut import ErrorModel, stand_in
from desdaemon.engine.search import Searcher
from desdaemon.engine.weights import Weights

from .store import Progress, TrainingError, load

OPEN = 40
"""Scores beyond this many discs say little about close games and are left out."""

CONFIDENCE = {73: 1.1, 87: 1.5, 95: 2.3, 98: 3.0, 99: 3.75}
"""Standard errors of the margin at each selectivity, in percent."""


FEWEST = 10
"""Pairs measured on fewer positions are left out of the fit."""

ENDS = range(13, 19)
"""Empties of the positions searched to the end."""


class Pair(NamedTuple):
    """One measured (empties, depth, shallow): root mean square and mean of deep less shallow, in discs.

    For a search to the end (depth = empties) the bias by parity is taken off the shallow search before the square.
    """

    empties: int
    depth: int
    shallow: int
    positions: int
    rms: float
    bias: float


def measure(
    players: NDArray[np.uint64], opponents: NDArray[np.uint64], depths: list[int], weights: Path, workers: int
) -> NDArray[np.float64]:
    """Scores (positions, depths) in discs; depth 0, which comes first, is the unrounded static evaluation."""
    loaded = Weights.load(weights)
    searchers: SimpleQueue[Searcher] = SimpleQueue()
    for _ in range(workers):
        searchers.put(Searcher(hash_bits=18, weights=loaded))
    found = np.empty((len(players), len(depths)))

    def work(begin: int) -> None:
        searcher = searchers.get()
        own, other = players[begin : begin + 16].copy(), opponents[begin : begin + 16].copy()
        scores = np.empty(len(own), np.int64)
        searcher.clear()
        # Shallow before deep: the table then never answers with more than was asked.
        for column, depth in enumerate(depths):
            searcher.score_many(own.ctypes.data, other.ctypes.data, scores.ctypes.data, len(own), Limits(depth))
            found[begin : begin + 16, column] = scores if depth else np.clip(scores / 128, -64, 64)
        searchers.put(searcher)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(0, len(players), 16)))
    return found


def pairs_of(scores: NDArray[np.float64], empties: int) -> list[Pair]:
    """All pairs of one number of empties."""
    found = []
    for depth in range(3, scores.shape[1]):
        for shallow in [0, *range(2 - depth % 2, depth - 1, 2)]:
            found.append(_pair(empties, depth, shallow, differences(scores[:, depth], scores[:, shallow])))
    return found


def differences(deep: NDArray[np.float64], flat: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deep less shallow scores, where both are of open games."""
    used = (np.abs(deep) <= OPEN) & (np.abs(flat) <= OPEN)
    return np.asarray(deep[used] - flat[used])


def _pair(empties: int, depth: int, shallow: int, difference: NDArray[np.float64], expected: float = 0.0) -> Pair:
    if not len(difference):
        return Pair(empties, depth, shallow, 0, float("nan"), float("nan"))
    rms = float(np.sqrt(((difference - expected) ** 2).mean()))
    return Pair(empties, depth, shallow, len(difference), round(rms, 3), round(float(difference.mean()), 3))


def ends(found: dict[int, NDArray[np.float64]]) -> tuple[dict[str, float], list[Pair]]:
    """From the differences (exact less stand-in, by empties) the model's `odd` and `even`, and a pair for each."""
    bias = {}
    for name, parity in (("odd", 1), ("even", 0)):
        same = np.concatenate([d for empties, d in found.items() if empties % 2 == parity] or [np.empty(0)])
        bias[name] = round(-float(same.mean()), 4) if len(same) >= FEWEST else 0.0
    pairs = [
        _pair(empties, empties, stand_in(empties, empties), d, -bias["odd" if empties % 2 else "even"])
        for empties, d in found.items()
    ]
    return bias, pairs


def fit(pairs: list[Pair], odd: float = 0.0, even: float = 0.0) -> tuple[ErrorModel, float]:
    """The model nearest to the measured errors, relative to their size, and its relative error."""
    rows = np.array([(p.empties, p.depth, p.shallow, p.rms) for p in pairs if p.positions >= FEWEST and p.rms > 0])
    if not len(rows):
        raise TrainingError(f"no pair of depths was measured on {FEWEST} positions: more held-out ones are needed")
    empties, depth, shallow, rms = rows.T
    best: tuple[float, ErrorModel] | None = None
    for decay in np.arange(0.05, 2.01, 0.05):
        for turn in range(24, 57, 2):
            columns = np.stack(
                [np.ones(len(rows)), np.exp(-decay * shallow), depth - shallow, np.maximum(0.0, turn - empties)],
                axis=1,
            )
            solved, *_ = np.linalg.lstsq(columns / rms[:, None], np.ones(len(rows)), rcond=None)
            error = float(np.sqrt(((columns @ solved / rms - 1) ** 2).mean()))
            if best is None or error < best[0]:
                floor, start, gap, late = (round(float(value), 4) for value in solved)
                best = (error, ErrorModel(floor, start, round(float(decay), 4), gap, late, float(turn), odd, even))
    assert best is not None
    return best[1], best[0]


def coverage(found: list[tuple[Pair, NDArray[np.float64]]], model: ErrorModel) -> dict[str, float]:
    """For each selectivity the share of differences within its margin, over all pairs, the bias taken off."""
    within = dict.fromkeys(CONFIDENCE, 0)
    total = 0
    for pair, difference in found:
        total += len(difference)
        apart = np.abs(difference + model.bias(pair.empties, pair.depth))
        for percent, errors in CONFIDENCE.items():
            margin = errors * model.sigma(pair.empties, pair.depth, pair.shallow)
            within[percent] += int((apart <= margin).sum())
    return {str(percent): round(100 * count / max(1, total), 2) for percent, count in within.items()}


def run(
    source: Path, weights: Path, out: Path, *, count: int, deepest: int, seed: int, workers: int, command: str
) -> None:
    """Measure `count` held-out positions of every fourth ply from 8 to 48, and of each number of empties in `ENDS`,
    and write model and figures as JSON."""
    progress = Progress("probcut")
    arrays, record = load(source)
    starts = np.searchsorted(arrays["plies"], np.arange(62))

    def scores(ply: int, depths: list[int]) -> NDArray[np.float64]:
        rows = np.arange(starts[ply], starts[ply + 1])
        rows = rows[arrays["held"][rows]]
        rows = np.random.default_rng([seed, 4, ply]).permutation(rows)[:count]
        found = measure(arrays["players"][rows], arrays["opponents"][rows], depths, weights, workers)
        progress.say(f"{60 - ply} empties: {len(rows)} positions to depth {depths[-1]}")
        return found

    pairs: list[tuple[Pair, NDArray[np.float64]]] = []
    for ply in range(8, 49, 4):
        by_depth = scores(ply, list(range(min(deepest, 60 - ply - 2) + 1)))
        for pair in pairs_of(by_depth, 60 - ply):
            pairs.append((pair, differences(by_depth[:, pair.depth], by_depth[:, pair.shallow])))
    to_the_end = {}
    for empties in ENDS:
        found = scores(60 - empties, [0, stand_in(empties, empties), empties])
        to_the_end[empties] = differences(found[:, 2], found[:, 1])
    bias, last = ends(to_the_end)
    finished = [(pair, to_the_end[pair.empties]) for pair in last]
    model, error = fit([pair for pair, _ in pairs + finished], **bias)
    checked, checked_to_the_end = coverage(pairs, model), coverage(finished, model)
    told: dict[str, Any] = {
        "model": model._asdict(),
        "relative_error": round(error, 4),
        "within_margin_percent": checked,
        "within_margin_to_the_end_percent": checked_to_the_end,
        "command": command,
        "positions": record["digest"],
        "pairs": [list(pair) for pair, _ in pairs + finished],
    }
    lines = json.dumps(told, indent=1)
    beside = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    beside.write_text(lines + "\n")
    beside.replace(out)
    progress.say(f"model {model}, relative error {error:.3f}")
    progress.say(f"within margins {checked}, to the end {checked_to_the_end}")
