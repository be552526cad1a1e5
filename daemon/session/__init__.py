"""One player's board, game, options and clocks."""
