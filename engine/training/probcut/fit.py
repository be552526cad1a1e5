"""Stage `probcut`: the errors of shallow searches as predictions of deep ones, fitted for the engine's ProbCut.

The nodes come from the engine's searches of held-out positions (`nodes`). Each is searched by ProbCut's reduced search
and by the deep search that it replaces. `ErrorModel` describes the differences at nodes near their bounds. The
logarithm of the error is linear in all parameters but one. For each value of this parameter on a grid, a generalised
linear model (gamma errors, logarithmic link) is fitted to the squared differences. Two thirds of the searches are for
the fit, the rest for a check at every selectivity: which share of differences lies within the margin, and which share
of the cuts is contradicted by the deep search.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import read, write_shipped
from desdaemon.engine.probcut import ErrorModel, cut, model_of, table
from desdaemon.engine.training.store import (
    Arrays,
    StageProgress,
    TrainingError,
    digest,
    load,
    save,
    save_json,
    write_line,
)
from desdaemon.protocol.othello.selectivity import SELECTIVITIES

from . import nodes
from .nodes import Measured

NEAR = 10.0
"""Largest distance in discs of a node's shallow score from its bound for the node to count in fit and check."""

FEWEST = 60
"""Least number of nodes near their bounds for a fit: of searches that end before the game, and, of searches to the end,
for each parity of the empties.
"""

PROVED_TO = 18
"""Most empties at which searches to the end in the sample are full-width; with more the reference has cuts itself."""

EDGE = 2.0
"""Largest number of discs beyond the margin for a cut to count as at its edge."""

BANDS = {"3-5": (3, 5), "6-9": (6, 9), "10-13": (10, 13), "14-18": (14, 18)}
"""Groups of depths in the report, for searches that end before the game does."""

REGIONS = {"4-20": (4, 20), "21-30": (21, 30), "31-40": (31, 40), "41-52": (41, 52)}
"""Groups of empties in the report, for searches that end before the game does."""

ENDS = {"end 13-16": (13, 16), "end 17-18": (17, 18), "end 19-22": (19, 22)}
"""Groups of empties in the report, for searches to the end."""


class Check(NamedTuple):
    """The check of one selectivity on the held-out nodes of one group; shares are in percent."""

    percent: int
    group: str
    nodes: int
    """Number of nodes near their bounds."""
    within: float
    """Share of these nodes whose difference lies within the margin."""
    cuts: int
    """Number of nodes that are cut, near their bounds or not."""
    wrong: float
    """Share of the cuts that the deep search contradicts."""
    edge_cuts: int
    edge_wrong: float
    """Share of the ``edge_cuts``, those less than `EDGE` discs beyond the margin, that the deep search contradicts."""


def near(measured: Measured) -> NDArray[np.bool_]:
    """Return a mask of the nodes whose shallow score is less than `NEAR` discs from the node's null-window bound."""
    return np.asarray(np.abs(measured.shallow - measured.nodes.alphas - 0.5) < NEAR)


def fit(measured: Measured) -> ErrorModel:
    """Return the likeliest error model. Raises `TrainingError` if too few nodes are near their bounds."""
    measured = measured.at(near(measured))
    before, end = measured.at(~measured.to_the_end), measured.at(measured.to_the_end)
    odd = end.nodes.empties % 2 == 1
    for kind, number in (("before the end", len(before.deep)), ("odd", odd.sum()), ("even", (~odd).sum())):
        if number < FEWEST:
            what = kind if kind == "before the end" else f"to the end with an {kind} number of empties"
            raise TrainingError(f"{number} nodes of searches {what} are near their bounds, {FEWEST} are needed")
    squares = (before.deep - before.shallow) ** 2
    gaps = np.log(before.nodes.depths - before.stand_ins)
    best: tuple[float, float, NDArray[np.float64]] | None = None
    for start in np.arange(1.0, 12.1, 0.5):
        columns = np.stack(
            [np.ones(len(gaps)), gaps, -np.log(start + before.stand_ins), -before.nodes.empties.astype(float)], axis=1
        )
        solved, deviance = _gamma(columns, squares, _weights(before.nodes.depths))
        if best is None or deviance < best[0]:
            best = (deviance, float(start), solved)
    assert best is not None
    _, start, (size, gap, decay, calm) = best
    differences = end.deep - end.shallow
    bias = {1: -float(differences[odd].mean()), 0: -float(differences[~odd].mean())}
    proved = end.nodes.empties <= PROVED_TO
    squares = (differences + np.where(odd, bias[1], bias[0]))[proved] ** 2
    at_the_end = float(np.sqrt(np.average(squares, weights=_weights(end.nodes.depths[proved]))))
    fields = (np.exp(size), gap, start, decay, calm, at_the_end, bias[1], bias[0])
    return ErrorModel(*(round(float(field), 5) for field in fields))


def _weights(depths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a weight for each node, such that all nodes of a depth together weigh the square root of their number.

    Deep nodes are few, because they are costly, but cuts save more there.
    """
    return np.asarray(1 / np.sqrt(np.bincount(depths)[depths]))


def _gamma(
    columns: NDArray[np.float64],
    squares: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Return x for which exp(2 * columns @ x) is the likeliest mean of ``squares``, row by row, and the deviance of the
    fit up to a constant; ``weights`` are the rows' weights.
    """
    root = np.sqrt(weights)[:, None]
    logs = np.full(len(squares), np.log(np.average(squares, weights=weights)))
    solved = np.zeros(columns.shape[1])
    for _ in range(50):
        step = (logs + squares / np.exp(logs) - 1) / 2
        solved, *_ = np.linalg.lstsq(root * columns, root[:, 0] * step, rcond=None)
        logs = 2 * columns @ solved
    return solved, float(np.average(squares / np.exp(logs) + logs, weights=weights))


def groups(measured: Measured) -> dict[str, NDArray[np.bool_]]:
    """Return the masks of the groups of nodes in the report, by the groups' names."""
    depths, empties, end = measured.nodes.depths, measured.nodes.empties, measured.to_the_end
    parts = {"before the end": ~end}
    parts |= {f"depth {name}": ~end & (low <= depths) & (depths <= high) for name, (low, high) in BANDS.items()}
    parts |= {f"empties {name}": ~end & (low <= empties) & (empties <= high) for name, (low, high) in REGIONS.items()}
    parts |= {"to the end": end}
    return parts | {name: end & (low <= empties) & (empties <= high) for name, (low, high) in ENDS.items()}


def check(measured: Measured, model: ErrorModel) -> list[Check]:
    """Return the check of the model for each selectivity below 100 % and each group of nodes."""
    words = table(model)
    alphas, shallow, deep = measured.nodes.alphas, measured.shallow, measured.deep
    static = np.rint(measured.static)
    close = near(measured)
    empties, depths = measured.nodes.empties.tolist(), measured.nodes.depths.tolist()
    checks = []
    for selectivity in SELECTIVITIES[:-1]:
        asked = np.array(
            [cut(words, e, d, selectivity.index)[:3] for e, d in zip(empties, depths, strict=True)]
        ).reshape(-1, 3)
        above, below, rough = asked.T
        off = deep - shallow
        # The search rounds bounds to whole discs.
        within = (-above - 0.5 <= off) & (off <= below + 0.5)
        over, under = shallow - alphas - 1 - above, alphas - below - shallow
        high = (static >= alphas + 1 - rough) & (alphas + 1 + above < 64) & (over >= 0)
        low = ~high & (static <= alphas + rough) & (alphas - below > -64) & (under >= 0)
        wrong = (high & (deep <= alphas)) | (low & (deep > alphas))
        edge = (high & (over < EDGE)) | (low & (under < EDGE))
        for name, rows in groups(measured).items():
            cuts, edges = rows & (high | low), rows & edge
            checks.append(
                Check(
                    selectivity,
                    name,
                    int((rows & close).sum()),
                    _share(within[rows & close]),
                    int(cuts.sum()),
                    _share(wrong[cuts]),
                    int(edges.sum()),
                    _share(wrong[edges]),
                )
            )
    return checks


def _share(which: NDArray[np.bool_]) -> float:
    return round(100 * float(which.mean()), 2) if len(which) else 0.0


def gathered(
    arrays: Arrays, weights: Weights, kept: Path, *, about: dict[str, Any], count: int, seed: int, workers: int
) -> Measured:
    """Return the nodes that `nodes.classes` samples, with their scores. Results in the file ``kept`` are not measured
    again; new results are added to the file.

    ``about`` describes the measurement. Raises `TrainingError` if the file has another description.
    """
    progress = StageProgress("probcut")
    parts: Arrays = {}
    if kept.exists():
        parts, record = load(kept)
        if record != about:
            raise TrainingError(f"{kept}: holds nodes of {record}, not of {about}: remove it, or write elsewhere")
    if "nodes" not in parts:
        nodes_found = nodes.gather(arrays, weights, count=count, seed=seed, workers=workers, progress=progress)
        progress.say(f"{count} searches: {len(nodes_found.players)} nodes")
        parts["nodes"] = np.stack([column.view(np.int64) for column in nodes_found])
        save(kept, parts, about)
    columns = parts["nodes"]
    every = nodes.Nodes(*columns[:2].view(np.uint64), *columns[2:])
    measured = []
    for name, chosen, truth in nodes.classes(every, count=count, seed=seed):
        if name not in parts:
            done = nodes.measure(chosen, truth, weights, workers)
            parts[name] = np.stack([done.static, done.shallow, done.deep])
            save(kept, parts, about)
            progress.say(f"{name}: {len(chosen.players)} nodes, {truth.selectivity} %")
        measured.append(Measured(chosen, *parts[name]))
    together = [np.concatenate(column) for column in zip(*(part.nodes for part in measured), strict=True)]
    scores = (np.concatenate([getattr(part, name) for part in measured]) for name in ("static", "shallow", "deep"))
    return Measured(nodes.Nodes(*together), *scores)


def run(positions: Path, weights: Path, out: Path, *, count: int, seed: int, workers: int, command: str) -> None:
    """Measure nodes of ``count`` searches, fit, check, write model and figures to ``out`` as JSON and print them.

    Measurements are written to an npz file beside ``out``, class by class: a second run continues there.
    """
    arrays, record = load(positions)
    loaded = Weights.load(weights)
    held = digest(*(arrays[name][arrays["held"]] for name in ("players", "opponents")))
    about = {"positions": record["digest"], "held": held, "weights": loaded.digest, "count": count, "seed": seed}
    measured = gathered(
        arrays, loaded, out.with_suffix(".nodes.npz"), about=about, count=count, seed=seed, workers=workers
    )
    for_check = measured.nodes.searches % 3 == 2
    model = fit(measured.at(~for_check))
    checks = check(measured.at(for_check), model)
    content: dict[str, Any] = {
        "model": model.to_record(),
        "command": command,
        **about,
        "nodes": len(measured.deep),
        "check": [entry._asdict() for entry in checks],
    }
    save_json(out, content, indent=1)
    write_line(" ".join(f"{name}={value:g}" for name, value in model.to_record().items()))
    write_line("within: differences within the margin, of nodes near their bounds; wrong: cuts that the deep search")
    write_line("contradicts, of all and of those at the edge of the margin; of held-out nodes")
    write_line(f"{'':4} {'':15} {'nodes':>6} {'within':>7} {'cuts':>6} {'wrong':>6} {'at edge':>8} {'wrong':>6}")
    for entry in checks:
        write_line(
            f"{entry.percent} % {entry.group:15} {entry.nodes:6} {entry.within:7.1f} {entry.cuts:6} {entry.wrong:6.1f} "
            f"{entry.edge_cuts:8} {entry.edge_wrong:6.1f}"
        )


def install(model: Path, weights: Path, out: Path, *, small: bool = False) -> None:
    """Write the weights file ``weights`` to ``out`` with the error model in ``model``, a file of stage `probcut`, in
    its record. The record is also written beside ``out`` as JSON.

    ``small`` packs harder: a smaller file, written more slowly. Raises `TrainingError` if ``model`` is another file, or
    was measured with other weights.
    """
    try:
        content = json.loads(model.read_text("utf-8"))
        fitted = model_of(content["model"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TrainingError(f"{model}: not a file of stage probcut: {error}") from error
    loaded = Weights.load(weights).digest
    if content.get("weights") != loaded:
        raise TrainingError(f"{model}: measured with weights {content.get('weights')}, {weights} is {loaded}")
    old_weights, record = read(weights)
    record |= {"probcut": fitted.to_record(), "probcut_command": content.get("command")}
    write_shipped(out, old_weights, record, small=small)
    # The record again, for readers without the program.
    save_json(out.with_suffix(".json"), record, indent=1)
