"""`desdaemon match`: programs play each other."""
