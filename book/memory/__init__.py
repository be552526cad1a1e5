"""A book's memory: the budget for it, its files, the blocks of mapped ones, and the memory of a table."""
