"""Training of evaluation weights, from game files to a weights file (docs/training.md)."""
