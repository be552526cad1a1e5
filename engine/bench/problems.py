"""Positions for measurements, of files or generated."""

from __future__ import annotations

import random
from pathlib import Path

from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.notation import Position
from desdaemon.protocol.othello.obf import Problem, parse_problem
from desdaemon.protocol.othello.rules import START, squares

_MAX = 64
_RANDOM_PLIES = 16


def read_problems(path: Path, first: int = 0, last: int | None = None) -> list[Problem]:
    """The problems ``first`` to ``last`` (exclusive, from 0) of an OBF file. Raises OSError and BadInput."""
    found = [parse_problem(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [problem for problem in found if problem is not None][first:last]


def random_problems(number: int, empties: int, seed: int) -> list[Problem]:
    """Positions with a legal move and ``empties`` empty squares, reached by seeded random play; scores unknown."""
    engine = library.load(SPEC)
    dice = random.Random(seed)
    problems: list[Problem] = []
    while len(problems) < number:
        player, opponent = START
        while (player | opponent).bit_count() < _MAX - empties:
            legal = engine.board_moves(player, opponent)
            if not legal:
                player, opponent = opponent, player
                legal = engine.board_moves(player, opponent)
                if not legal:
                    break
            moves = squares(legal)
            square = moves[int(dice.random() * len(moves))]
            flips = engine.board_flip(square, player, opponent)
            player, opponent = opponent ^ flips, player | flips | 1 << square
        if (player | opponent).bit_count() == _MAX - empties and engine.board_moves(player, opponent):
            problems.append(Problem(Position(player, opponent, True), {}))
    return problems


def play_positions(searcher: Searcher, number: int, empties: int, seed: int) -> list[tuple[int, int]]:
    """Positions (mover first, with a move) of games that begin with 16 random moves and go on at depth 2."""
    engine = library.load(SPEC)
    dice = random.Random(seed * 100 + empties)
    found: list[tuple[int, int]] = []
    while len(found) < number:
        player, opponent = START
        while (player | opponent).bit_count() < _MAX - empties:
            legal = engine.board_moves(player, opponent)
            if not legal:
                player, opponent = opponent, player
                legal = engine.board_moves(player, opponent)
                if not legal:
                    break
            if (player | opponent).bit_count() < 4 + _RANDOM_PLIES:
                squares = [square for square in range(64) if legal >> square & 1]
                square = squares[int(dice.random() * len(squares))]
            else:
                square = searcher.search(player, opponent, Limits(2)).lines[0].move
            flips = engine.board_flip(square, player, opponent)
            player, opponent = opponent ^ flips, player | flips | 1 << square
        if (player | opponent).bit_count() == _MAX - empties and engine.board_moves(player, opponent):
            found.append((player, opponent))
    return found


def contradicts(line: Line, problem: Problem) -> bool:
    """Whether an exact line has another score than the problem's, or a move that is not among the best."""
    return line.exact and problem.best is not None and not line.score == problem.best == problem.scores.get(line.move)
