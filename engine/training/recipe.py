"""`all`: every stage from game files to weights, in rounds, as one resumable run.

Late positions get exact labels; then plies are labelled backwards, a band at a time, by searches whose leaves lie in
bands that are fitted already, so that every label rests on exact scores in a few steps. Every stage writes a file in
one folder and is skipped when that file is there and complete.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.engine.training.fitting.dataset import EXACT, Mixture
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.files import replace

from . import match, validate
from .fitting import fit, ridge
from .games import game_files as files
from .labelling import labels, positions
from .probcut import fit as probcut
from .store import StageProgress, TrainingError, load, write_line


class Band(NamedTuple):
    """Plies labelled together, and the plies fitted afterwards."""

    first: int
    last: int
    rows: int
    """The greatest number of each ply."""
    depth: int
    fit_first: int
    fit_last: int


class TrainingPlan(NamedTuple):
    """Sizes of a whole training."""

    sample: int
    """Games (0: all)."""
    perturbed: int
    """Perturbed positions a ply."""
    exact: tuple[Band, ...]
    """Bands read to the end; fitted after the last of them."""
    searched: tuple[Band, ...]
    selectivity: Selectivity
    iterations: int
    wide: bool
    """Fit the wide classes too; a sample has too few labels for them."""
    curve: float | None
    """Discs of the score curve; None: the straight line, so that the weights can be exported."""
    probcut_searches: int
    """Whose nodes ProbCut's error model is fitted to (0: it has none of its own)."""


FULL = TrainingPlan(
    sample=0,
    perturbed=200_000,
    exact=(
        Band(46, 60, 10**9, EXACT, 40, 60),
        Band(44, 45, 10**9, EXACT, 40, 60),
        Band(42, 43, 150_000, EXACT, 40, 60),
    ),
    searched=(
        Band(34, 41, 250_000, 8, 32, 60),
        Band(26, 33, 200_000, 8, 24, 45),
        Band(18, 25, 150_000, 8, 16, 35),
        Band(10, 17, 120_000, 8, 8, 27),
        Band(0, 9, 10**9, 10, 0, 60),
    ),
    selectivity=Selectivity.PERCENT_95,
    iterations=25,
    wide=True,
    curve=80.0,
    probcut_searches=2000,
)

QUICK = TrainingPlan(
    sample=25_000,
    perturbed=12_000,
    exact=(Band(49, 60, 12_000, EXACT, 44, 60), Band(46, 48, 6_000, EXACT, 44, 60)),
    searched=(
        Band(36, 45, 4_000, 4, 32, 60),
        Band(24, 35, 4_000, 4, 20, 50),
        Band(8, 23, 3_000, 4, 0, 60),
    ),
    selectivity=Selectivity.PERCENT_95,
    iterations=15,
    wide=False,
    curve=None,
    probcut_searches=300,
)

TINY = TrainingPlan(
    sample=0,
    perturbed=400,
    exact=(Band(52, 60, 600, EXACT, 50, 60),),
    searched=(Band(40, 51, 200, 2, 30, 60), Band(8, 39, 100, 2, 0, 60)),
    selectivity=Selectivity.PERCENT_95,
    iterations=8,
    wide=False,
    curve=80.0,
    probcut_searches=0,
)
"""For tests: seconds."""

PLANS = {"full": FULL, "quick": QUICK, "tiny": TINY}


class RecipeRun:
    """One training in one folder."""

    def __init__(
        self, folder: Path, plan: TrainingPlan, *, seed: int, workers: int, truth: list[Path], command: str
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.seed = seed
        self.workers = workers
        self.truth = truth
        self.command = command
        self.label_files: list[Path] = []
        self.progress = StageProgress("all")

    def _missing(self, path: Path) -> bool:
        there = path.exists()
        self.progress.say(f"{path.name}: {'kept' if there else 'to be made'}")
        return not there

    def games(self, sources: list[Path]) -> Path:
        """Stage 1; a games file made before may be given instead of game files."""
        out = self.folder / "games.npz"
        if self._missing(out):
            if len(sources) == 1 and sources[0].suffix == ".npz":
                load(sources[0])
                shutil.copyfile(sources[0], out)
            else:
                files.run(sources, out, sample=self.plan.sample, seed=self.seed)
        return out

    def positions(self, source: Path, name: str) -> Path:
        """Stage 2."""
        out = self.folder / name
        if self._missing(out):
            positions.run(
                source, out, count=self.plan.perturbed, opening_plies=6, seed=self.seed, truth_files=self.truth
            )
        return out

    def label(self, source: Path, band: Band, weights: Path) -> None:
        """Stage 3 for one band."""
        out = self.folder / f"labels-{band.first:02}-{band.last:02}.npz"
        self.label_files.append(out)
        if out.exists() and load(out)[1]["complete"]:
            self.progress.say(f"{out.name}: kept")
            return
        labels.run(
            source,
            out,
            score=labels.score_here(weights, self.workers, labels.HASH_BITS),
            first=band.first,
            last=band.last,
            count=band.rows,
            depth=band.depth,
            selectivity=self.plan.selectivity,
            seed=self.seed,
            skip=[],
            command=self.command,
        )

    def fit(self, source: Path, name: str, start: Path | None, first: int, last: int) -> Path:
        """Stage 4 for some plies."""
        out = self.folder / f"{name}.xz"
        if self._missing(out):
            fit.run(
                [source],
                self.label_files,
                out,
                name=name,
                mixture=Mixture(),
                options=ridge.RidgeOptions(
                    iterations=self.plan.iterations,
                    threads=self.workers,
                    wide=self.plan.wide,
                    curve=self.plan.curve,
                ),
                start=start,
                first=first,
                last=last,
                truth_files=self.truth,
                command=self.command,
            )
        return out

    def run(self, sources: list[Path]) -> Path:
        """Everything; returns the last weights."""
        plan = self.plan
        game_file = self.games(sources)
        source = self.positions(game_file, "positions-played.npz")
        weights = self.fit(source, "weights-results", None, 0, 60)
        for band in plan.exact:
            self.label(source, band, weights)
        settled = self.folder / "games-settled.npz"
        if self._missing(settled):
            labels.adjudicate(game_file, source, self.label_files, settled)
        source = self.positions(settled, "positions.npz")
        band = plan.exact[-1]
        weights = self.fit(source, "weights-exact", weights, band.fit_first, band.fit_last)
        for band in plan.searched:
            self.label(source, band, weights)
            weights = self.fit(source, f"weights-{band.first:02}", weights, band.fit_first, band.fit_last)
        final = self.folder / "weights.xz"
        if not plan.probcut_searches:
            shutil.copyfile(weights, final)
            shutil.copyfile(weights.with_suffix(".json"), final.with_suffix(".json"))
            return final
        cuts = self.folder / "probcut.json"
        if self._missing(cuts):
            probcut.run(
                source,
                weights,
                cuts,
                count=plan.probcut_searches,
                seed=self.seed,
                workers=self.workers,
                command=self.command,
            )
        probcut.install(cuts, weights, final)
        return final


def run(
    sources: list[Path], folder: Path, *, plan: str, seed: int, workers: int, truth: list[Path], command: str
) -> None:
    """Train, validate, and play against a player that counts moves and corners."""
    folder.mkdir(parents=True, exist_ok=True)
    plan_of_run: dict[str, Any] = {"plan": plan, "seed": seed}
    marker = folder / "plan.txt"
    line = " ".join(f"{key}={value}" for key, value in plan_of_run.items())
    if marker.exists() and marker.read_text().strip() != line:
        raise TrainingError(f"{folder}: holds a training with {marker.read_text().strip()}, not {line}")
    replace(marker, f"{line}\n".encode())
    training = RecipeRun(folder, PLANS[plan], seed=seed, workers=workers, truth=truth, command=command)
    weights = training.run(sources)
    validate.run(weights, truth)
    found = match.against_simple(weights, pairs=20, depth=2, plies=8, seed=seed)
    write_line(
        f"against moves and corners counted, both at depth 2: "
        f"{100 * found.share:.1f} +- {100 * found.share_error:.1f} %, "
        f"{found.discs:+.1f} +- {found.discs_error:.1f} discs"
    )
