"""Problem files (OBF): on each line a position and the known final scores of some of its moves.

``<64 squares> <side>; G8:+18; H1:+12;`` - a percent sign begins a comment. A line may hold the position alone. A score
without a move (``; +18;``) is ignored, and so is the ``--:-127;`` at the end of some lines of Edax's files, which says
that no move follows.
"""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted

from .notation import Position, board_text, illegal_move, move_text, parse_board, parse_move
from .rules import PASS
from .scores import MoverScore

NO_FURTHER_MOVE = "--:-127"


class Problem(NamedTuple):
    """A position and the final scores of some of its moves, in discs for the side to move."""

    position: Position
    scores: dict[int, MoverScore]

    @property
    def best(self) -> MoverScore | None:
        """The highest score; None without scores."""
        return max(self.scores.values(), default=None)


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
