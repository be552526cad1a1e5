"""Earlier states of a book without a journal: what they keep, how much memory they take, and when they go."""

import gc
import random
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from synthetic_book import synthetic_book
from toys import contents, set_results, small_book, spread

from desdaemon.book.book import Book
from desdaemon.book.changes import GivenCommand
from desdaemon.book.storage import earlier
from desdaemon.book.storage.observers import MemoryObserver


def watched(book: Book) -> MemoryObserver:
    """The observer of a book without a journal."""
    observer = MemoryObserver(book)
    book.recorder = observer
    return observer


def changed(book: Book, number: int) -> None:
    """Carry out a command, the ``number``th, that changes one position."""
    book.recorder.begin(GivenCommand(f"edit {number}"))
    entry = book.table.entry(number % len(book))
    book.put(entry._replace(leaf_score=number % 60))


@pytest.fixture
def traced() -> Iterator[None]:
    """Python's and numpy's memory is counted."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_earlier_states_take_no_more_memory_than_is_said(traced: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "MOST_KEPT", 1 << 20)
    monkeypatch.setattr(earlier, "MOST_COMMANDS", 10_000)
    book = synthetic_book(40, 1)
    watched(book)
    changed(book, 0)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(300):
        changed(book, number)
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] - before < 1 << 20


def test_a_command_in_a_large_book_keeps_the_pages_that_it_changes(traced: None) -> None:
    book = synthetic_book(20_000, 1)
    observer = watched(book)
    changed(book, 0)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1, 41):
        changed(book, number * 450)
    # The rows of the book alone take 800 KB.
    assert tracemalloc.get_traced_memory()[0] - before < 40 * 30_000
    assert len(observer.undoable()) == 41


def test_rows_that_nobody_has_checked_take_little_memory(traced: None) -> None:
    """Stores leave up to some 4,000 of them, until all leaves are looked at; each state has its own."""
    book = synthetic_book(4_000, 1)
    watched(book)
    book.checked()
    book.touch(range(4_000))
    changed(book, 0)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1, earlier.MOST_COMMANDS + 1):
        changed(book, number)
    assert tracemalloc.get_traced_memory()[0] - before < 5 << 20


def test_the_hundred_last_commands_can_be_taken_back() -> None:
    book = synthetic_book(100, 1)
    observer = watched(book)
    for number in range(earlier.MOST_COMMANDS + 20):
        changed(book, number)
    lines = [command.line for command in observer.undoable()]
    assert lines == [f"edit {number}" for number in range(20, earlier.MOST_COMMANDS + 20)]


def test_states_are_what_they_were_whatever_went_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    book = small_book()
    spread(book, 3)
    set_results(book, 2, (1.0, 0.0, 2.0))
    observer = watched(book)
    states: list[list[tuple[int, ...]]] = []
    for number in range(30):
        states.append(contents(book))
        if dice.random() < 0.3 and len(book) > 20:
            book.recorder.begin(GivenCommand(f"remove {number}"))
            marks = np.zeros(len(book), bool)
            marks[dice.randrange(1, len(book))] = True
            book.remove(marks)
        else:
            changed(book, dice.randrange(len(book)))
    # The oldest go, and those that shared their pages stay whole.
    monkeypatch.setattr(earlier, "MOST_COMMANDS", 12)
    states.append(contents(book))
    changed(book, 5)
    assert len(observer.undoable()) == 12
    for state in reversed(states[-12:]):
        book, observer = observer.undo()
        assert contents(book) == state
