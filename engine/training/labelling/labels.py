"""Stage `label`: scores for positions by the engine's search.

The caller chooses who searches, threads of this process or a cluster (`ScoreChunks`). Rows are taken in a seeded random
order over all plies, so that a stage ended by its time limit still leaves a fair sample of every ply. A second run
continues where the first ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.search import Control, Searcher
from desdaemon.engine.training.fitting.dataset import EXACT, NO_LABEL
from desdaemon.engine.training.store import Arrays, StageProgress, TrainingError, load, save
from desdaemon.protocol.errors import Unfinished
from desdaemon.protocol.othello.selectivity import Selectivity

from .boards import Boards
from .chunks import CHUNK, BoardChunk, ScoreChunks, score_chunk

HASH_BITS = 17
"""Logarithm (base 2) of a table's number of entries: label searches are short, and their tables stay in the cache."""

_WAITING = 4
"""Number of chunks handed out ahead for each thread."""

_SAVE_EVERY = 60.0


def choose(arrays: Arrays, first: int, last: int, count: int, seed: int, skip: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return up to ``count`` rows of each ply first..last in the order of labelling, drawn at random by ``seed``.

    ``skip`` is a mask of all rows of ``arrays``: after the draw, the rows that it marks are removed from the result.
    """
    rows, ranks = [], []
    starts = np.searchsorted(arrays["plies"], np.arange(62))
    for ply in range(first, last + 1):
        size = int(starts[ply + 1] - starts[ply])
        order = np.random.default_rng([seed, 3, ply]).permutation(size)[:count]
        rows.append(starts[ply] + order)
        ranks.append(np.arange(len(order)) / max(1, len(order)))
    joined = np.concatenate(rows)[np.argsort(np.concatenate(ranks), kind="stable")]
    return np.asarray(joined[~skip[joined]], np.int64)


def score_here(weights: Path, workers: int, hash_bits: int) -> ScoreChunks:
    """Return a function that scores chunks by ``workers`` threads of this process, each with its own searcher.

    If the caller of that function closes its generator early, the running searches are stopped.
    """

    def score(chunks: Iterable[BoardChunk]) -> Iterator[tuple[int, bytes | None]]:
        searchers: SimpleQueue[Searcher] = SimpleQueue()
        for _ in range(workers):
            searchers.put(Searcher(hash_bits=hash_bits, weights=Weights.load(weights)))
        control = Control()

        def one(chunk: BoardChunk) -> bytes | None:
            searcher = searchers.get()
            try:
                return score_chunk(searcher, chunk, control)
            finally:
                searchers.put(searcher)

        under_way: deque[tuple[int, Future[bytes | None]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            try:
                for number, chunk in enumerate(chunks):
                    under_way.append((number, pool.submit(one, chunk)))
                    if len(under_way) > _WAITING * workers:
                        first, scores = under_way.popleft()
                        yield first, scores.result()
                for first, scores in under_way:
                    yield first, scores.result()
            finally:
                # A caller that leaves early need not wait for the chunks in progress.
                control.stop()

    return score


def search_all(
    players: Boards,
    opponents: Boards,
    *,
    depth: int,
    selectivity: Selectivity,
    score: ScoreChunks,
    seconds: float,
    progress: StageProgress,
    checkpoint: Callable[[NDArray[np.int8]], None] = lambda values: None,
) -> NDArray[np.int8]:
    """Return int8 scores of boards in discs for the side to move; NO_LABEL for boards not reached before a stop or
    ``seconds`` (0: no limit).

    A ``depth`` of EXACT searches to the end at 100 %, whatever ``selectivity`` is. ``checkpoint`` is called with the
    scores about every `_SAVE_EVERY` seconds and at the end, even after an error. Raises `Unfinished` if ``score``
    cannot continue.
    """
    values = np.full(len(players), NO_LABEL, np.int8)
    plies, percent = (60, Selectivity.FULL) if depth == EXACT else (depth, selectivity)
    begun = saved = time.perf_counter()

    def chunks() -> Iterator[BoardChunk]:
        for first in range(0, len(players), CHUNK):
            if 0 < seconds < time.perf_counter() - begun:
                return
            part = slice(first, first + CHUNK)
            yield BoardChunk(players[part].tobytes(), opponents[part].tobytes(), plies, percent)

    done = 0
    try:
        for number, scores in score(chunks()):
            if scores is None:
                break
            values[number * CHUNK : number * CHUNK + len(scores)] = np.frombuffer(scores, np.int8)
            done += len(scores)
            now = time.perf_counter()
            progress.now_and_then(f"{done} of {len(players)} labels, {done / (now - begun):.0f} a second")
            if now - saved > _SAVE_EVERY:
                checkpoint(values)
                saved = now
    except Unfinished as error:
        raise Unfinished(f"{len(players) - done} of {len(players)} labels are missing: {error}") from None
    finally:
        progress.say(f"{done} of {len(players)} labels, {done / (time.perf_counter() - begun):.0f} a second")
        checkpoint(values)
    return values


def run(
    source: Path,
    out: Path,
    *,
    score: ScoreChunks,
    first: int,
    last: int,
    count: int,
    depth: int,
    selectivity: Selectivity,
    seed: int,
    seconds: float = 0.0,
    skip: list[Path],
    command: str,
) -> None:
    """Label up to ``count`` rows of each ply first..last of a positions file and write the labels to ``out``.

    A ``depth`` of EXACT (255) searches to the end. After ``seconds`` (0: no limit) the labels so far are written. Rows
    labelled in the files ``skip`` are left out. Labels that ``out`` already has are kept for the rows chosen and
    dropped for others. Raises `TrainingError` if these labels are of other positions, depth or selectivity, and
    `Unfinished` as `search_all` does.
    """
    progress = StageProgress("label")
    arrays, record = load(source)
    labelled = np.zeros(len(arrays["plies"]), np.bool_)
    for path in skip:
        labelled[load(path)[0]["rows"]] = True
    rows = choose(arrays, first, last, count, seed, labelled)
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
        old_arrays, old = load(out)
        if any(old[key] != made[key] for key in ("positions", "depth", "selectivity")):
            raise TrainingError(f"{out}: holds labels of another kind: {old}")
        old_values = dict(zip(old_arrays["rows"].tolist(), old_arrays["values"].tolist(), strict=True))
        values[:] = [old_values.get(row, NO_LABEL) for row in rows.tolist()]
        progress.say(f"{int((values != NO_LABEL).sum())} labels are there already")
    todo = np.flatnonzero(values == NO_LABEL)

    def write(fresh: NDArray[np.int8]) -> None:
        values[todo] = fresh
        made["complete"] = bool((fresh != NO_LABEL).all())
        have = values != NO_LABEL
        # Sorted rows compress to a quarter.
        order = np.argsort(rows[have])
        labels: Arrays = {
            "rows": rows[have][order].astype(np.int32),
            "values": values[have][order],
            "depths": np.full(len(order), depth, np.uint8),
        }
        save(out, labels, {**made, "labels": int(have.sum())}, compress=True)

    search_all(
        arrays["players"][rows[todo]],
        arrays["opponents"][rows[todo]],
        depth=depth,
        selectivity=selectivity,
        score=score,
        seconds=seconds,
        progress=progress,
        checkpoint=write,
    )


def adjudicate(games: Path, positions: Path, labels: list[Path], out: Path) -> None:
    """Give each of ``games`` the exact score of its earliest position that has one in ``labels``, and write all games
    to ``out``. A game with an exact score counts as finished; the others stay as they are.

    Results of games are full of endgame mistakes; exact scores at 12 to 16 empties are not. Raises `TrainingError` for
    labels of other positions than those of ``positions``.
    """
    from .positions import keys, visit

    progress = StageProgress("adjudicate")
    played, record = load(games)
    arrays, made = load(positions)
    exact = np.full(len(arrays["plies"]), NO_LABEL, np.int8)
    for path in labels:
        scored, about = load(path)
        if about["positions"] != made["digest"]:
            raise TrainingError(f"{path}: labels of positions {about['positions']}, not {made['digest']}")
        chosen = scored["depths"] == EXACT
        exact[scored["rows"][chosen]] = scored["values"][chosen]
    visits = visit(played)
    scores, finished = played["scores"].copy(), played["finished"].copy()
    starts = np.searchsorted(arrays["plies"], np.arange(62))
    settled = np.zeros(len(scores), np.bool_)
    for ply in range(61):
        rows = np.arange(starts[ply], starts[ply + 1])
        rows = rows[exact[rows] != NO_LABEL]
        if not len(rows):
            continue
        names = keys(arrays["players"][rows], arrays["opponents"][rows])
        order = np.argsort(names)
        part = visits.ply(ply)
        wanted = keys(visits.players[part], visits.opponents[part])
        place = np.minimum(np.searchsorted(names[order], wanted), len(order) - 1)
        hit = (names[order][place] == wanted) & ~settled[visits.games[part]]
        which = visits.games[part][hit]
        scores[which] = exact[rows[order[place[hit]]]] * visits.turns[part][hit]
        finished[which] = True
        settled[which] = True
    progress.say(f"{int(settled.sum())} of {len(scores)} games have an exact score")
    played["scores"], played["finished"] = scores, finished
    save(out, played, {**record, "adjudicated": int(settled.sum())}, compress=True)
