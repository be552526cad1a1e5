"""Commands that add positions to a book or search them again."""
