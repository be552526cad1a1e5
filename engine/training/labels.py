"""Stage `label`: scores for positions, from the engine's own search.

Each worker is a process with a searcher of its own. Rows are taken in a seeded random order that runs through all plies
alike, so that a stage ended early by its time limit still leaves a fair sample of every ply; running it again goes on
where it ended.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher
from desdaemon.engine.weights import Weights

from .boards import Boards
from .dataset import EXACT, NO_LABEL
from .store import Arrays, Progress, TrainingError, load, save

CHUNK = 64
"""Positions handed to a worker at a time."""

_SAVE_EVERY = 60.0

_searcher: Searcher | None = None


def _prepare(weights: str, hash_bits: int) -> None:
    global _searcher
    _searcher = Searcher(hash_bits=hash_bits, weights=Weights.load(weights))


def _label(players: list[int], opponents: list[int], depth: int, selectivity: int) -> list[int]:
    """Scores in discs, side to move's view; depth EXACT reads to the end."""
    assert _searcher is not None
    scores = []
    for player, opponent in zip(players, opponents, strict=True):
        empties = 64 - (player | opponent).bit_count()
        limits = Limits(empties, 100) if depth == EXACT else Limits(depth, selectivity)
        result = _searcher.search(player, opponent, limits)
        scores.append(result.lines[0].score if result.lines else NO_LABEL)
    return scores


def choose(arrays: Arrays, first: int, last: int, count: int, seed: int, skip: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Up to `count` rows of each ply first..last not in `skip`, in the order in which they are labelled."""
    rows, ranks = [], []
    starts = np.searchsorted(arrays["plies"], np.arange(62))
    for ply in range(first, last + 1):
        size = int(starts[ply + 1] - starts[ply])
        order = np.random.default_rng([seed, 3, ply]).permutation(size)[:count]
        rows.append(starts[ply] + order)
        ranks.append(np.arange(len(order)) / max(1, len(order)))
    joined = np.concatenate(rows)[np.argsort(np.concatenate(ranks), kind="stable")]
    return np.asarray(joined[~skip[joined]], np.int64)


def search_all(
    players: Boards,
    opponents: Boards,
    *,
    depth: int,
    selectivity: int,
    weights: Path,
    workers: int,
    seconds: float,
    hash_bits: int,
    progress: Progress,
    checkpoint: Any = None,
) -> NDArray[np.int8]:
    """Scores (discs) of boards; NO_LABEL for those that the time limit (seconds, 0 = none) left out."""
    values = np.full(len(players), NO_LABEL, np.int8)
    begun = saved = time.perf_counter()
    # Compiled and cached once, here, before the workers look for it.
    Searcher(hash_bits=10, weights=Weights.load(weights))
    pending: dict[Future[list[int]], slice] = {}
    done = following = 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _prepare, (str(weights), hash_bits)) as pool:
        while True:
            late = 0 < seconds < time.perf_counter() - begun
            while following < len(players) and len(pending) < 3 * workers and not late:
                part = slice(following, min(following + CHUNK, len(players)))
                task = pool.submit(_label, players[part].tolist(), opponents[part].tolist(), depth, selectivity)
                pending[task] = part
                following = part.stop
            if not pending:
                break
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for task in finished:
                part = pending.pop(task)
                values[part] = task.result()
                done += part.stop - part.start
            now = time.perf_counter()
            progress.now_and_then(f"{done} of {len(players)} labels, {done / (now - begun):.0f} a second")
            if checkpoint is not None and now - saved > _SAVE_EVERY:
                checkpoint(values)
                saved = now
    progress.say(f"{done} of {len(players)} labels, {done / (time.perf_counter() - begun):.0f} a second")
    return values


def run(
    source: Path,
    out: Path,
    *,
    weights: Path,
    first: int,
    last: int,
    count: int,
    depth: int,
    selectivity: int,
    seed: int,
    workers: int,
    seconds: float = 0.0,
    hash_bits: int = 17,
    skip: list[Path],
    command: str,
) -> None:
    """Label up to `count` rows of each ply first..last of a positions file; depth EXACT (255) reads to the end.

    Rows labelled in the files `skip` are left out, and those that `out` itself has already are kept.
    """
    progress = Progress("label")
    arrays, record = load(source)
    known = np.zeros(len(arrays["plies"]), np.bool_)
    for path in skip:
        known[load(path)[0]["rows"]] = True
    rows = choose(arrays, first, last, count, seed, known)
    values = np.full(len(rows), NO_LABEL, np.int8)
    made = {
        "stage": "label",
        "command": command,
        "positions": record["digest"],
        "plies": [first, last],
        "depth": depth,
        "selectivity": selectivity,
        "seed": seed,
    }
    if out.exists():
        before, old = load(out)
        if any(old[key] != made[key] for key in ("positions", "depth", "selectivity")):
            raise TrainingError(f"{out}: holds labels of another kind: {old}")
        found = dict(zip(before["rows"].tolist(), before["values"].tolist(), strict=True))
        values[:] = [found.get(row, NO_LABEL) for row in rows.tolist()]
        progress.say(f"{int((values != NO_LABEL).sum())} labels are there already")
    todo = np.flatnonzero(values == NO_LABEL)

    def write(fresh: NDArray[np.int8]) -> None:
        values[todo] = fresh
        have = values != NO_LABEL
        depths = np.full(int(have.sum()), depth, np.uint8)
        labels: Arrays = {"rows": rows[have], "values": values[have], "depths": depths}
        save(out, labels, {**made, "labels": int(have.sum())}, compress=True)

    fresh = search_all(
        arrays["players"][rows[todo]],
        arrays["opponents"][rows[todo]],
        depth=depth,
        selectivity=selectivity,
        weights=weights,
        workers=workers,
        seconds=seconds,
        hash_bits=hash_bits,
        progress=progress,
        checkpoint=write,
    )
    write(fresh)


def adjudicate(games_file: Path, source: Path, label_files: list[Path], out: Path) -> None:
    """Give each game the exact score of its earliest position that has one, unfinished games included.

    Scores of games are full of endgame mistakes; those of their positions at 12 to 16 empties are not.
    """
    from . import positions

    progress = Progress("adjudicate")
    games, record = load(games_file)
    arrays, made = load(source)
    exact = np.full(len(arrays["plies"]), NO_LABEL, np.int8)
    for path in label_files:
        labels, about = load(path)
        if about["positions"] != made["digest"]:
            raise TrainingError(f"{path}: labels of positions {about['positions']}, not {made['digest']}")
        chosen = labels["depths"] == EXACT
        exact[labels["rows"][chosen]] = labels["values"][chosen]
    visits = positions.visit(games)
    scores, finished = games["scores"].copy(), games["finished"].copy()
    starts = np.searchsorted(arrays["plies"], np.arange(62))
    settled = np.zeros(len(scores), np.bool_)
    for ply in range(61):
        rows = np.arange(starts[ply], starts[ply + 1])
        rows = rows[exact[rows] != NO_LABEL]
        if not len(rows):
            continue
        names = positions.keys(arrays["players"][rows], arrays["opponents"][rows])
        order = np.argsort(names)
        part = visits.ply(ply)
        wanted = positions.keys(visits.players[part], visits.opponents[part])
        place = np.minimum(np.searchsorted(names[order], wanted), len(order) - 1)
        hit = (names[order][place] == wanted) & ~settled[visits.games[part]]
        which = visits.games[part][hit]
        scores[which] = exact[rows[order[place[hit]]]] * visits.turns[part][hit]
        finished[which] = True
        settled[which] = True
    progress.say(f"{int(settled.sum())} of {len(scores)} games have an exact score")
    games["scores"], games["finished"] = scores, finished
    save(out, games, {**record, "adjudicated": int(settled.sum())}, compress=True)
