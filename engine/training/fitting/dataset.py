"""The rows of a fit: positions with their labels, ply by ply, training rows and held-out rows apart."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation import weights_metadata
from desdaemon.engine.layout import PLIES
from desdaemon.engine.training.labelling import calibration, positions
from desdaemon.engine.training.labelling.calibration import LEAST_DEPTH, Calibration
from desdaemon.engine.training.store import Arrays, TrainingError, load, record_of

from .ridge import Rows

NO_LABEL = -128
"""Stands in a label file for no label."""

EXACT = 255
"""The depth that a label file gives for an exact score."""


BALANCED = 1000
"""Number of rows of each parity that a kind of position needs in a ply to be balanced (`Dataset.balanced`)."""


class Mixture(NamedTuple):
    """Strengths of the kinds of labels. A row is fitted to the mean of its label and its games' mean result, weighted
    by these strengths. If the label is exact, the result does not count.
    """

    exact: float = 1.0
    search: float = 1.0
    result: float = 0.15
    """Strength of the mean result of a position's games. It is multiplied by the square root of their number, or by
    ``most`` if the root is greater.
    """
    most: float = 4.0
    human: float = 1.0
    """Factor for rows of the kind human; other kinds have 1."""


class Dataset:
    """The rows of a positions file with their labels.

    ``arrays`` and ``record`` are the file's content; without ``calibration`` labels are used as they are.
    """

    def __init__(
        self, arrays: Arrays, record: dict[str, Any], mixture: Mixture, calibration: Calibration | None = None
    ) -> None:
        self.arrays = arrays
        self.record = record
        self.mixture = mixture
        self.calibration = calibration or {}
        self.starts = np.searchsorted(arrays["plies"], np.arange(PLIES + 1))
        count = len(arrays["plies"])
        self.values = np.full(count, NO_LABEL, np.int8)
        self.depths = np.zeros(count, np.uint8)

    def add(self, rows: NDArray[np.int64], values: NDArray[np.int8], depths: NDArray[np.uint8]) -> None:
        """Set the labels (discs for the side to move) and their depths of ``rows``, by index, in place of earlier ones.

        A search's label never replaces an exact label, and NO_LABEL replaces nothing.
        """
        keep = (self.depths[rows] != EXACT) | (depths == EXACT)
        keep &= values != NO_LABEL
        self.values[rows[keep]] = values[keep]
        self.depths[rows[keep]] = depths[keep]

    def ply(self, ply: int) -> slice:
        return slice(int(self.starts[ply]), int(self.starts[ply + 1]))

    def corrected(self, ply: int) -> NDArray[np.float32]:
        """Return the labels of a ply's rows, corrected, in discs; NO_LABEL stays. Labels of inexact searches of at
        least `LEAST_DEPTH` plies are calibrated if the ply has coefficients. Then the labels of odd and of even depths
        are shifted to one mean (`balanced`).

        The coefficients, each linear in the ply number, bring the labels of both parities to exact scores, for all
        kinds of positions together. Balancing removes the difference between the parities that is left.
        """
        part = self.ply(ply)
        values, depths = self.values[part].astype(np.float32), self.depths[part]
        if ply in self.calibration:
            deep = (values != NO_LABEL) & (depths != EXACT) & (depths >= LEAST_DEPTH)
            values[deep] = self.calibration[ply].corrected(values[deep], depths[deep])
        return self.balanced(part, values)

    def balanced(self, part: slice, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a copy of ``values``, the labels of the rows ``part``, in which the searched labels of odd and of even
        depths are shifted to one mean, for each kind of position. Kinds with fewer than `BALANCED` rows of either
        parity stay as they are.

        A search takes the maximum of noisy values, so scores of odd depths, whose last move is the side to move's, are
        too high on average, those of even depths too low. Rows are labelled in random order, so there is no other
        reason for a kind's two means to differ.
        """
        values, depths = values.copy(), self.depths[part]
        searched = (values != NO_LABEL) & (depths != EXACT)
        for kind in np.unique(self.arrays["kinds"][part]):
            own = searched & (self.arrays["kinds"][part] == kind)
            odd, even = own & (depths % 2 == 1), own & (depths % 2 == 0)
            if min(odd.sum(), even.sum()) >= BALANCED:
                half = (values[odd].mean(dtype=np.float64) - values[even].mean(dtype=np.float64)) / 2
                values[odd] -= np.float32(half)
                values[even] += np.float32(half)
        return values

    def rows(self, ply: int, held: bool = False) -> Rows:
        """Return the rows of a ply that have a label or a game result, either the held-out ones or the others."""
        part, mixture = self.ply(ply), self.mixture
        arrays = {name: array[part] for name, array in self.arrays.items()}
        values, depths = self.corrected(ply), self.depths[part]
        exact = depths == EXACT
        searched = np.where(exact, mixture.exact, mixture.search) * (values != NO_LABEL)
        played = ~np.isnan(arrays["results"]) & ~exact
        result = np.where(played, mixture.result * np.sqrt(np.minimum(arrays["counts"], mixture.most**2)), 0.0)
        strength = searched + result
        chosen = (strength > 0) & (arrays["held"] == held)
        total = searched * values + result * np.where(played, arrays["results"], 0)
        label = total[chosen] / strength[chosen]
        kind = np.where(arrays["kinds"][chosen] == positions.HUMAN, mixture.human, 1.0)
        return Rows(
            arrays["players"][chosen],
            arrays["opponents"][chosen],
            label.astype(np.float32),
            (strength[chosen] * kind).astype(np.float32),
        )


class Datasets:
    """Several positions files with their label files, as one.

    Raises `TrainingError` for a label file that belongs to none of the positions files.
    """

    def __init__(
        self, sources: list[Path], labels: list[Path], mixture: Mixture, calibration: Calibration | None = None
    ) -> None:
        self.sources = sources
        self.mixture, self.calibration = mixture, calibration or {}
        self.records = [record_of(source) for source in sources]
        self.label_records: list[dict[str, Any]] = []
        self._labels: list[list[Path]] = [[] for _ in sources]
        for path in labels:
            record = record_of(path)
            owners = [k for k, made in enumerate(self.records) if made["digest"] == record.get("positions")]
            if not owners:
                digests = ", ".join(f"{s} has {made['digest']}" for s, made in zip(sources, self.records, strict=True))
                raise TrainingError(f"{path}: labels of positions {record.get('positions')}; {digests}")
            self._labels[owners[0]].append(path)
            self.label_records.append(record)

    def opened(self, number: int) -> Dataset:
        """Read a positions file, the one with this index in `sources`, and its labels. All of them may be more than the
        memory holds.
        """
        part = Dataset(*load(self.sources[number]), self.mixture, self.calibration)
        for path in self._labels[number]:
            labels, _ = load(path)
            part.add(labels["rows"], labels["values"], labels["depths"])
        return part

    @cached_property
    def parts(self) -> list[Dataset]:
        """All files, read when they are first asked for, and kept."""
        return [self.opened(number) for number in range(len(self.sources))]

    def rows(self, ply: int, held: bool = False) -> Rows:
        """Return the rows of a ply with a label or a game result from all files: the held-out ones or the others."""
        return Rows(*(np.concatenate(column) for column in zip(*(p.rows(ply, held) for p in self.parts), strict=True)))

    def labelled_by_depth(self) -> dict[str, int]:
        """Return the number of rows by their label's depth, as text: "0" for no label, "255" for an exact one."""
        counts = sum(np.bincount(self.opened(k).depths, minlength=256) for k in range(len(self.sources)))
        return {str(depth): int(count) for depth, count in enumerate(np.asarray(counts).tolist()) if count}

    def record(self) -> dict[str, Any]:
        """Return what the record beside a file of weights says about the data: files, labels, calibration, mixture."""
        return {
            "positions": self.records,
            "labels": self.label_records,
            "labelled_rows_by_depth": self.labelled_by_depth(),
            "calibration": {str(ply): list(fields) for ply, fields in sorted(self.calibration.items())} or None,
            "mixture": self.mixture._asdict(),
        }


class FitTask(NamedTuple):
    """The files and plies of a fit of either kind of weights."""

    sources: list[Path]
    label_files: list[Path]
    out: Path
    name: str
    mixture: Mixture
    start: Path | None
    """Weights to begin from, None for none; plies (of a network bands) outside the fit are copied from them."""
    calibrated: list[Path]
    """Files of coefficients that correct search labels; a ply's are taken from the first file that has the ply."""
    first: int
    last: int
    truth_files: list[Path]
    command: str

    def data(self) -> Datasets:
        """Return the task's positions with their labels and the coefficients that correct the labels. Raises
        `TrainingError` for an unusable file, OSError for a file of coefficients that cannot be read.
        """
        return Datasets(self.sources, self.label_files, self.mixture, calibration.read_all(self.calibrated))

    def record(
        self, data: Datasets, curve: float | None, options: dict[str, Any], origin: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the fitted weights' record, from data and options; ``origin`` is the record of ``start``, or empty."""
        return {
            **weights_metadata.to_record(weights_metadata.WeightsMetadata(curve=curve)),
            "name": self.name,
            "command": self.command,
            **data.record(),
            "options": options,
            "plies": [self.first, self.last],
            "start": origin.get("name"),
        }
