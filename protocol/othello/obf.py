"""Problem files (OBF): on each line a position and the known final scores of some of its moves.

``<64 squares> <side>; G8:+18; H1:+12;`` - a percent sign begins a comment. A line may hold the position alone. A score
without a move (``; +18;``) is ignored, and so is the ``--:-127;`` at the end of some lines of Edax's files, which says
that no move follows. The side may stand on the next line, as in FFO's scripts (``Black``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted

from .notation import Position, board_text, illegal_move, move_text, parse_board, parse_move
from .rules import PASS
from .scores import MoverScore

NO_FURTHER_MOVE = "--:-127"

_BOARD_ALONE = re.compile(r"[-._XxOo*bBwW]{64}")
_SIDE_ALONE = re.compile(r"(black|white|[xobw*])(?: to (?:move|play))?[.:]?", re.IGNORECASE)


class Problem(NamedTuple):
    """A position and the final scores of some of its moves, in discs for the side to move."""

    position: Position
    scores: dict[int, MoverScore]

    @property
    def best(self) -> MoverScore | None:
        """The highest score; None without scores."""
        return max(self.scores.values(), default=None)


def problem_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines for `parse_problem` with their numbers from 1. A board that stands alone and the line after it
    with its side are one; only after such a board the next line is waited for.
    """
    board: tuple[int, str] | None = None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if board:
            side = _SIDE_ALONE.fullmatch(text)
            yield (board[0], f"{board[1]} {side[1]}") if side else board
            board = None
            if side:
                continue
        if _BOARD_ALONE.fullmatch(text):
            board = number, text
        else:
            yield number, line
    if board:
        yield board


def parse_problem(line: str) -> Problem | None:
    """Return the problem of a line, None for a comment or an empty line; raises `BadInput`."""
    body = line.split("%", 1)[0].strip()
    if not body:
        return None
    board, *items = body.split(";")
    position = parse_board(board)
    scores: dict[int, MoverScore] = {}
    for item in items:
        if item.strip() and item.strip() != NO_FURTHER_MOVE:
            _add_score(position, item.strip(), scores)
    return Problem(position, scores)


def _add_score(position: Position, item: str, scores: dict[int, MoverScore]) -> None:
    name, colon, value = item.partition(":")
    score = _parse_score(value if colon else name, item)
    if not colon:
        return
    move = parse_move(name)
    legal = position.must_pass if move == PASS else position.moves >> move & 1
    if not legal:
        raise BadInput(illegal_move(position, move))
    scores[move] = score


def _parse_score(text: str, item: str) -> MoverScore:
    try:
        score = int(text)
    except ValueError:
        score = 65
    if not -64 <= score <= 64:
        raise BadInput(f"{quoted(item)} is not a scored move: expected MOVE:SCORE, the score from -64 to +64")
    return MoverScore(score)


def problem_text(problem: Problem) -> str:
    """Return a problem as a line, best moves first."""
    scores = sorted(problem.scores.items(), key=lambda item: -item[1])
    return f"{board_text(problem.position)};" + "".join(f" {move_text(move)}:{score:+d};" for move, score in scores)
