"""Reports on many positions of a book and on two books, merging, salvage."""
