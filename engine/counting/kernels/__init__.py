"""The kernels that count: lines of play, and sets of distinct positions."""
