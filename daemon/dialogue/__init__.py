"""One player's dialogue: board, clock and stops, commands, protocols, standard streams."""
