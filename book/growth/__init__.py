"""What adds positions to a book or searches them again."""
