"""The replies of `book.get`, cached until the book changes.

The grade in a reply says how reliable a score is. It takes microseconds near the leaves and seconds at the root of a
large book, because all good lines are followed. Quick replies are made at once; slow ones on another thread, so that no
other client waits.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.wire.codec import Prepared

if TYPE_CHECKING:
    from desdaemon.book.front import Book, Grades, ReportedMove, Results

    from .service import Books, BookView

Data = dict[str, Any]

MOST_KEPT = 20_000
"""Most cached replies."""

WHILE_CHANGING_S = 0.2
"""Seconds that a reply stays cached while a job may be changing the book."""

GRADING_SHARE = 10
"""While a job may be changing the book, grades are used this many times as long as they took to compute."""

_AT_ONCE = 500
_ATTEMPTS = 2
_NOTHING = Prepared({"found": False})


class Looks:
    """Answers `book.get`. `get` answers at once; only the thread of the sockets may call it. `find` may take seconds;
    only the thread of slow look-ups may call it.
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._jobs = books.jobs
        self._kept: dict[tuple[int, int, bool], Prepared] = {}
        self._grades: Grades | None = None
        self._graded_until = 0.0
        self._stamp: tuple[Book | None, int] = (None, -1)
        self._until = 0.0
        self._loaded = False
        """Whether the modules for grades are imported; that takes longer than the loop of the sockets may wait."""

    def get(self, player: int, opponent: int, *, children: bool = False) -> Prepared | None:
        """Return the reply about a position. Returns None if it would take long, the book is being opened, or the
        modules for grades are not imported: then `find` must be called on the thread of slow look-ups.

        ``children`` adds the book's data of each legal move.
        """
        if self._books.opening:
            return None
        self._freshen()
        data = self._kept.get((player, opponent, children))
        if data is None and self._loaded:
            data = self._look(player, opponent, children, _AT_ONCE)
            if data is not None:
                self._keep(player, opponent, children, data)
        return data

    def _keep(self, player: int, opponent: int, children: bool, data: Prepared) -> None:
        replies = self._kept
        if len(replies) >= MOST_KEPT:
            for oldest in list(islice(replies, MOST_KEPT // 10)):
                replies.pop(oldest, None)
        replies[player, opponent, children] = data

    def _freshen(self) -> None:
        """Drop cached replies and grades after the end of a job or a change of the book; during a job, replies every
        `WHILE_CHANGING_S` and grades when that costs little (`GRADING_SHARE`).
        """
        stamp, now = (self._books.book, self._jobs.ended), time.perf_counter()
        changing = self._jobs.active and now >= self._until
        if stamp == self._stamp and not changing:
            return
        if stamp != self._stamp or now >= self._graded_until:
            self._grades = None
        self._stamp = stamp
        self._until = now + WHILE_CHANGING_S
        self._kept = {}

    def _look(self, player: int, opponent: int, children: bool, most: int | None) -> Prepared | None:
        """Compute the reply, with the legal moves if ``children``; None if the grades need more than ``most`` positions
        (None: any number). If a job changes the book during each of `_ATTEMPTS` attempts, the reply has no grade and no
        legal moves.
        """
        look = self._books.look_up(player, opponent)
        if self._books.book is None or look is None:
            return _NOTHING
        from desdaemon.book.front import TooMany

        for _ in range(_ATTEMPTS):
            try:
                return Prepared(self._data_of(look, player, opponent, children, most))
            except TooMany:
                return None
            except LookupError:
                # A job added or removed positions meanwhile.
                self._grades = None
        return Prepared(look_data(look, ""))

    def _data_of(self, look: BookView, player: int, opponent: int, children: bool, most: int | None) -> Data:
        from desdaemon.book.front import Grades

        book = self._books.needed()
        grades = self._grades
        begun = time.perf_counter()
        if grades is None or grades.book is not book:
            grades = self._grades = Grades(book)
            self._graded_until = begun
        try:
            data = look_data(look, grades.grade(player, opponent, most))
            if children:
                moves = grades.children(player, opponent, most)
                data["children"] = [child_data(child) for child in moves if child.kind]
            return data
        finally:
            self._graded_until += GRADING_SHARE * (time.perf_counter() - begun)

    def find(self, player: int, opponent: int, *, children: bool = False) -> Prepared:
        """Return the reply about a position, which may take seconds. Only for the thread of slow look-ups."""
        replies = self._kept
        data = replies.get((player, opponent, children)) or self._look(player, opponent, children, None)
        assert data is not None
        self._loaded = True
        if replies is self._kept:
            self._keep(player, opponent, children, data)
        return data


def look_data(look: BookView, grade: str) -> Data:
    """Return the reply of `book.get` for a position in the book, with the given ``grade``."""
    leaf = look.leaf
    return {
        "found": True,
        "level": look.level,
        "score": look.score,
        "lower": look.lower,
        "upper": look.upper,
        "wins": look.wins,
        "draws": look.draws,
        "losses": look.losses,
        "lines": look.lines,
        "human": look.human,
        "results": results_data(look.results),
        "grade": grade,
        "links": [{"move": move_text(link.move).lower(), "score": link.score} for link in look.links],
        "leaf": {"move": move_text(leaf.move).lower(), "score": leaf.score, "level": look.leaf_level} if leaf else None,
    }


def child_data(child: ReportedMove) -> Data:
    """Return an item of ``children``: a legal move and its book data. Scores are in discs for the side that moves."""
    return {
        "move": move_text(child.move).lower(),
        "kind": child.kind,
        "score": child.score,
        "lower": child.lower,
        "upper": child.upper,
        "grade": child.grade,
        "lines": child.lines,
        "level": child.level,
        "human": child.human,
        "wins": child.wins,
        "draws": child.draws,
        "losses": child.losses,
        "results": results_data(child.results),
    }


def results_data(results: Results) -> Data:
    """Return wins, draws and losses in games as data; they are weights and may be fractions."""
    return {name: round(weight, 3) for name, weight in results._asdict().items()}
