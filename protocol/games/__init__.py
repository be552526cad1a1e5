"""Formats of game files, with one game or many."""
