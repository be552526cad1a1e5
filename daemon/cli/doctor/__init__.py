"""`desdaemon doctor`: what was found on this machine, what is missing, and how to mend it."""
