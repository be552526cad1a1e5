"""What the measurements of the engine bring: `desdaemon bench`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("bench", "measure the engine", "desdaemon.engine.bench.bench"),),
)
