"""The replies of `book.get`, cached until the book changes.

A grade follows all good lines from a position, which takes microseconds near the leaves and seconds at the root of a
large book. Quick replies are made at once; slow ones on another thread, so that no other client waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from desdaemon.core.threads import begin
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.wire.codec import Prepared

if TYPE_CHECKING:
    from desdaemon.book.book import Book
    from desdaemon.book.growth.game_results import Results
    from desdaemon.book.reports.children import ReportedMove
    from desdaemon.book.reports.grade import Grades

    from .jobs import BookJobs
    from .service import Books, BookView

Data = dict[str, Any]

MOST_KEPT = 20_000
"""Most replies that are cached."""

WHILE_CHANGING_S = 0.2
"""Seconds that a reply stays in the cache while a job may be changing the book."""

_AT_ONCE = 500
_ATTEMPTS = 2
_NOTHING = Prepared({"found": False})


class Looks:
    """Answers `book.get`. `get` is called by one thread only."""

    def __init__(self, books: Books, jobs: BookJobs, mistake: Callable[[str], None]) -> None:
        """``mistake`` is called for an unexpected exception."""
        self._books = books
        self._jobs = jobs
        self._mistake = mistake
        self._kept: dict[tuple[int, int, bool], Prepared] = {}
        self._grades: Grades | None = None
        self._stamp: tuple[Book | None, int] = (None, -1)
        self._until = 0.0
        self._loaded = False
        """Whether the modules for grades are imported, which takes longer than the loop of the sockets may be held."""
        self.deferred: deque[tuple[Callable[[], None], Callable[[], object]]] = deque()
        """Work for the other thread."""
        self._lock = threading.Condition()
        self._begun = False
        """Whether the other thread was started."""

    def get(self, player: int, opponent: int, *, children: bool = False) -> Prepared | None:
        """Return the reply about a position; None if computing it takes long, see `find`.

        With ``children`` also the data of the position after each legal move.
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
        kept = self._kept
        if len(kept) >= MOST_KEPT:
            for oldest in list(islice(kept, MOST_KEPT // 10)):
                kept.pop(oldest, None)
        kept[player, opponent, children] = data

    def _freshen(self) -> None:
        """Drop cached replies after a change of the book."""
        stamp = (self._books.book, self._jobs.ended)
        changing = self._jobs.active and time.monotonic() >= self._until
        if stamp == self._stamp and not changing:
            return
        self._stamp = stamp
        self._until = time.monotonic() + WHILE_CHANGING_S
        self._kept = {}
        self._grades = None

    def _look(self, player: int, opponent: int, children: bool, most: int | None) -> Prepared | None:
        """Return the reply; None if a grade needs more than ``most`` positions."""
        look = self._books.look_up(player, opponent)
        if self._books.book is None or look is None:
            return _NOTHING
        from desdaemon.book.reports.grade import Stale, TooMany

        for _ in range(_ATTEMPTS):
            try:
                return Prepared(self._data_of(look, player, opponent, children, most))
            except TooMany:
                return None
            except (Stale, IndexError):
                # Positions came or went meanwhile.
                self._grades = None
        return Prepared(look_data(look, ""))

    def _data_of(self, look: BookView, player: int, opponent: int, children: bool, most: int | None) -> Data:
        from desdaemon.book.reports.children import children as children_of
        from desdaemon.book.reports.grade import Grades

        book = self._books.needed()
        grades = self._grades
        if grades is None or grades.book is not book:
            grades = self._grades = Grades(book)
        data = look_data(look, grades.grade(player, opponent, most))
        if children:
            known = children_of(book, player, opponent, grades, most)
            data["children"] = [child_data(child) for child in known if child.kind]
        return data

    def find(self, player: int, opponent: int, *, children: bool = False) -> Prepared:
        """Return the reply about a position, even if that takes long; for deferred work."""
        kept = self._kept
        data = kept.get((player, opponent, children)) or self._look(player, opponent, children, None)
        assert data is not None
        self._loaded = True
        if kept is self._kept:
            self._keep(player, opponent, children, data)
        return data

    def defer(self, work: Callable[[], None], failed: Callable[[], object]) -> None:
        """Run ``work`` on another thread once the book is open; ``failed`` is called if it raises."""
        with self._lock:
            self.deferred.append((work, failed))
            self._lock.notify()
            begun, self._begun = self._begun, True
        if not begun:
            begin(self._run, "looks")

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self.deferred:
                    self._lock.wait()
                work, failed = self.deferred.popleft()
            self._books.ready()
            try:
                work()
            except Exception:
                self._mistake("book")
                failed()


def look_data(look: BookView, grade: str) -> Data:
    """Return the reply of `book.get` for a position in the book."""
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
    """Return an item of ``children``: a move in the book, scores from the side that plays it."""
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
    """Return the results of games, which are weights."""
    return {name: round(weight, 3) for name, weight in results._asdict().items()}
