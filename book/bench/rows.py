"""What the measurements of the book bring: `desdaemon bench book`."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite, SubCommand

SATELLITE = Satellite(
    sub_commands=(SubCommand("bench book", "measure the opening book", "desdaemon.book.bench.cli"),),
)
