"""What every package asks of the operating system, each in one place: files, folders, locks, messages, progress."""
