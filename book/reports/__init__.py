"""Reports on a book: summaries, verification, comparison, grades, measurements."""
