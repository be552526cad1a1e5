"""`desdaemon web --api`: what a position is worth, for programs that speak HTTP."""
