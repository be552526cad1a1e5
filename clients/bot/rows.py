"""What the bot brings: `desdaemon bot`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("bot", "a program plays on PlayStrategy", "desdaemon.clients.bot.bot"),),
)
