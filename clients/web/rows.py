"""What the board in the browser brings: `desdaemon web`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("web", "a board in the browser", "desdaemon.clients.web.web"),),
)
