"""One player's dialogue: the board, the clock and stops, the commands, the protocols and the standard streams."""
