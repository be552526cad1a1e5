"""A second referee, fast enough for whole endgames: cells in a bordered array, moves made and taken back.

Nothing of the engine is used: no bitboards inside, no tables, plain alpha-beta with the fewest replies first. Boards go
in and out as two 64-bit words (A1 = bit 0, the side to move first). `test_judge.py` holds it against the slow referee.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pytest

from desdaemon.engine.compiler import INTERPRETED

PASS = 64
Board = tuple[int, int]


def solve(player: int, opponent: int) -> int:
    """The exact final score for the side to move, empties to the winner."""
    import judge_kernels

    return int(judge_kernels.solve(np.uint64(player), np.uint64(opponent)))


def flips(player: int, opponent: int, square: int) -> int:
    """The discs turned, 0 for an illegal move."""
    import judge_kernels

    return int(judge_kernels.flips(np.uint64(player), np.uint64(opponent), square))


def moves(player: int, opponent: int) -> int:
    """The legal moves."""
    import judge_kernels

    return int(judge_kernels.moves(np.uint64(player), np.uint64(opponent)))


def squares(board: int) -> list[int]:
    """The numbers of the squares in a word, ascending."""
    return [square for square in range(64) if board >> square & 1]


def empties(board: Board) -> int:
    """Empty squares."""
    return 64 - (board[0] | board[1]).bit_count()


def play(board: Board, move: int) -> Board:
    """After a legal move or a pass with `PASS`, seen by the other side; AssertionError when it is not legal."""
    player, opponent = board
    if move == PASS:
        assert not moves(player, opponent)
        assert moves(opponent, player)
        return opponent, player
    turned = flips(player, opponent, move)
    assert turned, f"illegal move {move}"
    return opponent ^ turned, player | turned | 1 << move


def over(board: Board) -> bool:
    """Neither side can move."""
    return not moves(*board) and not moves(board[1], board[0])


def score_of_moves(board: Board) -> dict[int, int]:
    """The exact score of every legal move, for the side to move."""
    return {square: -solve(*play(board, square)) for square in squares(moves(*board))}


def traps(board: Board, most: int) -> set[int]:
    """Return the moves of the option `contempt`: of those at most so many discs below the best, the ones whose
    second-best reply loses most, and of these the best.
    """
    scores = score_of_moves(board)

    def worth(move: int) -> tuple[int, int]:
        replies = sorted(score_of_moves(play(board, move)).values(), reverse=True)
        return replies[0] - replies[1] if len(replies) > 1 else 0, scores[move]

    rivals = {move: worth(move) for move, score in scores.items() if score >= max(scores.values()) - most}
    return {move for move, its_worth in rivals.items() if its_worth == max(rivals.values())}


OPENING = (1 << 28 | 1 << 35, 1 << 27 | 1 << 36)


def walk(rng: random.Random, board: Board = OPENING) -> Iterator[Board]:
    """The positions of a random game to its end, as they stand for whoever has the turn, forced passes included."""
    while True:
        yield board
        legal = squares(moves(*board))
        if legal:
            board = play(board, rng.choice(legal))
        elif moves(board[1], board[0]):
            board = board[1], board[0]
        else:
            return


def affordable(number: int, left: Iterable[int]) -> tuple[int, list[int]]:
    """How many positions with which numbers of empties a test can search.

    Kernels that run as Python are some thousand times slower: fewer positions, and none whose search to the end takes
    seconds. Skips the test where nothing is left.
    """
    wanted = list(left)
    if not INTERPRETED:
        return number, wanted
    wanted = [empties for empties in wanted if empties <= 7 or empties >= 20]
    if not wanted:
        pytest.skip("too slow for kernels that run as Python")
    return min(number, max(len(wanted), number // 40)), wanted


def positions(seed: int, number: int, left: Iterable[int]) -> list[Board]:
    """``number`` positions from random games, as evenly as can be with each of ``left`` empties.

    A position may be one in which the side to move has to pass.
    """
    rng = random.Random(seed)
    number, wanted = affordable(number, left)
    found: list[Board] = []
    while len(found) < number:
        want = wanted[len(found) % len(wanted)]
        there = [board for board in walk(rng) if empties(board) == want]
        if there:
            found.append(rng.choice(there))
    return found


def strewn(seed: int, number: int, left: Iterable[int]) -> list[Board]:
    """Boards that no game needs to reach, often almost of one colour: many passes, and many games that are over."""
    rng = random.Random(seed)
    number, wanted = affordable(number, left)
    found: list[Board] = []
    while len(found) < number:
        taken = (1 << 64) - 1
        for square in rng.sample(range(64), wanted[len(found) % len(wanted)]):
            taken ^= 1 << square
        few = rng.getrandbits(64)
        for _ in range(rng.randrange(5)):
            few &= rng.getrandbits(64)
        board = few & taken, taken & ~few
        found.append(board if rng.random() < 0.5 else board[::-1])
    return found


@cache
def images() -> tuple[tuple[int, ...], ...]:
    """The eight symmetries, each as the place of every square."""
    import referee

    single = [referee.symmetries(referee.from_bits(1 << square, 0)) for square in range(64)]
    return tuple(tuple(referee.to_bits(single[s][k])[0].bit_length() - 1 for s in range(64)) for k in range(8))


def image(board: Board, places: tuple[int, ...]) -> Board:
    """The board with every disc moved to its new place."""
    player, opponent = (sum(1 << places[square] for square in squares(word)) for word in board)
    return player, opponent


def canonical(board: Board) -> Board:
    """The smallest pair of words among the eight images."""
    return min(image(board, places) for places in images())
