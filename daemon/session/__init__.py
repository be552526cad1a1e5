"""One player's session: board, game, options, clocks, and the stops that end its searches."""
