"""The operations that clients request, such as `analyze` and `book.get`, whatever carries the messages."""
