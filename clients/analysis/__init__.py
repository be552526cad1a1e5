"""`desdaemon analyze`: reports on games."""
