"""Positions for measurements, from files or generated."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.result import Line
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.obf import Problem, parse_problem, problem_lines
from desdaemon.protocol.othello.rules import START, squares
from desdaemon.protocol.texts import decoded

_MAX = 64


def read_problems(path: Path, first: int = 0, last: int | None = None) -> list[Problem]:
    """Return the problems ``first`` to ``last`` - 1 (None: to the end) of an OBF file, counted from 0; lines without a
    problem do not count.

    Raises OSError, and BadInput for a malformed line.
    """
    lines = [parse_problem(line) for _, line in problem_lines(decoded(path.read_bytes(), str(path)).splitlines())]
    return [problem for problem in lines if problem is not None][first:last]


def _game_to(empties: int, choose: Callable[[int, int, int], int]) -> tuple[int, int] | None:
    """Return the position (mover, opponent) with ``empties`` empty squares of a game whose moves ``choose`` picks.

    ``choose`` gets mover, opponent and a mask of the legal moves, and returns a square. The result is None if the game
    ends earlier, or if the mover has to pass in that position.
    """
    engine = library.load(SPEC)
    player, opponent = START
    while (player | opponent).bit_count() < _MAX - empties:
        legal = engine.board_moves(player, opponent)
        if not legal:
            player, opponent = opponent, player
            legal = engine.board_moves(player, opponent)
            if not legal:
                return None
        square = choose(player, opponent, legal)
        flips = engine.board_flip(square, player, opponent)
        player, opponent = opponent ^ flips, player | flips | 1 << square
    return (player, opponent) if engine.board_moves(player, opponent) else None


def games_to(number: int, empties: int, choose: Callable[[int, int, int], int]) -> list[tuple[int, int]]:
    """Return ``number`` positions (mover, opponent) with ``empties`` empties, from games whose moves ``choose`` picks.

    ``choose`` gets mover, opponent and a mask of the legal moves, and returns a square. A game that ends earlier, or
    leaves the mover without a move, is replaced by another game. So ``choose`` must vary its moves.
    """
    found: list[tuple[int, int]] = []
    while len(found) < number:
        position = _game_to(empties, choose)
        if position is not None:
            found.append(position)
    return found


def by_lot(dice: random.Random, legal: int) -> int:
    """Return a square of the mask ``legal``, drawn at random."""
    moves = squares(legal)
    return moves[int(dice.random() * len(moves))]


def random_problems(number: int, empties: int, seed: int) -> list[Problem]:
    """Return ``number`` positions with ``empties`` empty squares and a legal move, without scores, from random play
    that depends on ``seed`` alone.
    """
    dice = random.Random(seed)
    positions = games_to(number, empties, lambda _player, _opponent, legal: by_lot(dice, legal))
    return [Problem(Position(*position, True), {}) for position in positions]


def contradicts(line: Line, problem: Problem) -> bool:
    """Return whether a line contradicts the exact score of a problem. An exact line does so by another score, or by a
    move that is not among the best.

    A line that is not exact contradicts nothing, and nothing contradicts a problem without a score.
    """
    return line.exact and problem.best is not None and not line.score == problem.best == problem.scores.get(line.move)
