"""The explorer: what people played in a position, from an index of bases of games."""
