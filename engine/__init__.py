"""The engine: compiled search kernels and the Python around them. It has no code for game files, sockets or streams."""
