"""What the Generic Game Server brings: `desdaemon ggs`, and the switch `-ggs` of Edax."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand, Switch

SATELLITE = Satellite(
    sub_commands=(SubCommand("ggs", "play on the Generic Game Server", "desdaemon.clients.ggs.ggs"),),
    switches=(
        Switch(
            "ggs",
            "play on a game server, with the options -ggs-host, -ggs-login ... of Edax",
            "desdaemon.clients.ggs.ggs:play_as_edax",
        ),
    ),
)
