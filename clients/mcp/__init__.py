"""`desdaemon mcp`: a daemon's analyses, book and games as tools of the Model Context Protocol."""
