"""`desdaemon analyze`: reports on games as text, JSON, CSV, comments and HTML."""
