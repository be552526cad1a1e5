"""The tables of commands and options behind parsing, roles, `help`, the documents and their tests."""

READER, EDITOR, ADMIN = "reader", "editor", "admin"
"""Roles of remote clients, the least first."""
