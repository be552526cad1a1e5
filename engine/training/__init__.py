"""The training of evaluation weights, from game files and self-play to a weights file (docs/training.md)."""
