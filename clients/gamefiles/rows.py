"""What the files of others bring: the lists of openings of XOT."""

from __future__ import annotations

from desdaemon.protocol.rows import OpeningLists, Satellite

SATELLITE = Satellite(
    opening_lists=(
        OpeningLists(
            ("xot", "xot-small"), "desdaemon.clients.gamefiles.xot:lines", "desdaemon.clients.gamefiles.xot:numbered"
        ),
    ),
)
