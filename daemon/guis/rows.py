"""What GUIs need: their protocols, the commands that begin them, the options for them alone."""

from __future__ import annotations

from desdaemon.protocol.rows import Command, DialogueProtocol, Option, Satellite

NAME = Option("name", (), "text", "Name sent to XBoard.", default="")

SATELLITE = Satellite(
    options=(
        NAME,
        Option("debug-cassio", (), "flag", "Cassio protocol.", idle=True),
        Option("follow-cassio", (), "flag", "Cassio protocol.", idle=True),
    ),
    protocols=(
        DialogueProtocol(
            "gtp",
            "desdaemon.guis.gtp:SPOKEN",
            Command("protocol_version", (), "", "Switch to GTP, whose first command this is."),
        ),
        DialogueProtocol(
            "nboard",
            "desdaemon.guis.nboard:SPOKEN",
            Command(
                "nboard",
                (),
                "version",
                "Switch to NBoard's protocol, version 1 or 2.",
                handler="desdaemon.guis.nboard:refuse_version",
            ),
            version=r"\+?0{0,17}[12]",
            warning="warning",
            status="status",
        ),
        DialogueProtocol(
            "xboard", "desdaemon.guis.xboard:SPOKEN", Command("xboard", (), "", "Switch to XBoard's protocol.")
        ),
        DialogueProtocol(
            "cassio",
            "desdaemon.guis.cassio:SPOKEN",
            Command("engine-protocol", (), "command", "Switch to Cassio's protocol, whose first line this is."),
            version=".*",
        ),
    ),
)
