"""Games to train on: of files, of the engine, of a simple player."""
