"""The opening book: positions with scores, their files, the commands that grow it, and reports."""
