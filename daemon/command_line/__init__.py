"""The command line: sub-commands, the configuration file, the man page and completions."""
