"""The static evaluation: patterns, weights, their files and their layout in memory."""
