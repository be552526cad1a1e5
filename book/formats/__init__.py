"""Readers and writers of other programs' books."""
