"""Two books against each other, by games that one engine plays on where they end: `desdaemon book judge`."""
