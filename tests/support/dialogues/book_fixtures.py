"""Fixtures of the book's tests, for `tests/book` and `tests/core`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from book_dialogue import BookDialogue


@pytest.fixture
def edax_books(shared_data: Path) -> Path:
    """The folder of books that Edax wrote; the test is skipped without it, or without their format."""
    pytest.importorskip("desdaemon.book.edax")
    folder = shared_data / "edax-books"
    if not folder.is_dir():
        pytest.skip("the optional Edax books are not here")
    return folder


@pytest.fixture
def dialogue() -> Iterator[BookDialogue]:
    """A text dialogue with a book, silent but for its answers."""
    made = BookDialogue()
    yield made
    made.close()
