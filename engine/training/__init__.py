"""From game files and self-play to evaluation weights."""
