"""The referee of `judge`, compiled: kept on disk, and imported by the first question, for compiling takes seconds."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import boolean, int8, int64, njit, uint64

_MINE, _THEIRS, _WALL = 1, 2, 3
_STEPS = np.array([-11, -10, -9, -1, 1, 9, 10, 11], dtype=np.int64)
_CELLS = int8[::1]
_kernel = partial(njit, cache=True)


@_kernel(int64(int64))
def _cell(square):
    return 11 + 10 * (square >> 3) + (square & 7)


@_kernel(_CELLS(uint64, uint64))
def _cells(player, opponent):
    cells = np.full(100, _WALL, np.int8)
    for square in range(64):
        cell = _cell(square)
        cells[cell] = 0
        if (player >> np.uint64(square)) & np.uint64(1):
            cells[cell] = _MINE
        if (opponent >> np.uint64(square)) & np.uint64(1):
            cells[cell] = _THEIRS
    return cells


@_kernel(int64(_CELLS, int64, int8, int64[::1]))
def _turn(cells, cell, me, turned):
    """How many discs ``me`` turns on ``cell``; their cells go to ``turned``. The board is not changed."""
    if cells[cell] != 0:
        return 0
    number = 0
    for step in _STEPS:
        at = cell + step
        run = number
        while cells[at] == 3 - me:
            turned[run] = at
            run += 1
            at += step
        if cells[at] == me:
            number = run
    return number


@_kernel(boolean(_CELLS, int8))
def _can_move(cells, me):
    turned = np.empty(24, np.int64)
    for square in range(64):  # noqa: SIM110
        if _turn(cells, _cell(square), me, turned):
            return True
    return False


@_kernel(int64(_CELLS, int8))
def _result(cells, me):
    mine = theirs = free = 0
    for square in range(64):
        disc = cells[_cell(square)]
        mine += disc == me
        theirs += disc == 3 - me
        free += disc == 0
    if mine > theirs:
        return mine - theirs + free
    if mine < theirs:
        return mine - theirs - free
    return 0


@_kernel(int64(_CELLS, int64[::1], int64, int8, int64, int64))
def _search(cells, free, empties, me, alpha, beta):
    """``free``: the cells that were empty at the root; ``empties``: how many of them still are."""
    other = int8(3 - me)
    turned = np.empty(24, np.int64)
    reply = np.empty(24, np.int64)
    moves = np.empty(34, np.int64)
    keys = np.empty(34, np.int64)
    number = 0
    for cell in free:
        if cells[cell] != 0:
            continue
        count = _turn(cells, cell, me, turned)
        if count == 0:
            continue
        key = 0
        if empties >= 5:
            cells[cell] = me
            for k in range(count):
                cells[turned[k]] = me
            for answer in free:
                key += _turn(cells, answer, other, reply) > 0
            cells[cell] = 0
            for k in range(count):
                cells[turned[k]] = other
        place = number
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            moves[place] = moves[place - 1]
            place -= 1
        keys[place] = key
        moves[place] = cell
        number += 1
    if number == 0:
        if _can_move(cells, other):
            return -_search(cells, free, empties, other, -beta, -alpha)
        return _result(cells, me)
    best = -65
    for move in range(number):
        cell = moves[move]
        count = _turn(cells, cell, me, turned)
        cells[cell] = me
        for k in range(count):
            cells[turned[k]] = me
        score = -_search(cells, free, empties - 1, other, -beta, -max(alpha, best))
        cells[cell] = 0
        for k in range(count):
            cells[turned[k]] = other
        best = max(best, score)
        if best >= beta:
            break
    return best


@_kernel(int64(uint64, uint64))
def solve(player, opponent):
    cells = _cells(player, opponent)
    free = np.flatnonzero(cells == 0)
    return _search(cells, free, len(free), int8(1), -64, 64)


@_kernel(uint64(uint64, uint64, int64))
def flips(player, opponent, square):
    cells = _cells(player, opponent)
    turned = np.empty(24, np.int64)
    found = np.uint64(0)
    for k in range(_turn(cells, _cell(square), int8(1), turned)):
        at = turned[k] - 11
        found |= np.uint64(1) << np.uint64(8 * (at // 10) + at % 10)
    return found


@_kernel(uint64(uint64, uint64))
def moves(player, opponent):
    cells = _cells(player, opponent)
    turned = np.empty(24, np.int64)
    found = np.uint64(0)
    for square in range(64):
        if _turn(cells, _cell(square), int8(1), turned):
            found |= np.uint64(1) << np.uint64(square)
    return found
