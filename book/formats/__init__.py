"""Readers and writers of books of other programs."""
