"""The tables of commands and options behind parsing, roles, `help`, the documents and their tests."""
