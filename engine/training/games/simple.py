"""A player that evaluates mobility and corners: it generates the first games and is a baseline opponent for weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.kernels.bits import ctz, flip, moves, popc
from desdaemon.engine.training.compiled import compiled
from desdaemon.engine.training.labelling.boards import (
    NO_SQUARE,
    START_OPPONENT,
    START_PLAYER,
    draw,
    final_score,
    pick,
    scramble,
)
from desdaemon.protocol.othello.rules import CORNERS

_U = np.uint64
_WORST = -100_000


@compiled
def _value(player: Any, opponent: Any, depth: int, alpha: int, beta: int, passed: bool) -> int:
    """Negamax over moves and corners; a finished game counts 1000 a disc."""
    legal = moves(player, opponent)
    if legal == _U(0):
        if passed or moves(opponent, player) == _U(0):
            return int(1000 * final_score(player, 64 - popc(player | opponent)))
        return -_value(opponent, player, depth, -beta, -alpha, True)
    if depth == 0:
        corners = popc(player & _U(CORNERS)) - popc(opponent & _U(CORNERS))
        return int(popc(legal) - popc(moves(opponent, player)) + 12 * corners)
    while legal != _U(0):
        square = ctz(legal)
        legal &= legal - _U(1)
        flipped = flip(square, player, opponent)
        here = _U(1) << square
        value = -_value(opponent ^ flipped, player | flipped | here, depth - 1, -beta, -alpha, False)
        if value > alpha:
            alpha = value
            if alpha >= beta:
                break
    return alpha


@compiled
def choose_move(player: Any, opponent: Any, depth: int) -> int:
    """The square (0..63) with the best score `depth` plies on, for a side that has a move."""
    legal = moves(player, opponent)
    best = _WORST
    chosen = 0
    while legal != _U(0):
        square = ctz(legal)
        legal &= legal - _U(1)
        flipped = flip(square, player, opponent)
        here = _U(1) << square
        value = -_value(opponent ^ flipped, player | flipped | here, depth - 1, _WORST, -best, False)
        if value > best:
            best = value
            chosen = int(square)
    return chosen


@compiled
def simple_games(squares: NDArray[np.uint8], opening: int, noise: int, seed: int) -> None:
    """Fill squares (games, 60) with games of a simple player against itself.

    The first `opening` moves are random; then the player takes the move that leaves the opponent the fewest replies,
    a corner counting as 12 of them and a random number below `noise` added.
    """
    corners = _U(CORNERS)
    for game in range(squares.shape[0]):
        player = _U(START_PLAYER)
        opponent = _U(START_OPPONENT)
        stream = scramble(_U(seed) ^ (_U(game) << _U(24)))
        for number in range(60):
            squares[game, number] = NO_SQUARE
        for number in range(60):
            legal = moves(player, opponent)
            if legal == _U(0):
                player, opponent = opponent, player
                legal = moves(player, opponent)
                if legal == _U(0):
                    break
            chosen = pick(legal, draw(stream, number + 1))
            if number >= opening:
                best = -1000
                rest = legal
                while rest != _U(0):
                    square = ctz(rest)
                    rest &= rest - _U(1)
                    flipped = flip(square, player, opponent)
                    here = _U(1) << square
                    left = moves(opponent ^ flipped, player | flipped | here)
                    word = draw(stream, (number + 1) * 64 + np.int64(square))
                    value = np.int64(word >> _U(40)) % noise - popc(left) - 12 * popc(left & corners)
                    if here & corners != _U(0):
                        value += 12
                    if value > best:
                        best = value
                        chosen = square
            flipped = flip(chosen, player, opponent)
            squares[game, number] = chosen
            player, opponent = opponent ^ flipped, player | flipped | (_U(1) << chosen)
