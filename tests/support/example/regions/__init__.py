"""The regions of empty squares: an example of a satellite."""
