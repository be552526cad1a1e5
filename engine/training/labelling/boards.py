"""Compiled loops over boards: replay of games, random moves, canonical forms.

Boards are arrays of uint64 (A1 = bit 0), the side to move first. Random choices come from a counter-based generator
(splitmix64), so that a position depends only on its seed and number, not on threads or library versions.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.kernels import bits as kernels
from desdaemon.engine.kernels.bits import ctz, flip, moves, popc
from desdaemon.engine.training.compiled import compiled, inlined
from desdaemon.protocol.othello.rules import START

Boards: TypeAlias = NDArray[np.uint64]

START_PLAYER, START_OPPONENT = START
NO_SQUARE = 255
"""Fills a game's move list after its last move."""

_U = np.uint64

# This kernel calls only intrinsics, so numba can compile it into its callers.
_final_score: Any = inlined(kernels.final_score.kernel.function)


@inlined
def scramble(state: Any) -> Any:
    """Return the pseudo-random word that splitmix64 makes of ``state``."""
    state = (state ^ (state >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> _U(27))) * _U(0x94D049BB133111EB)
    return state ^ (state >> _U(31))


@inlined
def draw(stream: Any, number: Any) -> Any:
    """Return the random word with the index ``number`` in the sequence that the seed ``stream`` gives."""
    return scramble(stream + _U(number) * _U(0x9E3779B97F4A7C15))


@inlined
def pick(mask: Any, word: Any) -> Any:
    """Return a square of ``mask``, which has at least one, chosen by a random word."""
    # The high half times the number of choices, because a remainder would be biased by its low bits.
    skip = ((word >> _U(32)) * _U(popc(mask))) >> _U(32)
    while skip > _U(0):
        mask &= mask - _U(1)
        skip -= _U(1)
    return ctz(mask)


@compiled
def replay(
    squares: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    scores: NDArray[np.int8],
    finished: NDArray[np.bool_],
) -> int:
    """Play every game from the start position, with forced passes; return the number of games with an illegal move.

    ``squares`` (games, 60), with 0 = A1, is read. The other arrays, with an entry for each game, are written:
    ``scores`` are discs for the first player in the game's last position. A game ends at its first NO_SQUARE; an
    illegal move, also one after the end, makes its length 0 and ``finished`` False.
    """
    illegal = 0
    for game in range(squares.shape[0]):
        player = _U(START_PLAYER)
        opponent = _U(START_OPPONENT)
        swapped = False
        length = 0
        for number in range(60):
            square = squares[game, number]
            if square == NO_SQUARE:
                break
            legal = moves(player, opponent)
            if legal == _U(0):
                player, opponent = opponent, player
                swapped = not swapped
                legal = moves(player, opponent)
            if square > 63 or (legal >> _U(square)) & _U(1) == _U(0):
                length = 0
                illegal += 1
                break
            flipped = flip(_U(square), player, opponent)
            player, opponent = opponent ^ flipped, player | flipped | (_U(1) << _U(square))
            swapped = not swapped
            length = number + 1
        lengths[game] = length
        over = moves(player, opponent) == _U(0) and moves(opponent, player) == _U(0)
        finished[game] = over and length > 0
        score = _final_score(player, 64 - popc(player | opponent))
        scores[game] = -score if swapped else score
    return illegal


@compiled
def expand(
    squares: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    first: int,
    last: int,
    players: Boards,
    opponents: Boards,
    games: NDArray[np.int32],
    turns: NDArray[np.int8],
) -> int:
    """Write the positions of the games at plies first..last, side to move first; return their number. The games must be
    legal (`replay`).

    A position in which the side to move must pass is written for both sides. A position in which neither can move is
    written only if the board is full. ``games`` gets the number of the game, ``turns`` 1 if the side to move began the
    game, else -1. The four arrays must have room for two positions of each ply of each game.
    """
    count = 0
    for game in range(squares.shape[0]):
        player = _U(START_PLAYER)
        opponent = _U(START_OPPONENT)
        turn = 1
        for ply in range(lengths[game] + 1):
            legal = moves(player, opponent)
            reply = moves(opponent, player)
            for side in range(2):
                wanted = side == 0 or (legal == _U(0) and reply != _U(0))
                if wanted and first <= ply <= last and (legal | reply != _U(0) or ply == 60):
                    players[count] = player if side == 0 else opponent
                    opponents[count] = opponent if side == 0 else player
                    games[count] = game
                    turns[count] = turn if side == 0 else -turn
                    count += 1
            if ply == lengths[game]:
                break
            if legal == _U(0):
                player, opponent = opponent, player
                turn = -turn
            square = _U(squares[game, ply])
            flipped = flip(square, player, opponent)
            player, opponent = opponent ^ flipped, player | flipped | (_U(1) << square)
            turn = -turn
    return count


@compiled
def wander(players: Boards, opponents: Boards, steps: NDArray[np.uint8], seed: int, keep: NDArray[np.bool_]) -> None:
    """Play steps[i] random moves on board i, in place, with forced passes before moves. Afterwards keep[i] says whether
    the game goes on.

    The random numbers depend on ``seed`` and i alone.
    """
    for i in range(players.shape[0]):
        player = players[i]
        opponent = opponents[i]
        stream = scramble(_U(seed) ^ (_U(i) << _U(24)))
        alive = True
        for step in range(steps[i]):
            legal = moves(player, opponent)
            if legal == _U(0):
                player, opponent = opponent, player
                legal = moves(player, opponent)
                if legal == _U(0):
                    alive = False
                    break
            square = pick(legal, draw(stream, step + 1))
            flipped = flip(square, player, opponent)
            player, opponent = opponent ^ flipped, player | flipped | (_U(1) << square)
        if moves(player, opponent) == _U(0) and moves(opponent, player) == _U(0):
            alive = False
        players[i] = player
        opponents[i] = opponent
        keep[i] = alive


@compiled
def successors(
    players: Boards, opponents: Boards, out_players: Boards, out_opponents: Boards, parents: NDArray[np.int64]
) -> int:
    """Write all positions one move later, side to move first, a forced pass made before the move; return their number.

    ``parents`` gets for each position the number of the board that it comes from, ascending. The three arrays must have
    room for every legal move of every board.
    """
    count = 0
    for i in range(players.shape[0]):
        player = players[i]
        opponent = opponents[i]
        legal = moves(player, opponent)
        if legal == _U(0):
            player, opponent = opponent, player
            legal = moves(player, opponent)
        while legal != _U(0):
            square = ctz(legal)
            legal &= legal - _U(1)
            flipped = flip(square, player, opponent)
            out_players[count] = opponent ^ flipped
            out_opponents[count] = player | flipped | (_U(1) << square)
            parents[count] = i
            count += 1
    return count


def canonize(players: Boards, opponents: Boards) -> None:
    """Replace every board by the smallest (player, opponent) of its eight symmetric images, in place.

    Raises ValueError for arrays that are not contiguous in memory.
    """
    if not (players.flags.c_contiguous and opponents.flags.c_contiguous):
        raise ValueError("boards that are not contiguous")
    library.load(SPEC).boards_canonical(players.ctypes.data, opponents.ctypes.data, len(players))


def plies(players: Boards, opponents: Boards) -> NDArray[np.uint8]:
    """Return the ply (discs - 4 = 60 - empties) of every board."""
    discs: NDArray[np.uint8] = np.bitwise_count(players | opponents)
    return discs - np.uint8(4)
