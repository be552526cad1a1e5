"""Services of the operating system, one module each, for every package: files, folders, locks, messages, progress."""
