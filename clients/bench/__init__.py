"""`desdaemon bench server`: a daemon measured from outside."""
