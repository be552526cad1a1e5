"""The operations that clients request, `analyze`, `book.get` and the others, whatever carries the messages."""
