"""Stage `validate`: how far the static evaluation is from exact scores.

The yardstick is the truth files: positions of games and perturbed ones with their exact scores. The table gives, for
each kind and number of empties, the root mean square, mean absolute and mean error in discs (evaluation less exact
score, both from the side to move).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from desdaemon.engine.weights_file import read_packed

from . import boards, features, ridge
from .positions import Truth, read_truth
from .store import write_line

LINES = ("", "f5", "f5d6", "f5f6", "f5f4", "f5d6c3d3c4", "f5d6c4d3c3", "f5f6e6f4")
"""Openings whose static evaluation is reported: near 0 with best play but for f5f4."""


def table(weights: features.Weights, truth: list[Truth]) -> list[dict[str, Any]]:
    """One row for each part of the truth files; errors in discs."""
    rows = []
    for part in truth:
        indices = features.index(part.players, part.opponents)
        predicted = features.predict(indices, weights[60 - part.empties])
        rmse, mae, bias = ridge.errors_of(predicted, part.scores)
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


def openings(weights: features.Weights) -> dict[str, float]:
    """Static evaluation of `LINES`, in discs, side to move's view."""
    found = {}
    for line in LINES:
        players, opponents = boards.after(line)
        value = features.predict(features.index(players, opponents), weights[len(line) // 2])
        found[line or "start"] = round(float(value[0]), 2)
    return found


def run(weights_path: Path, truth_files: list[Path]) -> None:
    """Print the table and the openings."""
    packed, record = read_packed(weights_path)
    weights = ridge.unpack(packed)
    write_line(f"{weights_path}: {record.get('name', record.get('format', 'unnamed'))}")
    write_line("positions  empties  count    RMSE     MAE    bias")
    for row in table(weights, read_truth(truth_files)):
        write_line(
            f"{row['positions']:9}  {row['empties']:7}  {row['count']:5}  "
            f"{row['rmse']:6.2f}  {row['mae']:6.2f}  {row['bias']:+6.2f}"
        )
    write_line("static evaluation of openings: " + ", ".join(f"{k} {v:+.1f}" for k, v in openings(weights).items()))
