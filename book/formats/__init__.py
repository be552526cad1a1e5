"""Files of other programs' books, read and written."""
