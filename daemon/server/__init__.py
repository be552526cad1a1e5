"""The server: start and shutdown, sockets, keys, the loop, clients, metrics over HTTP."""
