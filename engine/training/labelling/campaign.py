"""Stage `campaign`: positions and their labels, shard by shard, for as long as it is left to run.

A shard is a file of positions and the files of its labels. Odd shards have positions of the games that were given,
even ones of games that the evaluation plays against itself (stage `self-play`). A shard's number is the seed of all
that is drawn by lot, so that machines which begin at other numbers make other shards; their files can be copied into
one folder. Nothing but the files says what is done: whatever ends the stage, the same command goes on.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.training.fitting.dataset import EXACT
from desdaemon.engine.training.store import StageProgress, TrainingError, record_of
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system import files, platform
from desdaemon.protocol.system.locks import Held, alone

from . import labels, positions
from .chunks import ScoreChunks

_NICENESS = 19


class LabelTask(NamedTuple):
    """Labels of a shard: of plies ``first`` to ``last``, at most ``rows`` of each, by searches of ``depth`` plies."""

    name: str
    first: int
    last: int
    depth: int
    selectivity: Selectivity = Selectivity.FULL
    rows: int = 10**9


TASKS = (
    LabelTask("exact", 47, 60, EXACT, rows=180_000),
    LabelTask("even", 0, 46, 4, Selectivity.PERCENT_95),
    LabelTask("odd", 0, 46, 5, Selectivity.PERCENT_95, 10_000),
)
"""Every ply has labels, so that every band can be fitted. Odd depths score too high and even ones too low; a few of the
one kind let the fit bring the two together. In the time of one label of six plies four of four are made, from which a
network errs less (docs/notes/cheap-labels.md).
"""

_NOISE = 1.5
"""Discs; see `self_play.play`."""


def _shard_file(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:04}-{name}.npz"


def _same_weights(folder: Path, weights: Path) -> None:
    """Keep a copy of the first weights in ``folder``. Raises `TrainingError` for others, whose labels differ,
    `WeightsError` for a file that has none, and `OSError`.
    """
    Weights.load(weights)
    with files.open_regular(weights) as file:
        kept, content = folder / "weights.xz", file.read()
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(kept, content)
    elif kept.read_bytes() != content:
        raise TrainingError(f"{weights}: {folder} has labels by other weights, {kept}: give these, or another folder")


def _done(path: Path) -> int | None:
    """Return the number of labels in a file that is complete, otherwise None."""
    if not path.exists():
        return None
    record = record_of(path)
    return int(record["labels"]) if record.get("complete") else None


def run(
    folder: Path,
    sources: list[Path],
    *,
    weights: Path,
    score: ScoreChunks,
    first: int,
    shards: int,
    perturbed: int,
    self_play: int,
    truth: list[Path],
    command: str,
) -> None:
    """Make ``shards`` shards (0: without end) with numbers from ``first`` on, at idle priority.

    ``sources`` are what stage `games` reads; they are read once, when ``folder`` is new. ``perturbed`` is the number of
    perturbed positions a ply, ``self_play`` that of games for an even shard. Raises what the stages `games`,
    `positions` and `label` raise, and `BadInput` if another process makes these shards.
    """
    from desdaemon.engine.training.games import game_files
    from desdaemon.engine.training.games import self_play as game_player

    progress = StageProgress("campaign")
    games = folder / "games.npz"
    if not games.exists() and not sources:
        raise BadInput(f"{folder} is new: name the games to begin with, such as a folder of WTH_*.wtb")
    _same_weights(folder, weights)
    with contextlib.ExitStack() as ends:
        try:
            # A timer may begin the stage again and again.
            ends.enter_context(alone(folder / f"{first:04}.lock"))
        except Held as held:
            about = f"process {held.holder} makes the shards from {first} on: wait for its end"
            raise BadInput(f"{folder}: {about}") from None
        platform.lower_process(_NICENESS)
        if not games.exists():
            game_files.run(sources, games)
        number, whole = first, 0
        while not shards or number < first + shards:
            rows = _shard_file(folder, number, "positions")
            if not rows.exists():
                others = [path for path in sorted(folder.glob("*-positions.npz")) if path < rows]
                played = games
                if number % 2 == 0:
                    played = _shard_file(folder, number, "games")
                    game_player.run(weights, played, games=self_play, noise=_NOISE, seed=number)
                positions.run(played, rows, perturbed=perturbed, openings=-1, seed=number, truth=truth, except_=others)
            for task in TASKS:
                out = _shard_file(folder, number, task.name)
                if _done(out) is None:
                    labels.run(
                        rows,
                        out,
                        score=score,
                        first=task.first,
                        last=task.last,
                        count=task.rows,
                        depth=task.depth,
                        selectivity=task.selectivity,
                        seed=number,
                        skip=[],
                        command=command,
                    )
                made = _done(out)
                if made is None:
                    raise TrainingError(f"{out}: some labels are missing; repeat the command")
                whole += made
                progress.say(f"shard {number}, {task.name}: {made} labels; {whole} of the shards from {first} on")
            number += 1
