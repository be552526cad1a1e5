"""Stage `fit-network`: from positions and labels to a network (`desdaemon.engine.evaluation.network`).

The network of a band of plies is fitted by stochastic gradient descent on the squared error of its scores, a row at a
time in random order: file by file, since all files may be more than the memory holds. Each number has its own step size
(J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR
12, 2011), which suits look-ups: the steps of a frequent configuration shrink, those of a rare one do not. The rate
falls in a straight line to 0 over all rows of all passes. Threads share the numbers without locks (F. Niu, B. Recht,
C. Re and S. Wright, "Hogwild!", NIPS 2011): with one thread the result depends on the seed alone, with more also on
their timing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.network import Head, Network
from desdaemon.engine.evaluation.weights_file import WeightsError, read, write_shipped
from desdaemon.engine.layout import (
    HIDDEN_ONE,
    LANES,
    LINEAR_LANES,
    LINEAR_SCALE,
    NETWORK_SHIFT,
    PLIES,
)
from desdaemon.engine.training import validate
from desdaemon.engine.training.compiled import compiled, spread
from desdaemon.engine.training.labelling.positions import read_truth
from desdaemon.engine.training.store import StageProgress, TrainingError, save_json

from . import curves, features
from .dataset import FitTask
from .ridge import Rows, errors_of

Floats: TypeAlias = NDArray[np.float32]

LINEAR_DISCS = 10.0
"""Discs by which a linear lane of 1 changes the result: the fixed factor of the first linear lane, and the initial
factor of the second at the last ply of its band (at the first ply with the other sign).
"""

_EIGHTHS = 8 * LINEAR_DISCS
"""Stored units of a linear lane of 1: eighths of a disc."""

_UNITS = 128
"""Number of units of the network's result in a disc."""

_LINEAR = np.arange(LANES) < LINEAR_LANES
_ONE = _UNITS * 2**NETWORK_SHIFT
_LANE_UNITS = np.where(_LINEAR, _EIGHTHS, HIDDEN_ONE).astype(np.float32)
_BIAS_UNITS = np.where(_LINEAR, _EIGHTHS, HIDDEN_ONE)
_FACTOR_UNITS = np.where(_LINEAR, _ONE / (LINEAR_SCALE * _EIGHTHS), _ONE / HIDDEN_ONE**2)
"""Units of a weights file in a lane of 1, a bias of 1 and a factor of one disc; `_ONE` in a constant of one disc."""

_LARGEST = 127
"""Largest stored value of a lane."""

_SPREAD = 0.001
"""Initial standard deviation of the lanes, which makes hidden lanes differ. Rare configurations keep it as noise."""

_LANES_RATE = 0.6
"""Step size of lanes as a fraction of that of heads."""

_LANES_SEEN = 30.0
"""Initial sum of a lane's squared gradients, so that a configuration seen only a few times moves little."""


class _Steps(NamedTuple):
    """How far a row moves a network's numbers."""

    rate: float
    """Size of the first steps."""
    heads_seen: float
    """As `_LANES_SEEN`, for a number of a head."""
    decay: float
    """Fraction of a lane that is added to its gradient."""


_FROM_NOTHING = _Steps(rate=0.05, heads_seen=1e-2, decay=0.01)
_GOING_ON = _Steps(rate=0.02, heads_seen=1.0, decay=0.0)
"""What older labels taught must not be pulled to 0 again (docs/notes/cheap-labels.md)."""

_PIECE = 500_000
"""The rate falls after so many rows."""

_COLUMNS = np.array(
    [
        column
        for column, number in enumerate(patterns.INSTANCE_CLASS)
        if any(max(table.parts, key=lambda part: len(part[1]))[0] == number for table in patterns.TABLES)
    ],
    np.int64,
)
"""The indices of the patterns that belong to the widest class of a table."""

_OFFSETS = features.OFFSETS[_COLUMNS]


class NetworkOptions(NamedTuple):
    """The options of a network's fit."""

    bands: tuple[int, ...]
    """The first ply of each band."""
    passes: int = 8
    """Number of passes over all rows."""
    curve: float = 80.0
    """The score curve, a number of discs (`curves.scores`)."""
    threads: int = 1
    seed: int = 1
    going_on: bool = False
    """Whether fitted bands begin with the numbers of the start, not with small random ones."""


class BandWeights(NamedTuple):
    """The network of one band of plies in float32; hidden lanes are clamped to 0 .. 1 when it is evaluated."""

    lanes: Floats
    """The lanes of each packed configuration: (PACKED_SIZE, LANES)."""
    bias: Floats
    """Numbers added to the lanes: (plies, LANES)."""
    factors: Floats
    """Factors of the lanes, in discs: (plies, LANES)."""
    constants: Floats
    """Numbers added to the result, in discs: (plies,)."""

    @classmethod
    def begun(cls, plies: int, rng: np.random.Generator) -> BandWeights:
        """Return the numbers that a fit of ``plies`` plies begins with: small random hidden lanes, biases in the middle
        of their range, linear lanes of 0.
        """
        lanes = rng.normal(0, _SPREAD, (patterns.PACKED_SIZE, LANES)).astype(np.float32)
        lanes[:, :LINEAR_LANES] = 0
        bias = np.full((plies, LANES), 0.5, np.float32)
        bias[:, :LINEAR_LANES] = 0
        factors = np.tile(rng.normal(0, 4, LANES).astype(np.float32), (plies, 1))
        factors[:, 0] = LINEAR_DISCS
        factors[:, 1] = LINEAR_DISCS * np.linspace(-1, 1, plies)
        constants = -np.asarray(factors[:, LINEAR_LANES:].sum(1) * 0.25, np.float32)
        return cls(lanes, bias, factors, constants)

    @classmethod
    def of(cls, network: Network, number: int) -> BandWeights:
        """Return the numbers of a network's band, by its index: `heads` and `packed_lanes` give the same again."""
        bands = (*network.bands, PLIES)
        size = len(network.lanes) // len(network.bands)
        stored = np.frombuffer(network.lanes[number * size : (number + 1) * size], np.int8)
        heads = network.heads[bands[number] : bands[number + 1]]
        bias, factors, constants = (np.array(column, np.float32) for column in zip(*heads, strict=True))
        return cls(
            np.ascontiguousarray((stored.reshape(LANES, -1).T / _LANE_UNITS).astype(np.float32)),
            (bias / _BIAS_UNITS).astype(np.float32),
            (factors / _FACTOR_UNITS).astype(np.float32),
            constants / np.float32(_ONE),
        )

    def heads(self) -> tuple[Head, ...]:
        """Return the heads rounded to the units of a weights file."""
        bias = np.rint(self.bias * _BIAS_UNITS).astype(int)
        factors = np.rint(self.factors * _FACTOR_UNITS).astype(int)
        constants = np.rint(self.constants.astype(np.float64) * _ONE).astype(int)
        return tuple(
            Head(tuple(b), tuple(f), c)
            for b, f, c in zip(bias.tolist(), factors.tolist(), constants.tolist(), strict=True)
        )

    def packed_lanes(self) -> bytes:
        """Return the lanes rounded to the int8 units of a weights file, limited to -127..127, lane by lane."""
        stored: NDArray[np.int8] = np.clip(np.rint(self.lanes * _LANE_UNITS), -_LARGEST, _LARGEST).T.astype(np.int8)
        return stored.tobytes()


class _BandRows(NamedTuple):
    """The rows of a band: indices, plies counted from the band's first, labels and strengths."""

    indices: features.Indices
    plies: NDArray[np.int64]
    labels: Floats
    strengths: Floats


@compiled
def _descend(
    order: NDArray[np.int64],
    rows: _BandRows,
    columns: NDArray[np.int64],
    offsets: NDArray[np.int64],
    band: BandWeights,
    seen: BandWeights,
    rate: np.float32,
    decay: np.float32,
    curve: np.float32,
) -> None:
    """Make one pass over the rows in ``order``: change ``band`` by each row's gradient, in steps of ``rate`` divided by
    the root of ``seen``, the sums of the squared gradients of each number, which grow too. ``decay`` times a lane is
    added to its gradient.

    Only the indices in ``columns`` of a row are looked up. The index in column ``columns[k]`` plus ``offsets[k]`` is
    the place of its lanes in ``band``.
    """
    zero, one = np.float32(0), np.float32(1)
    hidden, pulls = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    places = np.empty(columns.shape[0], np.int64)
    for i in order:
        ply = rows.plies[i]
        for d in range(LANES):
            hidden[d] = band.bias[ply, d]
        for k in range(columns.shape[0]):
            place = offsets[k] + np.int64(rows.indices[i, columns[k]])
            places[k] = place
            for d in range(LANES):
                hidden[d] += band.lanes[place, d]
        total = band.constants[ply]
        for d in range(LANES):
            if d < LINEAR_LANES:
                total += band.factors[ply, d] * hidden[d]
            else:
                total += band.factors[ply, d] * min(max(hidden[d], zero), one) ** 2
        score = np.tanh(total / curve)
        # The factor keeps most gradients below 1, where the sums of their squares begin.
        pull = np.float32(0.01) * rows.strengths[i] * (curve * score - rows.labels[i]) * (one - score * score)
        for d in range(LANES):
            inside = min(max(hidden[d], zero), one)
            if d < LINEAR_LANES:
                step, pulls[d] = pull * hidden[d], pull * band.factors[ply, d]
            else:
                step = pull * inside * inside
                pulls[d] = 2 * pull * band.factors[ply, d] * inside * (one if zero < hidden[d] < one else zero)
            if d > 0:
                seen.factors[ply, d] += step * step
                band.factors[ply, d] -= rate * step / np.sqrt(seen.factors[ply, d])
            seen.bias[ply, d] += pulls[d] * pulls[d]
            band.bias[ply, d] -= rate * pulls[d] / np.sqrt(seen.bias[ply, d])
        seen.constants[ply] += pull * pull
        band.constants[ply] -= rate * pull / np.sqrt(seen.constants[ply])
        for k in range(columns.shape[0]):
            place = places[k]
            for d in range(LANES):
                gradient = pulls[d] + decay * band.lanes[place, d]
                seen.lanes[place, d] += gradient * gradient
                band.lanes[place, d] -= np.float32(_LANES_RATE) * rate * gradient / np.sqrt(seen.lanes[place, d])


@compiled
def _results(
    begin: int,
    end: int,
    rows: _BandRows,
    columns: NDArray[np.int64],
    offsets: NDArray[np.int64],
    band: BandWeights,
    out: Floats,
) -> None:
    """Write the network's results in discs, before the curve, to ``out``, for the rows ``begin`` to ``end`` - 1.
    ``columns`` and ``offsets`` are as in `_descend`.
    """
    hidden = np.empty(LANES, np.float32)
    for i in range(begin, end):
        ply = rows.plies[i]
        for d in range(LANES):
            hidden[d] = band.bias[ply, d]
        for k in range(columns.shape[0]):
            place = offsets[k] + np.int64(rows.indices[i, columns[k]])
            for d in range(LANES):
                hidden[d] += band.lanes[place, d]
        out[i] = band.constants[ply]
        for d in range(LANES):
            if d >= LINEAR_LANES:
                hidden[d] = min(max(hidden[d], np.float32(0)), np.float32(1)) ** 2
            out[i] += band.factors[ply, d] * hidden[d]


class Shard(Protocol):
    """A part of the rows, which the memory holds (`Dataset`)."""

    def rows(self, ply: int, held: bool = False) -> Rows:
        """Return the rows of a ply, the held-out ones or the others."""


def _gathered(shard: Shard, plies: range, threads: int, *, held: bool = False) -> _BandRows:
    parts = [shard.rows(ply, held) for ply in plies]
    indices = [features.index(rows.players, rows.opponents, threads) for rows in parts]
    return _BandRows(
        np.concatenate(indices),
        np.repeat(np.arange(len(plies)), [len(rows.labels) for rows in parts]),
        np.concatenate([rows.labels for rows in parts]),
        np.concatenate([rows.strengths for rows in parts]),
    )


def _error(band: BandWeights, rows: _BandRows, options: NetworkOptions) -> float:
    """Return the root mean square error of the network's scores against the rows' labels, in discs."""
    results = np.empty(len(rows.labels), np.float32)

    def work(begin: int, end: int) -> None:
        _results(begin, end, rows, _COLUMNS, _OFFSETS, band, results)

    spread(work, len(results), options.threads)
    return errors_of(curves.scores(results, options.curve), rows.labels)[0]


def fit_band(
    shards: Sequence[Callable[[], Shard]],
    plies: range,
    options: NetworkOptions,
    said: StageProgress,
    start: BandWeights | None = None,
) -> BandWeights:
    """Return the network of ``plies`` fitted to the rows of ``shards``, each of which is opened anew in each pass, in
    random order; the error of their held-out rows is reported after each pass. The fit begins with the numbers of
    ``start``, which it changes, or with small random ones.
    """
    rng = np.random.default_rng([options.seed, plies.start])
    held, total = _surveyed(shards, plies, options, said)
    band = start or BandWeights.begun(len(plies), rng)
    steps = _GOING_ON if start else _FROM_NOTHING
    seen = BandWeights(
        np.full_like(band.lanes, _LANES_SEEN), *(np.full_like(numbers, steps.heads_seen) for numbers in band[1:])
    )
    done, all_passes = 0, options.passes * total
    for number in range(options.passes):
        for index in rng.permutation(len(shards)).tolist():
            rows = _gathered(shards[index](), plies, options.threads)
            whole = rng.permutation(len(rows.labels))
            for first in range(0, len(whole), _PIECE):
                order = whole[first : first + _PIECE]
                rate = steps.rate * (1 - done / all_passes)
                _spread_descent(order, rows, band, seen, steps._replace(rate=rate), options)
                done += len(order)
                said.now_and_then(f"plies {plies.start}-{plies[-1]} pass {number + 1}: {done} of {all_passes} rows")
        text = f", held out {_error(band, held, options):.3f}" if len(held.labels) else ""
        said.say(f"plies {plies.start}-{plies[-1]} pass {number + 1}: {total} rows{text}")
    if start is None:
        # Of configurations that no row has, the random numbers are left.
        band.lanes[(seen.lanes == _LANES_SEEN).all(axis=1)] = 0
    return band


def need_rows(shards: Sequence[Callable[[], Shard]], bands: Sequence[range], said: StageProgress) -> None:
    """Raise `TrainingError` if a ply of the ``bands`` has no rows in any of the ``shards``."""
    missing = {ply: plies for plies in bands for ply in plies}
    for number, opened in enumerate(shards, 1):
        shard = opened()
        missing = {ply: plies for ply, plies in missing.items() if not len(shard.rows(ply).labels)}
        if not missing:
            return
        said.now_and_then(f"plies without labels: {number} of {len(shards)} files are read")
    ply, plies = min(missing.items())
    raise TrainingError(f"no labels of ply {ply}, which is in the band {plies.start}-{plies[-1]}")


def _surveyed(
    shards: Sequence[Callable[[], Shard]], plies: range, options: NetworkOptions, said: StageProgress
) -> tuple[_BandRows, int]:
    """Return the held-out rows of all shards, and the number of the others."""
    held, total = [], 0
    for opened in shards:
        shard = opened()
        held.append(_gathered(shard, plies, options.threads, held=True))
        total += sum(len(shard.rows(ply).labels) for ply in plies)
        said.now_and_then(f"plies {plies.start}-{plies[-1]}: {len(held)} of {len(shards)} files are read")
    return _BandRows(*(np.concatenate(column) for column in zip(*held, strict=True))), total


def _spread_descent(
    order: NDArray[np.int64],
    rows: _BandRows,
    band: BandWeights,
    seen: BandWeights,
    steps: _Steps,
    options: NetworkOptions,
) -> None:
    rate, decay, curve = np.float32(steps.rate), np.float32(steps.decay), np.float32(options.curve)

    def work(begin: int, end: int) -> None:
        _descend(order[begin:end], rows, _COLUMNS, _OFFSETS, band, seen, rate, decay, curve)

    spread(work, len(order), options.threads)


def run(task: FitTask, options: NetworkOptions) -> None:
    """Fit the bands within the task's plies and write the network in the shipped format; its record has data, options
    and validation figures, and is also written beside it as JSON.

    Other bands come from the task's start, a network with the same bands. Raises `TrainingError` if a band is neither
    fitted nor in the start, `WeightsError` if the start is no network or has other bands.
    """
    progress = StageProgress("fit-network")
    data = task.data()
    heads, lanes, origin = _begun(task.start, options)
    shards = [partial(data.opened, number) for number in range(len(data.sources))]
    all_bands = [range(first, after) for first, after in pairwise((*options.bands, PLIES))]
    fitted = {
        number: plies for number, plies in enumerate(all_bands) if task.first <= plies[0] and plies[-1] <= task.last
    }
    if options.going_on and not all(lanes):
        raise TrainingError("nothing to go on from: name it with --start")
    if not all(lanes[number] for number in range(len(all_bands)) if number not in fitted):
        raise TrainingError("a band of plies is neither fitted nor in --start")
    # Hours of a fit would be lost with the last band's rows missing.
    need_rows(shards, [*fitted.values()], progress)
    for number, plies in fitted.items():
        start = None
        if options.going_on:
            start = BandWeights.of(Network(options.bands, tuple(heads), b"".join(lanes)), number)
        band = fit_band(shards, plies, options, progress, start)
        heads[plies.start : plies.stop], lanes[number] = band.heads(), band.packed_lanes()
    progress.say(f"the record tells what is in {len(data.sources)} files: they are read again")
    record = {
        **task.record(data, options.curve, options._asdict(), origin),
        "fitted": [[plies[0], plies[-1]] for plies in fitted.values()],
    }
    network = Network(options.bands, tuple(heads), b"".join(lanes))
    write_shipped(task.out, network, record)
    # Validate the network as the engine reads it from the file.
    record["validation"] = validate.table(validate.static_of(task.out), read_truth(task.truth_files))
    write_shipped(task.out, network, record)
    save_json(task.out.with_suffix(".json"), record, indent=1)
    validate.say(record["validation"], progress)
    progress.say(f"wrote {task.out}")


def _begun(start: Path | None, options: NetworkOptions) -> tuple[list[Head], list[bytes], dict[str, Any]]:
    nothing = Head((0,) * LANES, (0,) * LANES, 0)
    if start is None:
        return [nothing] * PLIES, [b""] * len(options.bands), {}
    network, record = read(start)
    if not isinstance(network, Network) or network.bands != options.bands:
        raise WeightsError(f"{start}: not a network with bands of plies that begin at {list(options.bands)}")
    size = len(network.lanes) // len(options.bands)
    parts = [network.lanes[k * size : (k + 1) * size] for k in range(len(options.bands))]
    return list(network.heads), parts, record
