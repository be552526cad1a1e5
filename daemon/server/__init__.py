"""The server: its life cycle, sockets, keys, text sessions of remote clients and metrics."""
