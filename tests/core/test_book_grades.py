"""Grades in the replies of `book.get` while a job works on a large book."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from toys import small_book, spread

from desdaemon.book.grade import Grades
from desdaemon.book.record import START
from desdaemon.core.books import lookup
from desdaemon.core.books.lookup import GRADING_SHARE, WHILE_CHANGING_S, Looks
from desdaemon.core.books.service import Books


class Clock:
    """A clock that stands still but for what is added to ``now``."""

    now = 1000.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lookup, "time", made)
    return made


def test_grades_that_cost_much_are_not_computed_again_at_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a job on a large book, near whose root a grade takes seconds, would keep all look-ups waiting."""
    book = small_book(5)
    spread(book, 3)
    computed: list[Grades] = []
    whole = Grades.grade

    def costly(self: Grades, player: int, opponent: int, *more: object) -> str:
        if self not in computed:
            clock.now += 3.0
            computed.append(self)
        return whole(self, player, opponent, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Grades, "grade", costly)
    jobs = SimpleNamespace(active=True, ended=0)
    books = SimpleNamespace(book=book, jobs=jobs, opening=False, needed=lambda: book)
    books.look_up = lambda *position: Books.look_up(books, *position)  # type: ignore[arg-type]
    looks = Looks(books)  # type: ignore[arg-type]
    # The socket loop leaves the first one to the thread of slow look-ups.
    assert looks.get(*START) is None
    first = looks.find(*START)
    scores = []
    for _ in range(100):
        clock.now += WHILE_CHANGING_S
        scores.append(looks.get(*START))
    assert len(computed) == 1
    # Scores are looked up again all the same.
    assert len({id(score) for score in scores}) == len(scores)
    assert scores[-1] == first
    clock.now += GRADING_SHARE * 3.0
    looks.get(*START)
    assert len(computed) == 2
    # The end of the job makes all new.
    jobs.ended, jobs.active = 1, False
    looks.get(*START)
    assert len(computed) == 3
