"""The operations that clients request, whatever carries the messages."""
