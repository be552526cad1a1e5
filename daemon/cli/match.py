"""`desdaemon match`, whose games may be played by a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from desdaemon.clients.match.process_groups import ProcessGroups
    from desdaemon.clients.match.workers import OtherPlayers
    from desdaemon.protocol.command_line import Parser


def command_line() -> Parser:
    """The argument parser."""
    from desdaemon.clients.match import match as command

    return command.command_line(cluster=True)


def _spread(address: str, tls: str, groups: ProcessGroups, note: Callable[[str], None]) -> OtherPlayers:
    # Imported when asked for: dask takes half a second.
    from desdaemon.cluster.games import ClusterPlayers

    return ClusterPlayers(address, tls, groups, note)


def main(arguments: list[str]) -> int:
    """Run a match; returns the exit status."""
    from desdaemon.clients.match import match as command

    return command.main(arguments, _spread)
