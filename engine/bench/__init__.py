"""`desdaemon bench`: measurements of the engine."""
