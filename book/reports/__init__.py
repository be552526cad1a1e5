"""What is told of a book: summaries, verification, comparison, grades, measurements."""
