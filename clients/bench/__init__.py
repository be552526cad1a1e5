"""`desdaemon bench server`: measure a daemon from outside."""
