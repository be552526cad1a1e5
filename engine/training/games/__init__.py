"""Games to train on: from files, and played by the engine or a simple player."""
