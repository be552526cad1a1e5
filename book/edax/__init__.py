"""Books of Edax: book.dat."""
