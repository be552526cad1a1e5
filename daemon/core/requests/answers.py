"""Replies of `analyze` as data: a position with its moves, best first. docs/protocol.md describes every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from desdaemon.protocol.othello.notation import board_text, discs_text, moves_text

if TYPE_CHECKING:
    from desdaemon.engine.result import Line

    from .questions import Question
    from .request import Data


def answer(question: Question, moves: list[Data], nodes: int, ms: float, **extra: Any) -> Data:
    """The data about one position; ``moves`` are best first, ``ms`` is the time searched."""
    position = question.position
    data: Data = {"ply": question.ply} if question.ply >= 0 else {}
    if question.item >= 0:
        data["item"] = question.item
    data["board"] = board_text(position)
    data["moves"] = moves
    data["nodes"] = nodes
    data["time_ms"] = round(ms, 3)
    data["canonical"] = f"{discs_text(*question.facts.canonical[:2])} X"
    if question.deterministic:
        data["deterministic"] = True
    if extra:
        data.update(extra)
    return data


def line_data(line: Line) -> Data:
    """A line of a search as an item of ``moves``; scores in discs for the side to move at the root."""
    return {
        "move": move_name(line.move),
        "score": line.score,
        "lower": line.lower,
        "upper": line.upper,
        "depth": line.depth,
        "selectivity": line.selectivity,
        "exact": line.exact,
        "source": "search",
        "pv": moves_text(line.pv),
        "nodes": line.nodes,
    }


def move_name(move: int) -> str:
    """A square or a pass as replies name it: ``f5``, ``pa``."""
    return moves_text((move,))
