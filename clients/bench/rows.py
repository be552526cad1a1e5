"""What the measurements of a server bring: `desdaemon bench server`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("bench server", "measure a server under load", "desdaemon.clients.bench.server"),),
)
