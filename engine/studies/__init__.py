"""Counts about the game: discs turned by a move, shortest drawn games, shortest Stoner (`desdaemon count`)."""
