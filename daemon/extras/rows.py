"""What helps with an installation: `desdaemon doctor` and `desdaemon completions`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(
        SubCommand(
            "doctor",
            "check what works here, what is missing, how to mend it",
            "desdaemon.extras.doctor.doctor",
            checks=True,
        ),
        SubCommand(
            "completions", "completions for bash, zsh or fish, and the man page", "desdaemon.extras.completions"
        ),
    ),
)
