"""What the laboratory brings: `desdaemon train`, `desdaemon count` and `desdaemon perft`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(
        SubCommand("perft", "count the lines of play to a depth", "desdaemon.engine.training.count", prefix="perft_"),
        SubCommand("count", "count games, positions, shapes, flips, draws, Stoners", "desdaemon.engine.training.count"),
        SubCommand("train", "make evaluation weights", "desdaemon.engine.training.command"),
    ),
)
