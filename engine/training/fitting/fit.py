"""Stage `fit`: positions and labels to a weights file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from desdaemon.engine.evaluation import weights_metadata
from desdaemon.engine.evaluation.patterns import EDAX_SIZE
from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training.labelling import calibration
from desdaemon.engine.training.labelling.positions import read_truth
from desdaemon.engine.training.store import StageProgress, save_json
from desdaemon.engine.training.validate import openings, say, static_of_sums, table

from . import curves, features, ridge
from .dataset import Datasets, Mixture


def held_out_errors(
    data: Datasets, weights: features.Weights, plies: range, curve: float | None, threads: int
) -> dict[str, float]:
    """Return the root mean square error (discs) against the labels of held-out rows, by ply."""
    found = {}
    for ply in plies:
        rows = data.rows(ply, held=True)
        if len(rows.labels):
            sums = features.predict(features.index(rows.players, rows.opponents), weights[ply], threads)
            found[str(ply)] = round(ridge.errors_of(curves.scores(sums, curve), rows.labels)[0], 3)
    return found


def run(
    sources: list[Path],
    label_files: list[Path],
    out: Path,
    *,
    name: str,
    mixture: Mixture,
    options: ridge.RidgeOptions,
    start: Path | None = None,
    calibrated: Sequence[Path] = (),
    first: int = 0,
    last: int = PLIES - 1,
    truth_files: list[Path],
    command: str,
) -> None:
    """Fit and write the shipped format; its record has data, options and validation figures.

    With `start`, plies outside first..last are taken from that file, and the others begin from it. Search labels are
    corrected by the coefficients in the files `calibrated`, the first of them that has the ply.
    """
    progress = StageProgress("fit")
    corrections = calibration.read_all(calibrated)
    data = Datasets(sources, label_files, mixture, corrections)
    begin: features.Weights | None = None
    origin: dict[str, Any] = {}
    if start:
        packed, origin = read_packed(start)
        begin = ridge.unpack(packed)
        if not options.wide:
            begin[:, EDAX_SIZE:] = 0
        if origin.get("curve") != options.curve and (first, last) != (0, PLIES - 1):
            progress.say(
                f"plies outside {first}-{last} are kept from weights with the curve {origin.get('curve')}: "
                f"with {options.curve} they mean other scores until they are fitted too"
            )
    weights = ridge.fit(data.rows, options, start=begin, first=first, last=last, said=progress)
    # Validation is of the numbers that are stored, rounded.
    packed = ridge.pack(weights)
    weights = ridge.unpack(packed)
    truth = read_truth(truth_files)
    static = static_of_sums(weights, options.curve)
    validation = table(static, truth)
    record: dict[str, Any] = {
        **weights_metadata.to_record(weights_metadata.WeightsMetadata(curve=options.curve)),
        "name": name,
        "command": command,
        "positions": [part.record for part in data.parts],
        "labels": data.label_records,
        "labelled_rows_by_depth": data.labelled_by_depth(),
        "calibration": {str(ply): list(fields) for ply, fields in sorted(corrections.items())} or None,
        "mixture": mixture._asdict(),
        "options": options._asdict(),
        "plies": [first, last],
        "start": origin.get("name"),
        "validation": validation,
        "openings": openings(static),
        "held_out_rmse": held_out_errors(data, weights, range(first, last + 1), options.curve, options.threads),
    }
    write_shipped(out, packed, record)
    # The same record to read without the program.
    save_json(out.with_suffix(".json"), record, indent=1)
    say(validation, progress)
    progress.say(f"wrote {out}")
