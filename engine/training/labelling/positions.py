"""Stage `positions`: from games to distinct positions, a row each.

Rows are canonical boards (the smallest of eight images), side to move first, sorted by ply. Kinds:

    human      positions of the games
    perturbed  1 to 3 random moves off positions of the games: what a search looks at and good players avoid
    opening    every position up to a ply

Whole games are held out for validation: one in twenty, and every game that visits a position of the truth files. A
position that a training game visits as well is a training position. `results` has the mean score, in discs for the side
to move, of a position's finished training games (for a held-out position, of its held-out games); NaN if there is none.
`counts` has the number of these games.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.training.store import Arrays, StageProgress, TrainingError, arrays_of, digest, load, save
from desdaemon.protocol.othello.rules import MOST_MOVES

from . import boards

HUMAN, PERTURBED, OPENING = 0, 1, 3
"""The kinds of positions; older files also have 2 and 4."""

HELD_OUT_SHARE = 20
"""One game in this many is held out."""


class Truth(NamedTuple):
    """Positions of one kind ("human", "perturbed") and number of empties, with exact scores, discs for the mover."""

    kind: str
    empties: int
    players: boards.Boards
    opponents: boards.Boards
    scores: NDArray[np.float32]


def read_truth(paths: list[Path]) -> list[Truth]:
    """Return the positions of truth files: npz files of arrays P<ply>, O<ply> (boards, mover first) and y<ply> (discs).

    "diverse" in a file's name means that its positions are perturbed ones. Other arrays are ignored. Raises
    `TrainingError` if a file is no intact npz file or has P of a ply without O and y.
    """
    truth = []
    for path in paths:
        kind = "perturbed" if "diverse" in path.name else "human"
        arrays = arrays_of(path)
        for ply in (name[1:] for name in arrays if name.startswith("P") and name[1:].isdigit()):
            if not arrays.keys() >= {f"O{ply}", f"y{ply}"}:
                raise TrainingError(f"{path}: has P{ply} without O{ply} and y{ply}")
            score = arrays[f"y{ply}"].astype(np.float32)
            truth.append(Truth(kind, 60 - int(ply), arrays[f"P{ply}"], arrays[f"O{ply}"], score))
    return truth


def keys(players: boards.Boards, opponents: boards.Boards) -> NDArray[np.uint64]:
    """Return a uint64 hash for each board; the boards must be canonical. Two different boards get the same hash with a
    chance of 2**-64.
    """
    mixed = (players ^ (players >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(32))) + opponents
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)


def canonical_keys(players: boards.Boards, opponents: boards.Boards) -> NDArray[np.uint64]:
    """Return the keys of the boards' canonical images; the boards are not changed."""
    own, other = players.copy(), opponents.copy()
    boards.canonize(own, other)
    return keys(own, other)


class Visits(NamedTuple):
    """Every pair (game, position) of a set of games, canonical, sorted by ply. Results are in discs for the side to
    move, NaN for unfinished games.
    """

    players: boards.Boards
    opponents: boards.Boards
    games: NDArray[np.int32]
    results: NDArray[np.float32]
    turns: NDArray[np.int8]
    """1 if the side to move began the game, else -1."""
    starts: NDArray[np.int64]
    """The first row of each ply, then the number of rows: 62 entries."""

    def ply(self, ply: int) -> slice:
        return slice(int(self.starts[ply]), int(self.starts[ply + 1]))


def visit(games: Arrays) -> Visits:
    """Return a row for each position of each game, canonical and sorted by ply. The positions are those that
    `boards.expand` writes; ``games`` are arrays of stage `games`.

    Results are in discs for the side to move, NaN for unfinished games.
    """
    most = int(games["lengths"].astype(np.int64).sum()) * 2 + 2 * len(games["lengths"])
    players, opponents = np.empty(most, np.uint64), np.empty(most, np.uint64)
    number, turns = np.empty(most, np.int32), np.empty(most, np.int8)
    count = boards.expand(games["squares"], games["lengths"], 0, 60, players, opponents, number, turns)
    players, opponents, number = players[:count], opponents[:count], number[:count]
    results = games["scores"].astype(np.float32)[number] * turns[:count]
    results[~games["finished"][number]] = np.nan
    ply = boards.plies(players, opponents)
    order = np.argsort(ply, kind="stable")
    starts = np.searchsorted(ply[order], np.arange(62)).astype(np.int64)
    players, opponents = players[order], opponents[order]
    boards.canonize(players, opponents)
    return Visits(players, opponents, number[order], results[order], turns[:count][order], starts)


def hold_out(visits: Visits, games: int, truth: list[Truth]) -> NDArray[np.bool_]:
    """Return a mask over all ``games`` games, true for those that are used for validation only: one in
    `HELD_OUT_SHARE` by lot, and all that visit a position of a part of ``truth`` whose kind is "human".

    The lot is the same for every seed of positions, so that files of several seeds can be fitted together.
    """
    held: NDArray[np.bool_] = np.random.default_rng([1, 1]).random(games) < 1 / HELD_OUT_SHARE
    for part in truth:
        if part.kind == "human":
            rows = visits.ply(60 - part.empties)
            in_truth = np.isin(
                keys(visits.players[rows], visits.opponents[rows]),
                canonical_keys(part.players, part.opponents),
            )
            held[visits.games[rows][in_truth]] = True
    return held


def _rows(
    players: boards.Boards,
    opponents: boards.Boards,
    held: NDArray[np.bool_],
    results: NDArray[np.float32],
    ply: int,
    kind: int,
) -> Arrays:
    """Return rows of one ply and kind, one for each distinct board. The arrays have an entry for each visit of a game
    to a canonical board; ``held`` says whether that game is held out.

    A row is held out if all its visits are. Its result is the mean of its visits' results, without those that are NaN
    and, unless the row is held out, without those of held-out games.
    """
    _, first, which = np.unique(keys(players, opponents), return_index=True, return_inverse=True)
    every = len(first)
    trained = np.bincount(which, weights=~held, minlength=every) > 0
    # The mean of a training position is over its training games only.
    used = ~np.isnan(results) & (held != trained[which])
    counts = np.bincount(which[used], minlength=every)
    sums = np.bincount(which[used], weights=results[used], minlength=every)
    means = np.full(every, np.nan, np.float32)
    np.divide(sums, counts, out=means, where=counts > 0, casting="unsafe")
    return {
        "players": players[first],
        "opponents": opponents[first],
        "plies": np.full(every, ply, np.uint8),
        "kinds": np.full(every, kind, np.uint8),
        "held": ~trained,
        "results": means,
        "counts": counts.astype(np.uint32),
    }


def played(visits: Visits, held: NDArray[np.bool_], ply: int) -> Arrays:
    """Return all positions that the games reached at one ply, as rows of the kind human. ``held`` is the mask of
    held-out games.
    """
    rows = visits.ply(ply)
    return _rows(
        visits.players[rows],
        visits.opponents[rows],
        held[visits.games[rows]],
        visits.results[rows],
        ply,
        HUMAN,
    )


def perturbed(visits: Visits, held: NDArray[np.bool_], ply: int, count: int, seed: int) -> Arrays:
    """Return at most ``count`` positions of one ply, 1 to 3 random moves off the games' positions; games that end on
    the way and repeated boards are dropped.

    A row is held out if all games that it comes from are.
    """
    random = np.random.default_rng([seed, 2, ply])
    steps = random.integers(1, 4, count).astype(np.uint8)
    steps = np.minimum(steps, ply).astype(np.uint8)
    begins = visits.starts[ply - steps.astype(np.int64)]
    sizes = visits.starts[ply - steps.astype(np.int64) + 1] - begins
    rows = begins + (random.random(count) * sizes).astype(np.int64)
    # Few or short games have no position of some plies.
    rows, steps = rows[sizes > 0], steps[sizes > 0]
    players, opponents = visits.players[rows], visits.opponents[rows]
    alive = np.empty(len(rows), np.bool_)
    boards.wander(players, opponents, steps, int(random.integers(1 << 62)), alive)
    # Full boards are rows of ply 60 though the game is over there.
    players, opponents = players[alive], opponents[alive]
    boards.canonize(players, opponents)
    results = np.full(len(players), np.nan, np.float32)
    return _rows(players, opponents, held[visits.games[rows]][alive], results, ply, PERTURBED)


def successors(
    players: boards.Boards, opponents: boards.Boards
) -> tuple[boards.Boards, boards.Boards, NDArray[np.int64]]:
    """Return all positions one move later, a forced pass made first, and for each the number of the board before."""
    most = MOST_MOVES * len(players)
    written = np.empty(most, np.uint64), np.empty(most, np.uint64), np.empty(most, np.int64)
    count = boards.successors(players, opponents, *written)
    return written[0][:count], written[1][:count], written[2][:count]


def openings(last: int) -> list[Arrays]:
    """Return rows of every position of plies 0 to ``last``, one set of rows for each ply."""
    players = np.array([boards.START_PLAYER], np.uint64)
    opponents = np.array([boards.START_OPPONENT], np.uint64)
    by_ply = []
    for ply in range(last + 1):
        boards.canonize(players, opponents)
        none = np.full(len(players), np.nan, np.float32)
        rows = _rows(players, opponents, np.zeros(len(players), np.bool_), none, ply, OPENING)
        by_ply.append(rows)
        players, opponents, _ = successors(rows["players"], rows["opponents"])
    return by_ply


def merge(parts: list[Arrays]) -> Arrays:
    """Return rows of one ply from several kinds; a board in more than one of ``parts`` is taken from the first."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    _, first = np.unique(keys(joined["players"], joined["opponents"]), return_index=True)
    return {name: array[first] for name, array in joined.items()}


class Taken(NamedTuple):
    """Boards that are not to be drawn again: the hash of each, sorted by ply; where each ply starts (62 entries)."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Arrays) -> Taken:
        return cls(keys(rows["players"], rows["opponents"]), np.searchsorted(rows["plies"], np.arange(62)))


def gather(
    games: Arrays,
    *,
    count: int,
    opening_plies: int,
    seed: int,
    truth: list[Truth],
    others: Sequence[Taken] = (),
    first: int = 0,
    last: int = 60,
) -> Arrays:
    """Return all rows of plies first..last: positions of the games, up to ``count`` perturbed ones for each ply, and
    all positions up to ply ``opening_plies`` (-1: none).

    Boards of the truth files or of ``others`` are left out.
    """
    progress = StageProgress("positions")
    visits = visit(games)
    progress.say(f"{len(visits.players)} positions in {len(games['lengths'])} games")
    held = hold_out(visits, len(games["lengths"]), truth)
    progress.say(f"{int(held.sum())} games held out")
    opened = openings(opening_plies) if opening_plies >= 0 else []
    excluded = [canonical_keys(part.players, part.opponents) for part in truth]
    forbidden = np.concatenate(excluded) if excluded else np.empty(0, np.uint64)
    whole = []
    for ply in range(first, last + 1):
        parts = [played(visits, held, ply)]
        if count and ply:
            parts.append(perturbed(visits, held, ply, count, seed))
        if ply < len(opened):
            parts.append(opened[ply])
        rows = merge(parts)
        row_keys = keys(rows["players"], rows["opponents"])
        allowed = ~np.isin(row_keys, forbidden)
        for other in others:
            allowed &= ~np.isin(row_keys, other.keys[other.starts[ply] : other.starts[ply + 1]])
        whole.append({name: array[allowed] for name, array in rows.items()})
        progress.now_and_then(f"ply {ply}")
    arrays = {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}
    progress.say(f"{len(arrays['plies'])} rows")
    return arrays


def run(
    games: Path,
    out: Path,
    *,
    perturbed: int,
    openings: int,
    seed: int,
    truth: list[Path],
    except_: Sequence[Path] = (),
    plies: tuple[int, int] = (0, 60),
) -> None:
    """Read games and write the positions of `gather` to ``out``, without those in the files ``except_``."""
    played, made = load(games)
    others, digests = [], []
    for path in except_:
        rows, about = load(path)
        others.append(Taken.of(rows))
        digests.append(about["digest"])
    arrays = gather(
        played,
        count=perturbed,
        opening_plies=openings,
        seed=seed,
        truth=read_truth(truth),
        others=others,
        first=plies[0],
        last=plies[1],
    )
    record = {
        "stage": "positions",
        "games": made,
        "perturbed_a_ply": perturbed,
        "plies": plies,
        "openings_to_ply": openings,
        "seed": seed,
        "except": digests,
        "rows": len(arrays["plies"]),
        "digest": digest(arrays["players"], arrays["opponents"]),
    }
    save(out, arrays, record)
