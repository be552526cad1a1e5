"""The tables of commands and options behind parsing, `help`, the documents and their tests."""
