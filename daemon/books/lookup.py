"""Answers of `book.get`, kept until the book changes.

A grade follows all good lines from a position, which takes microseconds near the leaves and seconds at the root of a
large book. What goes quickly is done at once; the rest on a thread of its own, so that nobody else waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text

if TYPE_CHECKING:
    from desdaemon.book.book import Book

    from .jobs import Jobs
    from .service import Books, Look

Data = dict[str, Any]

MOST_KEPT = 20_000
"""Answers."""

MOST_KNOWN = 200_000
"""Positions of which it is remembered what their good lines lead to."""

WHILE_CHANGING_S = 0.2
"""Answers are kept no longer than this while a job may be changing the book."""

_AT_ONCE = 50
_UNKNOWN_LAST = 65
_NOTHING: Data = {"found": False}


class Looks:
    """See the module. `get` is for one thread."""

    def __init__(self, books: Books, jobs: Jobs, mistake: Callable[[str], None]) -> None:
        """``mistake`` is called for an exception that nobody expected."""
        self._books = books
        self._jobs = jobs
        self._mistake = mistake
        self._kept: dict[tuple[int, int, bool], Data] = {}
        self._known: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._stamp: tuple[Book | None, int] = (None, -1)
        self._until = 0.0
        self._waiting: deque[tuple[Callable[[], None], Callable[[], object]]] = deque()
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None

    def get(self, player: int, opponent: int, *, children: bool = False) -> Data | None:
        """What the book knows; None when it takes longer to tell, see `later`.

        With ``children`` of the position after each legal move too.
        """
        if self._books.opening:
            return None
        self._freshen()
        data = self._kept.get((player, opponent, children))
        if data is None:
            data = self._look(player, opponent, children, _AT_ONCE)
            if data is not None:
                self._keep(player, opponent, children, data)
        return data

    def _keep(self, player: int, opponent: int, children: bool, data: Data) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[player, opponent, children] = data

    def _freshen(self) -> None:
        """Drop what may not be true any more."""
        stamp = (self._books.book, self._jobs.ended)
        changing = self._jobs.active and time.monotonic() >= self._until
        if stamp == self._stamp and not changing and max(map(len, self._known)) <= MOST_KNOWN:
            return
        self._stamp = stamp
        self._until = time.monotonic() + WHILE_CHANGING_S
        self._kept = {}
        self._known = ({}, {})

    def _look(self, player: int, opponent: int, children: bool, most: int | None) -> Data | None:
        """The answer; None when ``most`` positions are not enough for a grade."""
        look = self._books.look_up(player, opponent)
        if self._books.book is None or look is None:
            return _NOTHING
        from desdaemon.book.reports.grade import TooMany

        try:
            data = look_data(look, self._grade(player, opponent, most))
            if children:
                data["children"] = list(self._children(look, player, opponent, most))
        except TooMany:
            return None
        return data

    def _grade(self, player: int, opponent: int, most: int | None) -> str:
        """Of a position of the book; raises `TooMany`. Empty where its positions are removed meanwhile."""
        from desdaemon.book.reports.grade import grade

        book = self._books.book
        try:
            return grade(book, player, opponent, self._known, most) if book is not None else ""
        except (IndexError, KeyError):
            return ""

    def _children(self, look: Look, player: int, opponent: int, most: int | None) -> Iterator[Data]:
        """What is known of each legal move, best first, seen by the side that plays it. Raises `TooMany`."""
        scores = {move.move: move.score for move in look.moves}
        found = []
        for move in rules.squares(rules.legal_moves(player, opponent)) or [rules.PASS]:
            after = rules.play(player, opponent, move) if move != rules.PASS else (opponent, player)
            child = self._books.look_up(*after)
            if child is not None:
                score = scores.get(move, -child.score if child.score is not None else None)
                found.append(child_data(move, score, child, self._grade(*after, most)))
            elif move in scores:
                found.append(leaf_data(move, scores[move], look.leaf_level))
        found.sort(key=lambda data: _UNKNOWN_LAST if data["score"] is None else -int(data["score"]))
        yield from found

    def later(self, player: int, opponent: int, answer: Callable[[Data], object], *, children: bool = False) -> None:
        """Have ``answer`` called with what the book knows, from another thread."""

        def look() -> None:
            kept = self._kept
            data = kept.get((player, opponent, children)) or self._look(player, opponent, children, None)
            assert data is not None
            if kept is self._kept:
                self._keep(player, opponent, children, data)
            answer(data)

        self.defer(look, lambda: answer(_NOTHING))

    @property
    def waiting(self) -> int:
        """How much is to be done on the other thread."""
        return len(self._waiting)

    def defer(self, work: Callable[[], None], failed: Callable[[], object]) -> None:
        """Have something done on another thread, when the book is open; ``failed`` follows where that raises."""
        with self._lock:
            self._waiting.append((work, failed))
            self._lock.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="looks", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    self._lock.wait()
                work, failed = self._waiting.popleft()
            self._books.ready()
            try:
                work()
            except Exception:
                self._mistake("book")
                failed()


def look_data(look: Look, grade: str) -> Data:
    """What `book.get` answers about a position of the book."""
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
        "grade": grade,
        "links": [{"move": move_text(link.move).lower(), "score": link.score} for link in look.links],
        "leaf": {"move": move_text(leaf.move).lower(), "score": leaf.score, "level": look.leaf_level} if leaf else None,
    }


def child_data(move: int, score: int | None, child: Look, grade: str) -> Data:
    """An item of ``children`` for a move into the book; the child's own numbers are its side's, these the mover's."""
    return {
        "move": move_text(move).lower(),
        "score": score,
        "grade": grade,
        "lines": child.lines,
        "level": child.level,
        "wins": child.losses,
        "draws": child.draws,
        "losses": child.wins,
    }


def leaf_data(move: int, score: int, level: int) -> Data:
    """An item of ``children`` for the best move that leaves the book."""
    return {
        "move": move_text(move).lower(),
        "score": score,
        "grade": "",
        "lines": 0,
        "level": level,
        "wins": 0,
        "draws": 0,
        "losses": 0,
    }
