"""Every legal move with what the book knows of it, and the grades in it against a plain walk."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import referee
from toys import canonical, contents, set_results, small_book, spread

from desdaemon.book import grade
from desdaemon.book.book import Book
from desdaemon.book.grade import LEAF, LETTERS, LINK, UNKNOWN, Grades, Stale, TooMany
from desdaemon.book.layout import EGAROUCID_LEVELS, HUMAN, HUMAN_LEVEL, NO_SCORE, SOLVED
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.readings import egaroucid_reading, reading
from desdaemon.book.record import START, PositionEntry


def plain_flags(book: Book, entry: PositionEntry, loss: int) -> int:
    """What is at the ends of an entry's good lines, by the definition, one position at a time."""
    foreign = bool(entry.flags & EGAROUCID_LEVELS)
    read = egaroucid_reading if foreign else reading
    legal = book.table.links(entry.player, entry.opponent)
    moves = [move for move in book.known_moves(entry) if -64 <= move.score <= 64]
    if not legal:
        return SOLVED
    if entry.human or not any(move.linked for move in moves):
        own = entry.has_leaf and not entry.human and entry.leaf_level >= 0
        return read(entry.leaf_level if own else entry.level, entry.empties)
    found = 0
    for move in moves:
        if move.score < moves[0].score - loss:
            continue
        if move.linked:
            found |= plain_flags(book, book.table.entry(move.row), loss)
        else:
            found |= read(entry.leaf_level, max(entry.empties - foreign, 0))
    return found


def shuffled(rule: Rule) -> Book:
    """A book with levels of every kind, positions without a score, and scores by hand."""
    book = small_book(depth=7)
    spread(book, 4)
    dice = random.Random(int(rule))
    for entry in contents(book):
        level, leaf_level = dice.choice([-1, 2, 10, 21, 30, 55, 60]), dice.choice([-1, 5, 27, 40, 60])
        changed = PositionEntry(*entry)._replace(
            level=level, leaf_level=leaf_level, flags=dice.choice([0, EGAROUCID_LEVELS])
        )
        if dice.random() < 0.05:
            changed = changed._replace(level=HUMAN_LEVEL, flags=HUMAN)
        elif dice.random() < 0.05:
            changed = changed._replace(score=NO_SCORE)
        book.table.write(book.table.find(*entry[:2]), changed)
    book.options = BookOptions(level=2, min_empties=54, rule=rule)
    return book


@pytest.mark.parametrize("rule", list(Rule))
def test_grades_are_those_of_a_plain_walk(rule: Rule) -> None:
    book = shuffled(rule)
    grades = Grades(book)
    seen = set()
    for entry in contents(book):
        for loss in (1, 2, 6):
            flags = grades.flags(*entry[:2], loss)
            assert flags == plain_flags(book, PositionEntry(*entry), loss)
            seen.add(flags)
        letter = grades.grade(*entry[:2])
        assert letter[0] == LETTERS[plain_flags(book, PositionEntry(*entry), 1)]
        assert (len(letter) == 2) == (letter[0] == "A")
    assert len(seen) > 3


def test_grades_may_be_limited_and_go_on_where_they_were() -> None:
    book = small_book(depth=7)
    spread(book, 4)
    expected = Grades(book).flags(*START, 6)
    grades = Grades(book)
    attempts = 0
    # Enough for the way down, and for some positions more.
    for _ in range(1000):
        try:
            found = grades.flags(*START, 6, most=10)
            break
        except TooMany:
            attempts += 1
    assert found == expected
    assert attempts > 0


def test_look_ups_have_their_turn_while_a_grade_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table's lock is held for some hundred positions at most, and not taken again at once."""
    assert grade._STEP <= 512
    monkeypatch.setattr(grade, "_STEP", 8)
    book = small_book(depth=7)
    spread(book, 4)
    events: list[str] = []
    whole = grade.kernels().grade_rows

    class Lock:
        def __enter__(self) -> None:
            events.append("lock")

        def __exit__(self, *error: object) -> None:
            events.append("release")

    def grade_rows(*arguments: int) -> int:
        assert events[-1] == "lock"
        assert arguments[-1] <= 8
        answer: int = whole(*arguments)
        return answer

    grades = Grades(book)
    monkeypatch.setattr(grade, "kernels", lambda: SimpleNamespace(grade_rows=grade_rows))
    monkeypatch.setattr(grade, "time", SimpleNamespace(sleep=lambda seconds: events.append("pause")))
    monkeypatch.setattr(book.table, "find", lambda *position: 0)
    monkeypatch.setattr(book.table, "lock", Lock())
    grades.flags(*START, 6)
    turns = len(events) // 3
    assert turns > 3
    assert events == [*["lock", "release", "pause"] * turns, "lock", "release"]


def test_grades_go_on_while_positions_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "_STEP", 8)
    book = small_book(7)
    spread(book, 0)
    grades, size = Grades(book), len(book)
    assert grades.flags(*START, 2)
    spread(book, 4)
    # More than the room for rows to come.
    assert len(book) > 2 * size + 8
    for row in (size, len(book) - 1):
        position = book.table.entry(row)[:2]
        assert grades.flags(*position, 2) == Grades(book).flags(*position, 2) != 0


def test_grades_of_a_book_that_changed_are_of_no_use() -> None:
    book = shuffled(Rule.EDAX)
    grades = Grades(book)
    assert grades.grade(*START)
    marked = book.table.by_empties()[55] > 0
    assert marked
    gone = book.table.column("player") == book.table.column("player").max()
    book.remove(gone)
    with pytest.raises(Stale):
        grades.grade(*START)


def test_every_legal_move_is_there_with_what_its_position_says() -> None:
    book = shuffled(Rule.EDAX)
    set_results(book, book.table.find(*canonical(*referee.to_bits(referee.play(referee.start(), 19)))), (3, 2, 7))
    for entry in contents(book):
        for image in referee.symmetries(referee.from_bits(*entry[:2])):
            board = referee.to_bits(image)
            found = Grades(book).children(*board)
            legal = referee.legal_moves(image)
            assert sorted(child.move for child in found) == (sorted(legal) or [64])
            known = {move.move: move for move in book.moves_on(*board)}
            for child in found:
                if child.kind is UNKNOWN:
                    assert child.move not in known
                    assert child == (child.move, UNKNOWN, None, None, None, -1, "", 0, 0, 0, 0, False, (0, 0, 0))
                    continue
                score = known[child.move].score
                assert child.score == (score if -64 <= score <= 64 else None)
                if child.kind is LEAF:
                    here = book.entry(*board)
                    assert (child.level, child.lines) == (here.leaf_level, 1)
                    assert child.grade == LETTERS[reading(here.leaf_level, here.empties)]
                    continue
                assert child.kind is LINK
                after = book.entry(*referee.to_bits(referee.play(image, child.move)))
                assert (child.wins, child.draws, child.losses) == (after.losses, after.draws, after.wins)
                assert (child.lines, child.human) == (after.lines, after.human)
                if child.score is not None:
                    assert (child.lower, child.upper) == (-after.upper, -after.lower)
                won, drawn, lost = book.table.results(book.table.find(after.player, after.opponent))
                assert child.results == (lost, drawn, won)
            scores = [child.score for child in found if child.score is not None]
            assert scores == sorted(scores, reverse=True)
            assert [child.score is None for child in found] == sorted(child.score is None for child in found)


def test_a_position_outside_the_book_has_no_children() -> None:
    assert Grades(small_book()).children(*referee.to_bits(referee.random_position(1, 30))) == []
