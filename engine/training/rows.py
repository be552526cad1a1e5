"""What the laboratory brings: `desdaemon train`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("train", "make evaluation weights", "desdaemon.engine.training.command"),),
)
