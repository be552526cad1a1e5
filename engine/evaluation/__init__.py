"""Patterns, weights and the files they live in."""
