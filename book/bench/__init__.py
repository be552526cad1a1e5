"""The speed of the book on this machine, and its memory: `desdaemon bench book`."""
