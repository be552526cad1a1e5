"""Programs that talk to a daemon or to other engines. They import `desdaemon.protocol` only."""
