"""desdaemon: an Othello engine that runs as a long-lived daemon."""

__version__ = "0.1.0"
