"""What the tests of operations and of the one book share."""

from __future__ import annotations

from pathlib import Path

import pytest
from book_fixtures import dialogue, edax_books
from operated import Operated

__all__ = ["daemon", "dialogue", "edax_books"]


@pytest.fixture
def daemon(tmp_path: Path) -> Operated:
    """Operations with a small book; modules that need others define their own."""
    daemon = Operated(tmp_path)
    daemon.final("book.new", {"discard": True, "level": 1, "depth": 20})
    daemon.final("book.store", {"moves": "f5d6c3d3"})
    return daemon
