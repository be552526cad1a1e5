"""What the command line is made of: sub-commands, the configuration file, help, the man page and completions."""
