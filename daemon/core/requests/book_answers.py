"""Answers to `analyze` from the book, and whether one is as good as the search that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, moves_text
from desdaemon.protocol.othello.selectivity import Selectivity

from .answers import move_name

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books

    from .questions import Question
    from .request import Data


class BookAnswer:
    """The book's moves of a position: best first, as items of ``moves``, and whether a search is still needed.

    ``sufficient``: each of these moves, and the best move that leaves the book, is exact or at least of the level (or
    depth and selectivity) asked for. Otherwise the scores are preliminary.
    """

    def __init__(self, moves: list[Data], *, sufficient: bool) -> None:
        self.moves = moves
        self.sufficient = sufficient


NOTHING = BookAnswer([], sufficient=False)


def book_answer(books: Books, question: Question) -> BookAnswer:
    """The answer of the book to a question. Any thread; takes microseconds for each move that the book has."""
    position = question.position
    look = books.look_up(position.player, position.opponent)
    if look is None or question.book == "ignore":
        return NOTHING
    found = []
    leaving: Data | None = None
    for known in sorted(look.moves, key=lambda known: (-known.score, known.move)):
        if known.move != rules.PASS and not question.allow >> known.move & 1:
            continue
        data = _move_data(books, position, known.move, known.score, look.leaf_level if known is look.leaf else None)
        if known is look.leaf:
            leaving = data
        found.append(data)
    decisive = found[: question.multipv] + ([leaving] if leaving is not None else [])
    # Of a position outside the book the other moves are not known to be worse.
    return BookAnswer(
        found, sufficient=look.inside and bool(found) and all(_is_enough(data, question) for data in decisive)
    )


def _is_enough(data: Data, question: Question) -> bool:
    if data["exact"] or question.any_depth:
        return True
    if question.endless:
        return False
    if question.level is not None:
        return int(data["level"]) >= question.level
    limits = question.limits
    return bool(data["depth"] >= limits.depth and data["selectivity"] >= limits.selectivity)


def _move_data(books: Books, position: Position, move: int, score: int, level: int | None) -> Data:
    """A move as an item of ``moves``; ``level`` None is that of the position it leads to."""
    from desdaemon.engine.limits import MAX_LEVEL, level_limits

    after = position.after(move)
    lower, upper = score, score
    if level is None:
        child = books.look_up(after.player, after.opponent)
        level = child.level if child else 0
        if child:
            lower, upper = -child.upper, -child.lower
    level = max(0, min(level, MAX_LEVEL))
    limits = level_limits(level, min(after.empties, 60))
    return {
        "move": move_name(move),
        "score": score,
        "lower": lower,
        "upper": upper,
        "depth": limits.depth + (move != rules.PASS),
        "selectivity": limits.selectivity,
        "exact": limits.depth >= after.empties and limits.selectivity == Selectivity.FULL and lower == upper,
        "source": "book",
        "level": level,
        "pv": moves_text((move, *books.line(after.player, after.opponent))),
        "nodes": 0,
    }
