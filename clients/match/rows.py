"""What matches bring: `desdaemon match`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("match", "two programs play each other", "desdaemon.clients.match.match"),),
)
