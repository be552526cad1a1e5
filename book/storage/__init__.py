"""A book on the disk: its file, journal, lock and recovery."""
