"""Counts of games, lines of play, positions and more, and studies of the game tree."""
