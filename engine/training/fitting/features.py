"""Indices of boards' configurations, and sums of weights over them.

A row of indices has a uint16 for each pattern: the packed number of its configuration within its class. This number
plus the pattern's offset in `OFFSETS` is the index of a weight of a ply. The constant has no index. Rows may have
Edax's patterns only; the weights of the other patterns are then left alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.patterns import CONSTANT
from desdaemon.engine.training.compiled import compiled, spread
from desdaemon.engine.training.labelling.boards import Boards

Indices: TypeAlias = NDArray[np.uint16]
Weights: TypeAlias = NDArray[np.float32]

OFFSETS = np.array([patterns.CLASSES[k].packed_offset for k in patterns.INSTANCE_CLASS], np.int64)
"""For each pattern, the index of its class's first weight among a ply's weights."""

_LENGTHS = np.array([len(squares) for squares in patterns.INSTANCES], np.int64)
_SQUARES = np.array([squares + (0,) * (10 - len(squares)) for squares in patterns.INSTANCES], np.int64)
_TABLES = np.array([patterns.CLASSES[k].table_offset for k in patterns.INSTANCE_CLASS], np.int64)


def _local_packing() -> NDArray[np.uint16]:
    places = np.array(patterns.packing(), np.int64)
    for pattern in patterns.CLASSES:
        places[pattern.table_offset : pattern.table_offset + pattern.table_size] -= pattern.packed_offset
    return places.astype(np.uint16)


_PACKING = _local_packing()


@compiled
def _index(
    players: Boards,
    opponents: Boards,
    squares: NDArray[np.int64],
    lengths: NDArray[np.int64],
    tables: NDArray[np.int64],
    packing: NDArray[np.uint16],
    out: Indices,
) -> None:
    digits = np.empty(64, np.int64)
    for i in range(players.shape[0]):
        for square in range(64):
            own = (players[i] >> np.uint64(square)) & np.uint64(1)
            other = (opponents[i] >> np.uint64(square)) & np.uint64(1)
            digits[square] = 2 - 2 * np.int64(own) - np.int64(other)
        for k in range(out.shape[1]):
            number = 0
            for j in range(lengths[k]):
                number = number * 3 + digits[squares[k, j]]
            out[i, k] = packing[tables[k] + number]


def index(players: Boards, opponents: Boards, threads: int = 1, instances: int = len(patterns.INSTANCES)) -> Indices:
    """Return the indices of boards, uint16 (boards, ``instances``): those of the first ``instances`` patterns."""
    out = np.empty((len(players), instances), np.uint16)

    def work(begin: int, end: int) -> None:
        part = slice(begin, end)
        _index(players[part], opponents[part], _SQUARES, _LENGTHS, _TABLES, _PACKING, out[part])

    spread(work, len(players), threads)
    return out


@compiled
def _predict(indices: Indices, offsets: NDArray[np.int64], weights: Weights, out: NDArray[np.float32]) -> None:
    constant = weights[CONSTANT]
    for i in range(indices.shape[0]):
        total = constant
        for k in range(indices.shape[1]):
            total += weights[offsets[k] + np.int64(indices[i, k])]
        out[i] = total


def predict(indices: Indices, weights: Weights, threads: int = 1) -> NDArray[np.float32]:
    """Return for each row of indices the sum of its weights, in discs, which may exceed 64; ``weights`` are a ply's."""
    out = np.empty(len(indices), np.float32)

    def work(begin: int, end: int) -> None:
        _predict(indices[begin:end], OFFSETS, weights, out[begin:end])

    spread(work, len(indices), threads)
    return out


@compiled
def _normal(
    indices: Indices,
    offsets: NDArray[np.int64],
    strengths: NDArray[np.float32],
    direction: Weights,
    out: Weights,
) -> None:
    for i in range(indices.shape[0]):
        total = direction[CONSTANT]
        for k in range(indices.shape[1]):
            total += direction[offsets[k] + np.int64(indices[i, k])]
        total *= strengths[i]
        for k in range(indices.shape[1]):
            out[offsets[k] + np.int64(indices[i, k])] += total
        out[CONSTANT] += total


@compiled
def _scatter(indices: Indices, offsets: NDArray[np.int64], values: NDArray[np.float32], out: Weights) -> None:
    for i in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            out[offsets[k] + np.int64(indices[i, k])] += values[i]
        out[CONSTANT] += values[i]


def normal(indices: Indices, strengths: NDArray[np.float32], direction: Weights, threads: int) -> Weights:
    """Return X'SX times the vector ``direction``. Matrix X has a row for each row of ``indices``, which says how often
    that row uses each weight; S is the diagonal matrix of ``strengths``.
    """

    def work(begin: int, end: int) -> Weights:
        out = np.zeros_like(direction)
        _normal(indices[begin:end], OFFSETS, strengths[begin:end], direction, out)
        return out

    return _sum(spread(work, len(indices), threads))


def scatter(indices: Indices, values: NDArray[np.float32], size: int, threads: int) -> Weights:
    """Return X' times ``values``, with X as in `normal`: for each of ``size`` weights the sum over rows that use it."""

    def work(begin: int, end: int) -> Weights:
        out = np.zeros(size, np.float32)
        _scatter(indices[begin:end], OFFSETS, values[begin:end], out)
        return out

    return _sum(spread(work, len(indices), threads))


def _sum(parts: list[Any]) -> Weights:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return np.asarray(total, np.float32)


@compiled
def _squares_of(indices: Indices, offsets: NDArray[np.int64], strengths: NDArray[np.float32], out: Weights) -> None:
    for i in range(indices.shape[0]):
        begin = 0
        for k in range(indices.shape[1]):
            if offsets[k] != offsets[begin]:
                begin = k
            # An index that a class has m times in a row counts 1 + 3 + ... + (2m - 1) = m squared times.
            times = 1
            for j in range(begin, k):
                times += 2 * int(indices[i, j] == indices[i, k])
            out[offsets[k] + np.int64(indices[i, k])] += strengths[i] * times
        out[CONSTANT] += strengths[i]


def diagonal(indices: Indices, strengths: NDArray[np.float32], size: int, threads: int) -> Weights:
    """Return the diagonal of the matrix X'SX of `normal`; a weight that a row uses twice counts four times."""

    def work(begin: int, end: int) -> Weights:
        out = np.zeros(size, np.float32)
        _squares_of(indices[begin:end], OFFSETS, strengths[begin:end], out)
        return out

    return _sum(spread(work, len(indices), threads))
