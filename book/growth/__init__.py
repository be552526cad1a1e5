"""Commands that add positions to a book, search them again, or remove them."""
