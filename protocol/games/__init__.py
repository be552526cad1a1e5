"""Files of games, of one and of many."""
