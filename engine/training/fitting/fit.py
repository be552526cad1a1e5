"""Stage `fit`: from positions and labels to linear weights."""

from __future__ import annotations

from typing import Any

from desdaemon.engine.evaluation.patterns import EDAX_SIZE
from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training.labelling.positions import read_truth
from desdaemon.engine.training.store import StageProgress, save_json
from desdaemon.engine.training.validate import openings, say, static_of_sums, table

from . import curves, features, ridge
from .dataset import Datasets, FitTask


def held_out_errors(
    data: Datasets, weights: features.Weights, plies: range, curve: float | None, threads: int
) -> dict[str, float]:
    """Return the root mean square error of linear weights against held-out rows' labels, in discs, by ply as text.

    Plies without held-out rows are left out.
    """
    errors = {}
    for ply in plies:
        rows = data.rows(ply, held=True)
        if len(rows.labels):
            sums = features.predict(features.index(rows.players, rows.opponents), weights[ply], threads)
            errors[str(ply)] = round(ridge.errors_of(curves.scores(sums, curve), rows.labels)[0], 3)
    return errors


def run(task: FitTask, options: ridge.RidgeOptions) -> None:
    """Fit weights and write them in the shipped format; their record has data, options and validation figures.

    The record is also written beside them as JSON.
    """
    progress = StageProgress("fit")
    data = task.data()
    first, last = task.first, task.last
    begin: features.Weights | None = None
    origin: dict[str, Any] = {}
    if task.start:
        packed, origin = read_packed(task.start)
        begin = ridge.unpack(packed)
        if not options.wide:
            begin[:, EDAX_SIZE:] = 0
        if origin.get("curve") != options.curve and (first, last) != (0, PLIES - 1):
            progress.say(
                f"plies outside {first}-{last} are kept from weights with the curve {origin.get('curve')}: "
                f"with {options.curve} they mean other scores until they are fitted too"
            )
    weights = ridge.fit(data.rows, options, start=begin, first=first, last=last, said=progress)
    # Validate the numbers as they are stored, rounded.
    packed = ridge.pack(weights)
    weights = ridge.unpack(packed)
    static = static_of_sums(weights, options.curve)
    record = task.record(data, options.curve, options._asdict(), origin)
    record["validation"] = table(static, read_truth(task.truth_files))
    record["openings"] = openings(static)
    record["held_out_rmse"] = held_out_errors(data, weights, range(first, last + 1), options.curve, options.threads)
    write_shipped(task.out, packed, record)
    # The record again, for readers without the program.
    save_json(task.out.with_suffix(".json"), record, indent=1)
    say(record["validation"], progress)
    progress.say(f"wrote {task.out}")
