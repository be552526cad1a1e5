"""What the analysis of games brings: `desdaemon analyze` and `desdaemon exercises`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(
        SubCommand("analyze", "report on a game of a file", "desdaemon.clients.analysis.analyze"),
        SubCommand(
            "exercises", "positions of games where the one good move was missed", "desdaemon.clients.analysis.exercises"
        ),
    ),
)
