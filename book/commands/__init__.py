"""The handlers of the core's book commands: the rows of `desdaemon.protocol.commands.book` name them."""
