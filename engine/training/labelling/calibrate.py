"""Stage `calibrate`: the errors of search labels against better scores.

Better scores are exact or, if that costs too much, means of searches to one or two depths. The leaves of these searches
lie at plies whose weights were fitted to calibrated labels. A seeded sample of labelled rows is scored in random order,
so that a stage ended by its time limit still has a fair sample of every ply. The output has the coefficients of every
ply (`calibration`), the errors before and after, and the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from desdaemon.engine.training.fitting.dataset import EXACT, NO_LABEL, Datasets, Mixture
from desdaemon.engine.training.store import StageProgress, TrainingError, save_json
from desdaemon.protocol.othello.selectivity import Selectivity

from . import calibration
from .labels import score_here, search_all

_HASH_BITS = 20
"""Logarithm (base 2) of the number of entries of a table: these searches are deeper than those of labels."""


def run(
    positions: list[Path],
    labels: list[Path],
    out: Path,
    *,
    weights: Path,
    plies: tuple[int, int],
    count: int,
    depth: Sequence[int],
    selectivity: int,
    seed: int,
    workers: int,
    seconds: float,
    command: str,
) -> None:
    """Score up to ``count`` rows of each ply, from the first to the last of ``plies``, fit the coefficients and write
    them to ``out`` as JSON. Only rows labelled by an inexact search of at least `calibration.LEAST_DEPTH` plies are
    scored.

    Each row is searched to each of ``depth``, in plies or EXACT, at ``selectivity``, and the mean of its scores
    counts. All searches together end after ``seconds`` (0: no limit). Raises `TrainingError` if fewer than
    `calibration.FEWEST` rows have all scores.
    """
    progress = StageProgress("calibrate")
    first, last = plies
    data = Datasets(positions, labels, Mixture())
    random = np.random.default_rng([seed, 6])
    sampled = []
    for ply in range(first, last + 1):
        of_ply = []
        for k, part in enumerate(data.parts):
            own = np.arange(part.starts[ply], part.starts[ply + 1])
            searched = (part.values[own] != NO_LABEL) & (part.depths[own] != EXACT)
            own = own[searched & (part.depths[own] >= calibration.LEAST_DEPTH)]
            of_ply.append(np.stack([np.full(len(own), k), np.full(len(own), ply), own], axis=-1))
        sampled.append(random.permutation(np.concatenate(of_ply))[:count])
    rows = random.permutation(np.concatenate(sampled))

    def column(name: str) -> Any:
        return np.array([data.parts[k].arrays[name][row] for k, _, row in rows])

    if not len(rows):
        raise TrainingError(f"plies {first}-{last} have no search labels of depth {calibration.LEAST_DEPTH} or more")
    scores = np.stack(
        [
            search_all(
                column("players"),
                column("opponents"),
                depth=60 if plies_deep == EXACT else plies_deep,
                selectivity=Selectivity(selectivity),
                score=score_here(weights, workers, _HASH_BITS),
                seconds=seconds / len(depth),
                progress=progress,
            )
            for plies_deep in depth
        ]
    )
    samples = calibration.Samples(
        rows[:, 1],
        np.array([int(data.parts[k].depths[row]) for k, _, row in rows]),
        np.array([float(data.parts[k].values[row]) for k, _, row in rows]),
        scores.mean(axis=0, dtype=np.float64),
    ).where((scores != NO_LABEL).all(axis=0))
    fitted = calibration.fit(samples, first, last)
    content: dict[str, Any] = {
        "coefficients": {str(ply): fields._asdict() for ply, fields in fitted.items()},
        "errors": calibration.errors(samples, fitted),
        "errors_are": "root mean square and mean of label minus better score, in discs",
        "depths": depth,
        "command": command,
        "positions": [part.record["digest"] for part in data.parts],
        "selectivity": selectivity,
        "samples": {name: column.tolist() for name, column in samples._asdict().items()},
    }
    save_json(out, content)
    for ply in range(first, last + 1):
        progress.say(f"ply {ply}: {fitted[ply]}")
    for row in content["errors"]:
        progress.say(
            f"ply {row['ply']} depth {row['depth']}: {row['samples']} labels, error (RMS, mean) "
            f"{row['before'][0]}, {row['before'][1]:+} before, {row['after'][0]}, {row['after'][1]:+} after"
        )
