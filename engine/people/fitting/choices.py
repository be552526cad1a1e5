"""What `desdaemon.engine.people.policy` looks up for the moves of many positions, in compiled loops and arrays."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.kernels.bits import flip, popc
from desdaemon.engine.kernels.bits import moves as legal_moves
from desdaemon.engine.limits import Limits
from desdaemon.engine.people import policy
from desdaemon.engine.people.policy import (
    FIRST,
    GROUPS,
    LOSSES,
    MOST,
    OFTEN,
    PHASE_PLIES,
    PHASES,
    RANKS,
    RELATIONS,
    SHARES,
    VALUES,
)
from desdaemon.engine.search import Searcher
from desdaemon.engine.training.compiled import compiled, inlined
from desdaemon.engine.training.labelling import boards
from desdaemon.engine.training.labelling.boards import Boards
from desdaemon.engine.training.store import StageProgress
from desdaemon.protocol.othello.rules import CORNERS, NOT_A, NOT_H, PASS

from .games import Floats, Positions, moves_of

NEWCOMER = 1250
"""The rating that a player without one counts as."""
COLUMN = {name: k for k, name in enumerate(GROUPS)}
"""The column of each group in `Choices.small`."""

_FIRST = np.array(list(FIRST.values()))
_SQUARE, _MOBILITY, _TURNED, _OPENNESS = (COLUMN[name] for name in ("square", "mobility", "turned", "openness"))
_REGION, _CORNERS, _SHARED, _MOVES, _LAST = (COLUMN[name] for name in ("region", "corners", "shared", "moves", "last"))
_MORE_MOBILITY, _MORE_OPENNESS = COLUMN["more mobility"], COLUMN["more openness"]


class Openings(NamedTuple):
    """How often people chose each move of positions that occurred at least ``OFTEN[0]`` times.

    ``pairs`` are the moves, each as 64 * position key + square, ascending, ``counts`` how often each was chosen;
    ``keys`` are the positions, ``totals`` how often each occurred.
    """

    pairs: Boards
    counts: NDArray[np.int64]
    keys: Boards
    totals: NDArray[np.int64]

    @classmethod
    def of(cls, positions: Positions) -> Openings:
        """Return the counts of those positions that occur at least ``OFTEN[0]`` times in ``positions``."""
        keys = board_keys(positions.players, positions.opponents)
        pairs, counts = np.unique(keys << np.uint64(6) | positions.squares.astype(np.uint64), return_counts=True)
        own = pairs >> np.uint64(6)
        begins = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        totals = np.add.reduceat(counts, begins)
        often = totals >= OFTEN[0]
        kept = np.repeat(often, np.diff(np.append(begins, len(own))))
        return cls(pairs[kept], counts[kept], own[begins][often], totals[often])

    def found(self, keys: Boards, squares: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how often each move was chosen, and how often its position occurred; 0 if unknown. Move k is
        ``squares[k]`` in the position with the key ``keys[k]``.
        """
        wanted = keys << np.uint64(6) | squares.astype(np.uint64)
        return _looked_up(self.pairs, self.counts, wanted), _looked_up(self.keys, self.totals, keys)

    def packed(self) -> policy.KnownOpenings:
        """Return these openings in the form that the policy looks up."""
        steps = np.searchsorted(OFTEN, self.totals, side="right") - 1
        shares = _shares(self.counts, np.repeat(self.totals, self._moves_each()))
        starts, moves, place = array("I", [0]), bytearray(), 0
        for step, number in zip(steps.tolist(), self._moves_each().tolist(), strict=True):
            moves.append(step)
            for k in range(place, place + number):
                moves += bytes([int(self.pairs[k]) & 63, int(shares[k])])
            place += number
            starts.append(len(moves))
        return policy.KnownOpenings(array("I", self.keys.tolist()), starts, bytes(moves))

    def _moves_each(self) -> NDArray[np.int64]:
        own = self.pairs >> np.uint64(6)
        return np.searchsorted(own, self.keys, side="right") - np.searchsorted(own, self.keys)


def _looked_up(names: Boards, numbers: NDArray[np.int64], wanted: Boards) -> NDArray[np.int64]:
    if not len(names):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[place] == wanted, numbers[place], 0)


def board_keys(players: Boards, opponents: Boards) -> Boards:
    """Return the `policy.board_key` of each board."""
    mixed = players * np.uint64(0x9E3779B97F4A7C15) + opponents * np.uint64(0xBF58476D1CE4E5B9)
    keys: Boards = ((mixed ^ mixed >> np.uint64(29)) * np.uint64(0x94D049BB133111EB)) >> np.uint64(32)
    return keys


def _shares(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the `policy.share_step` of each of ``counts`` and its total."""
    steps = 1 + (1.5 * np.log2(totals / np.maximum(1, counts))).astype(np.int64)
    return np.where(counts > 0, np.minimum(SHARES - 1, steps), 0)


class Choices(NamedTuple):
    """Positions with a choice, and the number of the chosen move, from 0.

    ``children`` (boards after the move), ``squares`` and ``small`` (indices of rows, in the order of
    `policy.GROUPS`) have an entry for each legal move: those of position k are ``starts[k]`` to ``starts[k + 1]`` - 1.
    """

    positions: Positions
    chosen: NDArray[np.int64]
    starts: NDArray[np.int64]
    children: tuple[Boards, Boards]
    squares: NDArray[np.int64]
    small: NDArray[np.uint16]

    @property
    def above(self) -> Floats:
        """The ratings' differences from `policy.MEAN_RATING`, in units of `policy.RATING_UNIT`; those of players
        without a rating count as `NEWCOMER`.
        """
        ratings = np.where(np.isnan(self.positions.ratings), np.float32(NEWCOMER), self.positions.ratings)
        return (ratings - np.float32(policy.MEAN_RATING)) / np.float32(policy.RATING_UNIT)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The number of the position of each move."""
        return np.repeat(np.arange(len(self.chosen)), np.diff(self.starts))

    @property
    def phases(self) -> NDArray[np.int64]:
        """The phase of the position of each move."""
        plies = boards.plies(*self.positions[:2]).astype(np.int64)
        return np.minimum(PHASES - 1, plies // PHASE_PLIES)[self.parents]

    def look_up(self, group: str, values: NDArray[np.float64]) -> None:
        """Write into ``small``, for each move, the index of what it loses by the mover's ``values`` of all moves."""
        best = np.repeat(np.maximum.reduceat(values, self.starts[:-1]), np.diff(self.starts))
        steps = (len(LOSSES) + 1) * self.phases + np.searchsorted(LOSSES, best - values)
        self.small[:, COLUMN[group]] = FIRST[group] + steps

    def rank(self, values: NDArray[np.float64]) -> None:
        """Write into ``small``, for each move, the index of how many moves are better by the mover's ``values``."""
        order = np.lexsort((-values, self.parents))
        places = np.arange(len(order))
        before = values[order][:-1]
        fresh = np.append(True, (values[order][1:] != before) | np.diff(self.parents[order]).astype(bool))
        first = np.maximum.accumulate(np.where(fresh, places, 0))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = first - self.starts[self.parents[order]]
        self.small[:, COLUMN["rank"]] = FIRST["rank"] + RANKS * self.phases + np.minimum(RANKS - 1, ranks)


def choices(positions: Positions, openings: Openings, *, own: bool) -> Choices:
    """Return ``positions`` with all that is looked up for their moves; the indices of searched values are 0.

    With ``own`` the counts of ``openings`` include these positions: each position's own choice is then subtracted.
    """
    legal = moves_of(positions.players, positions.opponents)
    starts = np.append(0, np.cumsum(np.bitwise_count(legal).astype(np.int64)))
    children = np.empty(starts[-1], np.uint64), np.empty(starts[-1], np.uint64)
    parents = np.empty(starts[-1], np.int64)
    boards.successors(positions.players, positions.opponents, *children, parents)
    before = (positions.players | positions.opponents)[parents]
    squares = np.bitwise_count((children[0] | children[1]) - before - np.uint64(1)).astype(np.int64)
    is_chosen = squares == positions.squares[parents]
    count, total = openings.found(board_keys(positions.players, positions.opponents)[parents], squares)
    if own:
        count, total = count - is_chosen, total - 1
    known = SHARES * (np.searchsorted(OFTEN, total, side="right") - 1) + _shares(count, np.maximum(1, total))
    places = np.array([each.place for each in policy.square_patterns()])
    small = np.zeros((len(squares), len(GROUPS)), np.uint16)
    _describe(positions, starts, squares, places, small)
    small[:, COLUMN["known"]] = np.where(total >= OFTEN[0], FIRST["known"] + known, 0)
    chosen = np.flatnonzero(is_chosen) - starts[:-1]
    found = Choices(positions, chosen, starts, children, squares, small)
    found.look_up("static", -_static(*children))
    return found


@inlined
def _openness(turned: Any, empty: Any) -> Any:
    left = (turned << np.uint64(1)) & np.uint64(NOT_A)
    right = (turned >> np.uint64(1)) & np.uint64(NOT_H)
    total = popc(left & empty) + popc(right & empty)
    for each in (left, turned, right):
        total += popc((each >> np.uint64(8)) & empty) + popc((each << np.uint64(8)) & empty)
    return total


@inlined
def _region_size(empty: Any, square: Any) -> Any:
    region = np.uint64(1) << square
    before = np.uint64(0)
    while region != before:
        before = region
        row = region | ((region << np.uint64(1)) & np.uint64(NOT_A)) | ((region >> np.uint64(1)) & np.uint64(NOT_H))
        region = (row | (row << np.uint64(8)) | (row >> np.uint64(8))) & empty
    return popc(region)


@compiled
def _describe(
    positions: Positions,
    starts: NDArray[np.int64],
    squares: NDArray[np.int64],
    places: NDArray[np.int64],
    small: NDArray[np.uint16],
) -> None:
    """Write the indices that depend on the boards and the last moves alone into ``small``. ``places`` are the squares'
    places in the triangle.
    """
    for i in range(len(starts) - 1):
        player, opponent, last = positions.players[i], positions.opponents[i], positions.last[i]
        empty = ~(player | opponent)
        shared = legal_moves(opponent, player)
        phase = min(PHASES - 1, (60 - popc(empty)) // PHASE_PLIES)
        least = np.array([65535, 65535])
        for c in range(starts[i], starts[i + 1]):
            move = squares[c]
            bit = np.uint64(1) << np.uint64(move)
            turned = flip(np.uint64(move), player, opponent)
            replies = legal_moves(opponent ^ turned, player | turned | bit)
            small[c, _SQUARE] = _FIRST[_SQUARE] + 9 * phase + places[move]
            small[c, _MOBILITY] = _FIRST[_MOBILITY] + (MOST + 1) * phase + min(MOST, popc(replies))
            small[c, _TURNED] = _FIRST[_TURNED] + (MOST + 1) * phase + min(MOST, popc(turned))
            small[c, _OPENNESS] = _FIRST[_OPENNESS] + (MOST + 1) * phase + min(MOST, _openness(turned, empty & ~bit))
            small[c, _REGION] = _FIRST[_REGION] + (MOST + 1) * phase + min(MOST, _region_size(empty, np.uint64(move)))
            small[c, _CORNERS] = _FIRST[_CORNERS] + 3 * phase + min(2, popc(replies & np.uint64(CORNERS)))
            small[c, _SHARED] = _FIRST[_SHARED] + 2 * phase + np.int64((shared >> np.uint64(move)) & np.uint64(1))
            small[c, _MOVES] = _FIRST[_MOVES] + min(MOST, starts[i + 1] - starts[i])
            least[0] = min(least[0], small[c, _MOBILITY])
            least[1] = min(least[1], small[c, _OPENNESS])
            if last != PASS:
                distance = max(abs((move & 7) - (last & 7)), abs((move >> 3) - (last >> 3)))
                hit = np.int64((turned >> np.uint64(last)) & np.uint64(1))
                small[c, _LAST] = _FIRST[_LAST] + RELATIONS * phase + 2 * (distance - 1) + hit
        for c in range(starts[i], starts[i + 1]):
            small[c, _MORE_MOBILITY] = (
                _FIRST[_MORE_MOBILITY] + RANKS * phase + min(RANKS - 1, small[c, _MOBILITY] - least[0])
            )
            small[c, _MORE_OPENNESS] = (
                _FIRST[_MORE_OPENNESS] + RANKS * phase + min(RANKS - 1, small[c, _OPENNESS] - least[1])
            )


def _static(players: Boards, opponents: Boards) -> NDArray[np.float64]:
    sums = np.empty(len(players), np.int64)
    own, other, found = (each.ctypes.data for each in (players, opponents, sums))
    Searcher(hash_bits=10).score_many(own, other, found, len(sums), Limits(0))
    return sums / 128


def search(choices: Choices, said: StageProgress) -> NDArray[np.float64]:
    """Search all moves as the policy does and return their values, (depths, moves), in discs for the mover; write the
    indices of these values into ``small``.
    """
    found = policy.MoveValues()
    values = np.empty((1 + len(policy.DEPTHS), len(choices.squares)))
    children = list(zip(*(each.tolist() for each in choices.children), strict=True))
    starts = choices.starts.tolist()
    for k, (begin, end) in enumerate(pairwise(starts)):
        values[:, begin:end] = found.of(children[begin:end])
        if k % 1000 == 0:
            said.now_and_then(f"{k} of {len(starts) - 1} positions searched")
    for name, each in zip(VALUES, values, strict=True):
        choices.look_up(name, each)
    choices.rank(values[-1])
    return values
