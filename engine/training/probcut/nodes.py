"""Sampled nodes of the engine's searches with scores of shallow and deep searches: the data of ProbCut's fit.

Positions of held-out games are searched at the limits of levels, and the compiled search keeps a sample of the nodes
where a cut is tried (`kernels.midgame.sample`), equally many for each depth, searches to the end counted apart. A node
has the bound that it was searched with, because its scores matter only near the bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.layout import PROBCUT_DEPTHS, SAMPLED
from desdaemon.engine.limits import Limits
from desdaemon.engine.memory import Block
from desdaemon.engine.probcut import stand_in
from desdaemon.engine.search import Searcher
from desdaemon.engine.training.store import Arrays, StageProgress, TrainingError
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity

OPEN = 40
"""Largest bound of a node in discs, of either sign; nodes beyond it say little about close games."""

CLOSE_TO = 24
"""Largest evaluation of a position that is searched, in discs, of either sign."""

FULL_COUNT = 2000
"""Number of searches for which `BEFORE` and `TO_THE_END` give the numbers of nodes that are measured."""

FEWEST = 40
"""Least number of nodes measured in each large class that has them, even if few searches are requested."""

BEFORE = {
    **dict.fromkeys(range(3, 9), (1500, 100)),
    9: (1200, 100),
    10: (1000, 99),
    11: (700, 99),
    12: (500, 99),
    13: (240, 98),
    14: (200, 98),
    15: (100, 98),
    16: (70, 98),
    17: (30, 98),
    18: (20, 98),
}
"""By depth, for searches that end before the game: number of nodes, and percent of the reference search."""

TO_THE_END = {
    **dict.fromkeys(range(13, 17), (600, 100)),
    17: (300, 100),
    18: (240, 100),
    19: (160, 99),
    20: (120, 99),
    21: (80, 98),
    22: (60, 98),
}
"""By empties, for searches to the end: number of nodes, and percent of the reference search."""

_CHUNK = 16


class Nodes(NamedTuple):
    """Columns: boards (mover first), lower bounds of null windows in discs, depths in plies, search numbers."""

    players: NDArray[np.uint64]
    opponents: NDArray[np.uint64]
    alphas: NDArray[np.int64]
    depths: NDArray[np.int64]
    searches: NDArray[np.int64]

    @property
    def empties(self) -> NDArray[np.int64]:
        return np.asarray(64 - np.bitwise_count(self.players | self.opponents).astype(np.int64))

    def at(self, rows: NDArray[np.int64]) -> Nodes:
        boards = self.players[rows], self.opponents[rows]
        return Nodes(*boards, self.alphas[rows], self.depths[rows], self.searches[rows])


class Measured(NamedTuple):
    """Nodes with their scores, in discs for the mover."""

    nodes: Nodes
    static: NDArray[np.float64]
    """Unrounded evaluations."""
    shallow: NDArray[np.float64]
    """Scores of the reduced searches, at a selectivity of 87 %."""
    deep: NDArray[np.float64]

    @property
    def to_the_end(self) -> NDArray[np.bool_]:
        """Whether the deep search of each node goes to the end."""
        return np.asarray(self.nodes.depths >= self.nodes.empties)

    @property
    def stand_ins(self) -> NDArray[np.int64]:
        """Plies of the reduced search of each node."""
        pairs = zip(self.nodes.empties.tolist(), self.nodes.depths.tolist(), strict=True)
        return np.array([stand_in(empties, depth) for empties, depth in pairs], np.int64)

    def at(self, rows: NDArray[np.bool_]) -> Measured:
        return Measured(self.nodes.at(np.flatnonzero(rows)), self.static[rows], self.shallow[rows], self.deep[rows])


def limits_of(empties: int, dice: np.random.Generator) -> Limits:
    """Return random limits for a search with ``empties``, like those of levels. The search goes to the end with up to
    16 empties and mostly with up to 24, else 8 to 18 plies deep, at a random selectivity below 100 %. Most searches do
    not reach the node limit.
    """
    if empties <= 16 or (empties <= 24 and dice.random() < 0.7):
        return Limits(empties, Selectivity(dice.choice(SELECTIVITIES[:5])), 20_000_000)
    return Limits(
        int(dice.integers(8, min(18, empties - 1) + 1)), Selectivity(dice.choice((73, 73, 87, 95, 98))), 8_000_000
    )


def gather(arrays: Arrays, weights: Weights, *, count: int, seed: int, workers: int, progress: StageProgress) -> Nodes:
    """Search up to ``count`` held-out positions with 11 to 52 empties, and return nodes of these searches with bounds
    of at most `OPEN` discs. Positions whose evaluation is over `CLOSE_TO` discs are not searched.

    ``arrays`` come from stage `positions`. Raises `TrainingError` if there are no such positions.
    """
    starts = np.searchsorted(arrays["plies"], np.arange(62))
    held = {ply: starts[ply] + np.flatnonzero(arrays["held"][starts[ply] : starts[ply + 1]]) for ply in range(8, 50)}
    plies = [ply for ply, rows in held.items() if len(rows)]
    if not plies:
        raise TrainingError("no held-out positions with 11 to 52 empties")
    words = 1 + 4 * SAMPLED
    searchers: SimpleQueue[tuple[Searcher, Block]] = SimpleQueue()
    for _ in range(workers):
        searchers.put((Searcher(hash_bits=20, weights=weights), Block(2 * PROBCUT_DEPTHS * words * 8)))

    def work(number: int) -> list[tuple[int, ...]]:
        dice = np.random.default_rng([seed, 4, number])
        row = int(dice.choice(held[int(dice.choice(plies))]))
        player, opponent = int(arrays["players"][row]), int(arrays["opponents"][row])
        searcher, block = searchers.get()
        try:
            if abs(searcher.evaluate(player, opponent)) > CLOSE_TO:
                return []
            block.clear()
            searcher.clear()
            searcher.sample(block.address)
            searcher.search(player, opponent, limits_of(64 - (player | opponent).bit_count(), dice))
            searcher.sample(0)
            sample = np.frombuffer(memoryview(block.words()), np.uint64).reshape(-1, words)
            nodes_of_search: list[tuple[int, ...]] = []
            for kind in np.flatnonzero(sample[:, 0]).tolist():
                slots = sample[kind, 1:].reshape(-1, 4)[: int(sample[kind, 0])]
                bounds = slots[:, 2].view(np.int64).tolist()
                for own, other, alpha in zip(slots[:, 0].tolist(), slots[:, 1].tolist(), bounds, strict=True):
                    if abs(alpha) <= OPEN:
                        nodes_of_search.append((own, other, alpha, kind % PROBCUT_DEPTHS, number))
            return nodes_of_search
        finally:
            searchers.put((searcher, block))

    rows: list[tuple[int, ...]] = []
    with ThreadPoolExecutor(workers) as pool:
        for number, nodes_of_search in enumerate(pool.map(work, range(count))):
            rows += nodes_of_search
            progress.now_and_then(f"{number + 1} of {count} searches: {len(rows)} nodes")
    own, other, *rest = list(zip(*rows, strict=True)) or [()] * 5
    return Nodes(np.array(own, np.uint64), np.array(other, np.uint64), *(np.array(column, np.int64) for column in rest))


def classes(nodes: Nodes, *, count: int, seed: int) -> list[tuple[str, Nodes, Limits]]:
    """Return the classes of nodes to measure, as (name, nodes, limits of the search for the reference score): one for
    each depth in `BEFORE`, of nodes whose search ends before the game, and one for each in `TO_THE_END`.

    A class is drawn at random by ``seed``, at most as many nodes as these tables say. ``count`` is the number of
    searches that ``nodes`` come from. If it is below `FULL_COUNT`, the classes are smaller in proportion, large ones
    not below `FEWEST`.
    """
    sampled = []
    to_the_end = nodes.depths >= nodes.empties
    for name, ending, plan in (("before", False, BEFORE), ("end", True, TO_THE_END)):
        for depth, (most, percent) in plan.items():
            rows = np.flatnonzero((nodes.depths == depth) & (to_the_end == ending))
            rows = np.random.default_rng([seed, 5, depth, ending]).permutation(rows)
            few = min(most, max(FEWEST if most > FEWEST * 5 else 0, most * count // FULL_COUNT))
            sampled.append((f"{name}-{depth}", nodes.at(rows[:few]), Limits(depth, Selectivity(percent))))
    return sampled


def measure(nodes: Nodes, truth: Limits, weights: Weights, workers: int) -> Measured:
    """Return ``nodes``, all of one class, with three scores of each: static, by the reduced search, and by a search
    within ``truth``.

    Each of the ``workers`` threads clears its table before every sixteen nodes, so that the scores do not depend on
    their number.
    """
    searchers: SimpleQueue[Searcher] = SimpleQueue()
    for _ in range(workers):
        searchers.put(Searcher(hash_bits=20, weights=weights))
    scores = np.zeros((3, len(nodes.players)))
    # A class has one depth, and so one reduced search.
    shallow = stand_in(int(nodes.empties[0]), truth.depth) if len(nodes.players) else 0
    # Shallow before deep, so that the table never has a deeper result than the search asks for.
    plan = (Limits(0), Limits(shallow, Selectivity.PERCENT_87), truth)

    def work(begin: int) -> None:
        searcher = searchers.get()
        own, other = (column[begin : begin + _CHUNK].copy() for column in (nodes.players, nodes.opponents))
        part = np.empty(len(own), np.int64)
        searcher.clear()
        for column, limits in enumerate(plan):
            searcher.score_many(own.ctypes.data, other.ctypes.data, part.ctypes.data, len(own), limits)
            scores[column, begin : begin + _CHUNK] = part / (1 if limits.depth else 128)
        searchers.put(searcher)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(0, len(nodes.players), _CHUNK)))
    return Measured(nodes, *scores)
