"""Services of the operating system for every package, one module each: files, folders, locks, messages, progress."""
