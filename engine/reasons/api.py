"""`explain` for programs that import `desdaemon`."""

from __future__ import annotations

from desdaemon.api import Board
from desdaemon.protocol.othello.notation import parse_moves

from .explain import Reason, reasons

__all__ = ["Reason", "explain"]


def explain(board: Board | str, played: str, best: str) -> list[Reason]:
    """Return why a move on a board is worse than the best one, what explains most first.

    ``played`` is the move and the best play after it, such as ``"e6f4"``, ``best`` the best move with the play after
    it: the lines of analyses. Raises `BadInput` for illegal moves.
    """
    return reasons(Board.of(board).position, parse_moves(played), parse_moves(best))
