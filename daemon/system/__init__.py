"""Services of the operating system for the daemon: supervisor, service manager, line editor, memory, client files."""
