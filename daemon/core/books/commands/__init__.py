"""The book commands: in each module the handlers of some by name, `WORK`."""
