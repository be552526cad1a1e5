"""HTML pages that need no other file: what those of analyses and of matches have in common."""
