"""Engines, and who may search with them when."""
