"""Structured messages: operations, codec, positions, and the connection file."""
