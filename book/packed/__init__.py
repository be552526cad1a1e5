"""The packed form of a book: read-only, small, opened by mapping."""
