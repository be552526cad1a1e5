"""The book commands. Each module has ``WORK``: the handlers of some commands by name."""
