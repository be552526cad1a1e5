"""The search: compiled kernels and the thin Python around them. It knows no files of games, sockets or streams."""
