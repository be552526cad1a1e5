"""What the book's tests share."""

from book_fixtures import dialogue, edax_books

__all__ = ["dialogue", "edax_books"]
