"""`desdaemon bot`: a program plays on PlayStrategy, by its API for bots."""
