"""Handlers of the book commands, shared by the text protocol and the wire."""
