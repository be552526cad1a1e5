"""Stage `tempo`: a network's constants moved until searches of odd and of even depths agree.

If the evaluation gives the side to move e discs too much, a search of even depth, after whose last move the same side
is to move, scores e too high, and one of odd depth e too low. So the scores of a position at depths d - 1, d and d + 1
tell the excess of the plies where these searches end: for an even d, the score at d less the mean of the other two is

    excess[ply + d] + (excess[ply + d - 1] + excess[ply + d + 1]) / 2

on average, and for an odd d its negative. Many positions of many plies are searched, and the excess of all plies is
fitted to their differences by least squares. It is then taken off the constants of the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.evaluation.weights_file import read, write_shipped
from desdaemon.engine.layout import NETWORK_SHIFT, PLIES
from desdaemon.protocol.othello.rules import legal_moves
from desdaemon.protocol.othello.selectivity import Selectivity

from .labelling.labels import HASH_BITS, choose, score_here, search_all
from .store import Arrays, StageProgress, TrainingError, load, save_json

Floats: TypeAlias = NDArray[np.float64]

DEPTHS = range(1, 10)
"""Depths of the searches, in plies."""

SELECTIVITY = Selectivity(73)
"""As levels search."""

LAST_ENDS = 51
"""The last ply at which searches end: later ones would be near enough to the game's end to be exact."""

MOST = 30
"""Greatest score at depth 1, in discs of either side, of a position that counts: farther off, scores are compressed."""

FEWEST = 20
"""Least number of positions of a ply for its differences to count."""

STEP = 0.15
"""Expected difference in discs of the excess of neighbouring plies. It decides how much they borrow from each other."""

_ONE = 128 * 2**NETWORK_SHIFT
"""Stored units of a constant in a disc."""


class Difference(NamedTuple):
    """What the positions of a ply tell of the excess where their searches of ``depth`` plies end, in discs."""

    ply: int
    depth: int
    mean: float
    error: float
    """The standard error of the mean."""


def differences(plies: NDArray[Any], scores: Floats) -> list[Difference]:
    """Return the differences of positions of ``plies``, an array with a row of ``scores`` for each depth of `DEPTHS`:
    discs for the side to move.
    """
    found = []
    usable = np.abs(scores[0]) <= MOST
    for ply in np.unique(plies[usable]).tolist():
        of_ply = scores[:, usable & (plies == ply)]
        number = of_ply.shape[1]
        for k, depth in enumerate(DEPTHS):
            if 0 < k < len(DEPTHS) - 1 and ply + depth < LAST_ENDS and number >= FEWEST:
                beside = (of_ply[k - 1] + of_ply[k + 1]) / 2
                signed = (of_ply[k] - beside) * (1 if depth % 2 == 0 else -1)
                error = max(float(signed.std()) / number**0.5, 0.01)
                found.append(Difference(ply, depth, float(signed.mean()), error))
    return found


def excesses(found: list[Difference]) -> Floats:
    """Return the excess of each ply in discs: what the evaluation gives the side to move too much.

    Plies at which no search ended get that of the nearest ply.
    """
    rows = np.zeros((len(found), PLIES))
    wanted = np.array([each.mean for each in found])
    for row, each in zip(rows, found, strict=True):
        end = each.ply + each.depth
        row[end - 1 : end + 2] = 0.5, 1, 0.5
    errors = np.array([each.error for each in found])
    steps = (np.eye(PLIES) - np.eye(PLIES, k=1))[:-1] / STEP
    matrix = np.concatenate([rows / errors[:, None], steps])
    right = np.concatenate([wanted / errors, np.zeros(len(steps))])
    solution: Floats = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return solution


def less(network: Network, excess: Floats) -> Network:
    """Return the network whose evaluations are lower by ``excess``, discs for each ply, before the score curve."""
    heads = [
        head._replace(constant=head.constant - round(float(discs) * _ONE))
        for head, discs in zip(network.heads, excess, strict=True)
    ]
    return network._replace(heads=tuple(heads))


def _movable(arrays: Arrays, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of ``rows`` whose side to move has a move."""
    boards = zip(arrays["players"][rows].tolist(), arrays["opponents"][rows].tolist(), strict=True)
    return np.asarray(rows[[legal_moves(*board) != 0 for board in boards]], np.int64)


def run(
    positions: Path,
    weights: Path,
    out: Path,
    *,
    plies: tuple[int, int],
    count: int,
    rounds: int,
    name: str,
    seed: int,
    workers: int,
    small: bool,
    command: str,
) -> None:
    """Write the network ``weights`` to ``out`` with its constants moved: in each round by the excess that searches of
    up to ``count`` positions of each ply show. The record, with the excess taken off, is written beside ``out`` too.

    Raises `TrainingError` if the weights are no network, or if no ply has `FEWEST` positions.
    """
    progress = StageProgress("tempo")
    network, record = read(weights)
    if not isinstance(network, Network):
        raise TrainingError(f"{weights}: expected a network")
    # The errors in the record are of the network before.
    record.pop("validation", None)
    arrays, made = load(positions)
    total = np.zeros(PLIES)
    for number in range(rounds):
        rows = _movable(arrays, choose(arrays, *plies, count, seed + number, arrays["held"]))
        players, opponents = arrays["players"][rows], arrays["opponents"][rows]
        score = score_here(out if number else weights, workers, HASH_BITS)
        scores = [
            search_all(
                players,
                opponents,
                depth=depth,
                selectivity=SELECTIVITY,
                score=score,
                seconds=0,
                progress=progress,
            ).astype(np.float64)
            for depth in DEPTHS
        ]
        found = differences(arrays["plies"][rows], np.array(scores))
        if not found:
            raise TrainingError(f"{positions}: no ply has {FEWEST} positions whose searches end by ply {LAST_ENDS}")
        excess = excesses(found)
        progress.say(f"round {number + 1}: excess {' '.join(f'{discs:+.2f}' for discs in excess)}")
        network, total = less(network, excess), total + excess
        tempo = {"command": command, "positions": made["digest"], "excess": [round(discs, 3) for discs in total]}
        record |= {"name": name, "tempo": tempo}
        write_shipped(out, network, record, small=small and number == rounds - 1)
    save_json(out.with_suffix(".json"), record, indent=1)
