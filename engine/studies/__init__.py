"""Questions about the game itself that a machine can count out: flips, shortest drawn games, shortest Stoner."""
