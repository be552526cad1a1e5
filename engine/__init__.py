"""The engine: compiled search kernels and the Python around them. It knows no game files, sockets or streams."""
