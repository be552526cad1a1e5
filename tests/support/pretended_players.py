"""Command lines of the players that pretend."""

from __future__ import annotations

import shlex
import sys

from checkout import SUPPORT

FAKE = str(SUPPORT / "fake_player.py")


def fake(*arguments: object) -> str:
    """The command line of a player that pretends."""
    return shlex.join([sys.executable, FAKE, *map(str, arguments)])
